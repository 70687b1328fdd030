//! All load threads together.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_model::{Load, Pace};
use ciphertax_reactor::{PollDelay, stop};
use ciphertax_records::{CpuTime, Handshakes, OpenLoopSample, OperationSample, PhaseSample};

use crate::course::{Batch, Course, Schedule};
use crate::recorder::{KeptOperation, Recorder};
use crate::responses::Responses;
use crate::worker::{self, Command, Reply, Share, Work};
use crate::workload::{Failure, Workload};

/// The share of the CPUs it may use from which on the load generator counts as the bottleneck.
pub const SATURATED: f64 = 0.85;
/// How long before its first operation an open loop begins, so that every load thread is there in time.
const LEAD: Duration = Duration::from_millis(1);
/// How long the load threads are waited for before it is looked whether they live and whether to stop.
const GLANCE: Duration = Duration::from_millis(200);

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A load thread cannot be started or lost its event loop.
    #[error("a load thread failed: {0}")]
    Worker(#[from] io::Error),
    /// A load thread panicked.
    #[error("a load thread ended unexpectedly; this is a defect of ciphertax")]
    WorkerEnded,
}

/// The load threads of one cell, with the connections of every arm.
pub struct Engine {
    workers: Vec<Handle>,
    replies: Receiver<Reply>,
    connections: u32,
    pace: Pace,
    keeps_operations: bool,
}

struct Handle {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

/// What a slice yielded, all load threads together.
pub struct SliceYield {
    /// When the first load thread began.
    pub began: Instant,
    /// From the first request to the last answer.
    pub duration: Duration,
    /// CPU time of the load threads.
    pub client_cpu: CpuTime,
    /// Their context switches.
    pub client_context_switches: u64,
    /// How long they could have run but waited for a CPU, in nanoseconds; `None` if the kernel does not say.
    pub client_run_queue_wait_ns: Option<u64>,
    /// Operations by kind.
    pub operations: Vec<OperationSample>,
    /// Statements answered, all operations together.
    pub queries: u64,
    /// Times an operation was begun anew because the server gave up on it, as in a deadlock.
    pub restarts: u64,
    /// Reads that did not find what was inserted before, on a member of a replica set that did not have it yet.
    pub stale_reads: u64,
    /// Phases of the connects made.
    pub phases: Vec<PhaseSample>,
    /// Logins by `plugin/path`.
    pub logins: std::collections::BTreeMap<String, u64>,
    /// TLS handshakes of the connects made; `None` where there were none.
    pub handshakes: Option<Handshakes>,
    /// Bytes given to sockets.
    pub bytes_sent: u64,
    /// Bytes taken from sockets.
    pub bytes_received: u64,
    /// Every single operation, where they are kept.
    pub kept: Vec<KeptOperation>,
    /// Operations that failed.
    pub failures: u64,
    /// The first of them, or the gravest.
    pub first_failure: Option<Failure>,
    /// Operations that did not finish within ten seconds after the end of the slice; in a batch, after the last began.
    pub unfinished: u64,
    /// How the schedule was kept; `None` in a closed loop.
    pub open_loop: Option<OpenLoopSample>,
    /// True if it was cut short because somebody wanted to stop.
    pub interrupted: bool,
    /// Share of the CPUs the load threads may use that they used, as a fraction.
    pub saturation: f64,
}

impl Engine {
    /// Starts the load threads; connections are opened by [`Engine::prepare`]. `arms` holds the workload of each arm.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn start<W: Workload>(arms: Vec<W>, load: &Load, seed: u64) -> Result<Self, EngineError> {
        Self::start_on(None, arms, load, seed)
    }

    /// As [`Engine::start`], with all load threads on one CPU; `None` leaves them to the kernel.
    ///
    /// # Errors
    /// When threads cannot be started; a CPU that may not be used is reported by [`Engine::prepare`].
    pub fn start_on<W: Workload>(
        cpu: Option<usize>,
        arms: Vec<W>,
        load: &Load,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let arms = Arc::new(arms);
        let (reply, replies) = mpsc::channel();
        let threads = worker_count(load, cpu) as usize;
        let pace = load.pace();
        let mut workers = Vec::with_capacity(threads);
        let mut first_seat = 0;
        for index in 0..threads {
            let (commands, inbox) = mpsc::channel();
            let connections = share_of(load.connections as usize, threads, index);
            let share = Share {
                arms: Arc::clone(&arms),
                connections,
                first_seat,
                seats: load.connections,
                thread: (index, threads),
                is_punctual: matches!(pace, Pace::Open { .. }),
                poll_delay: PollDelay::micros(load.poll_delay_us),
                seed: seed ^ ((index as u64) << 32),
                cpu,
            };
            first_seat += connections as u32;
            let reply = reply.clone();
            let stop = stop::heeded();
            let work = move || worker::run(share, &inbox, &reply);
            let thread = thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || match stop {
                    Some(stop) => stop::heed(&stop, work),
                    None => work(),
                })?;
            workers.push(Handle {
                commands: Some(commands),
                thread: Some(thread),
            });
        }
        Ok(Self {
            workers,
            replies,
            connections: load.connections,
            pace,
            keeps_operations: false,
        })
    }

    /// Whether to keep every single operation of the slices to come, in [`SliceYield::kept`].
    pub fn keep_operations(&mut self, keeps_operations: bool) {
        self.keeps_operations = keeps_operations;
    }

    /// Load threads.
    pub fn workers(&self) -> u32 {
        self.workers.len() as u32
    }

    /// Opens the arm's connections that are not open, and checks that new ones are what the arm says.
    ///
    /// # Errors
    /// The outer for an engine that cannot go on, the inner for a connection that cannot be had.
    pub fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, EngineError> {
        for index in 0..self.workers.len() {
            self.tell(
                index,
                Command::Prepare {
                    arm,
                    check: index == 0,
                },
            )?;
        }
        let mut outcome = Ok(());
        for _ in 0..self.workers.len() {
            match self.answer(|| {})? {
                Reply::Prepared(prepared) => outcome = outcome.and(prepared),
                Reply::Ran(_) | Reply::Broken(_) => return Err(EngineError::WorkerEnded),
            }
        }
        Ok(outcome)
    }

    /// Lets the arm's connections work, and operations in flight finish: for `duration`, or until a batch is done. Where the
    /// thread that started the engine heeds a flag, it is cut short when that is set.
    ///
    /// # Errors
    /// For an engine that cannot go on; what goes wrong with operations is in the yield.
    pub fn slice(&mut self, arm: usize, duration: Duration) -> Result<SliceYield, EngineError> {
        let course = self.course(duration);
        for index in 0..self.workers.len() {
            let course = course.clone();
            let keep = self.keeps_operations;
            self.tell(index, Command::Run { arm, course, keep })?;
        }
        let mut is_cut = false;
        let mut glance = || {
            if let (Course::Batch(batch), true) = (&course, stop::is_requested()) {
                batch.cut();
                is_cut = true;
            }
        };
        let mut works = Vec::with_capacity(self.workers.len());
        for _ in 0..self.workers.len() {
            match self.answer(&mut glance)? {
                Reply::Ran(work) => works.push(*work),
                Reply::Prepared(_) | Reply::Broken(_) => return Err(EngineError::WorkerEnded),
            }
        }
        let merged = merge(works, &course);
        Ok(SliceYield {
            interrupted: is_cut || (merged.unfinished > 0 && stop::is_requested()),
            ..merged
        })
    }

    fn course(&self, duration: Duration) -> Course {
        match self.pace {
            Pace::Closed => Course::Closed(duration),
            Pace::Batch { operations } => Course::Batch(Arc::new(Batch::of(operations))),
            Pace::Open { rate } => {
                let start = Instant::now() + LEAD;
                Course::Open(Arc::new(Schedule::new(start, rate, duration, self.connections)))
            }
        }
    }

    fn tell(&self, index: usize, command: Command) -> Result<(), EngineError> {
        let commands = self.workers[index]
            .commands
            .as_ref()
            .ok_or(EngineError::WorkerEnded)?;
        commands.send(command).map_err(|_| EngineError::WorkerEnded)
    }

    /// The next answer; `glance` is called now and then while there is none.
    fn answer(&self, mut glance: impl FnMut()) -> Result<Reply, EngineError> {
        // A worker that panics takes its sender with it, but the others keep the channel open: so look now and then.
        loop {
            match self.replies.recv_timeout(GLANCE) {
                Ok(Reply::Broken(error)) => return Err(EngineError::Worker(error)),
                Ok(reply) => return Ok(reply),
                Err(mpsc::RecvTimeoutError::Timeout) if self.all_alive() => glance(),
                Err(_) => return Err(EngineError::WorkerEnded),
            }
        }
    }

    fn all_alive(&self) -> bool {
        self.workers
            .iter()
            .all(|worker| worker.thread.as_ref().is_some_and(|thread| !thread.is_finished()))
    }
}

/// Ends the load threads, which closes their connections.
impl Drop for Engine {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.commands = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // A panic has been printed by its own thread and is an error of the slice.
                let _ = thread.join();
            }
        }
    }
}

/// Connections that one load thread serves before a second is started: their answers then come in batches.
const CONNECTIONS_PER_THREAD: u32 = 64;

/// As many threads as the load asks for, else as few as serve the connections; at most one a core.
fn worker_count(load: &Load, cpu: Option<usize>) -> u32 {
    if cpu.is_some() {
        return 1;
    }
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let enough = load.connections.div_ceil(CONNECTIONS_PER_THREAD);
    load.workers
        .unwrap_or(enough.min(cores))
        .min(load.connections)
        .max(1)
}

/// Connections of thread `index` when `connections` are dealt out evenly.
fn share_of(connections: usize, threads: usize, index: usize) -> usize {
    connections / threads + usize::from(index < connections % threads)
}

fn merge(works: Vec<Work>, course: &Course) -> SliceYield {
    let threads = works.len() as f64;
    let began = works
        .iter()
        .map(|work| work.began)
        .min()
        .unwrap_or_else(Instant::now);
    let ended = works.iter().map(|work| work.ended).max().unwrap_or(began);
    let duration = ended - began;
    let client_cpu = CpuTime {
        total_ns: works.iter().map(|work| work.cpu.total_ns).sum(),
        system_ns: works.iter().map(|work| work.cpu.system_ns).sum(),
    };
    let client_context_switches = works.iter().map(|work| work.context_switches).sum();
    let client_run_queue_wait_ns = works.iter().map(|work| work.run_queue_wait_ns).sum();
    let unfinished = works.iter().map(|work| work.unfinished).sum();
    let merged = works
        .into_iter()
        .map(|work| (work.recorder, work.responses))
        .reduce(|mut merged, (recorder, responses)| {
            merged.0.merge(&recorder);
            merged.1.merge(&responses);
            merged
        });
    let (mut recorder, responses) = merged.unwrap_or_else(|| (Recorder::new(&[], false), Responses::new()));
    let open_loop = match course {
        Course::Open(schedule) => Some(responses.sample(schedule.operations())),
        Course::Closed(_) | Course::Batch(_) => None,
    };
    SliceYield {
        began,
        duration,
        client_cpu,
        client_context_switches,
        client_run_queue_wait_ns,
        operations: recorder.operations(),
        queries: recorder.queries,
        restarts: recorder.restarts,
        stale_reads: recorder.stale_reads,
        phases: recorder.phases(),
        logins: recorder.logins(),
        handshakes: recorder.handshakes,
        bytes_sent: recorder.bytes_sent,
        bytes_received: recorder.bytes_received,
        kept: recorder.take_kept(),
        failures: recorder.failures,
        first_failure: recorder.first_failure,
        unfinished,
        open_loop,
        interrupted: false,
        saturation: client_cpu.total_ns as f64 / (duration.as_nanos() as f64 * threads).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use ciphertax_reactor::Reactor;

    use super::*;
    use crate::workload::{Operation, Seat};

    const LOAD: Load = Load {
        workers: Some(3),
        ..Load::closed(7)
    };

    /// Notes the seats that are taken. The connections of some break at their first operation.
    struct Seats {
        taken: Arc<Mutex<Vec<u32>>>,
        breaking: &'static [u32],
    }

    impl Workload for Seats {
        type Connection = u32;

        const KINDS: &'static [&'static str] = &["nothing"];

        async fn open(&self, _reactor: &Rc<Reactor>, seat: Seat) -> Result<u32, Failure> {
            assert_eq!(seat.of, LOAD.connections);
            self.taken.lock().unwrap().push(seat.index);
            Ok(seat.index)
        }

        async fn operate(
            &self,
            _reactor: &Rc<Reactor>,
            index: &mut u32,
            _recorder: &RefCell<Recorder>,
        ) -> Result<Operation, Failure> {
            if self.breaking.contains(index) {
                return Err(Failure::Error("it breaks".into()));
            }
            Ok(Operation::default())
        }
    }

    #[test]
    fn every_connection_has_a_seat_of_its_own_and_leaves_it_to_the_one_that_takes_its_place() {
        // The threads have the seats 0 to 2, 3 to 4 and 5 to 6. One that does not break leaves no time to those after it,
        // since it never waits.
        for breaking in [[0, 3].as_slice(), &[0, 1, 5], &[0, 1, 2, 3, 4, 5, 6]] {
            let taken = Arc::new(Mutex::new(Vec::new()));
            let workload = Seats {
                taken: Arc::clone(&taken),
                breaking,
            };
            let newly_taken = || {
                let mut seats = std::mem::take(&mut *taken.lock().unwrap());
                seats.sort_unstable();
                seats
            };
            let mut engine = Engine::start(vec![workload], &LOAD, 1).unwrap();
            engine.prepare(0).unwrap().unwrap();
            assert_eq!(newly_taken(), (0..LOAD.connections).collect::<Vec<_>>());
            for _ in 0..2 {
                let yielded = engine.slice(0, Duration::from_millis(200)).unwrap();
                assert_eq!(yielded.failures, breaking.len() as u64);
                engine.prepare(0).unwrap().unwrap();
                assert_eq!(newly_taken(), breaking);
            }
        }
    }

    /// Operations that take as long as they are told, and note when they began.
    struct Errands {
        take: Duration,
        began: Arc<Mutex<Vec<Instant>>>,
    }

    impl Errands {
        fn that_take(take: Duration) -> Self {
            Self {
                take,
                began: Arc::default(),
            }
        }
    }

    impl Workload for Errands {
        type Connection = ();

        const KINDS: &'static [&'static str] = &["errand"];

        async fn open(&self, _reactor: &Rc<Reactor>, _seat: Seat) -> Result<(), Failure> {
            Ok(())
        }

        async fn operate(
            &self,
            reactor: &Rc<Reactor>,
            (): &mut (),
            _recorder: &RefCell<Recorder>,
        ) -> Result<Operation, Failure> {
            let began = Instant::now();
            self.began.lock().unwrap().push(began);
            reactor.sleep_until(began + self.take).await;
            Ok(Operation::default())
        }
    }

    fn slice(errands: Errands, load: &Load, duration: Duration) -> SliceYield {
        let mut engine = Engine::start(vec![errands], load, 1).unwrap();
        engine.prepare(0).unwrap().unwrap();
        engine.slice(0, duration).unwrap()
    }

    #[test]
    fn a_batch_is_as_many_operations_as_it_says_however_many_threads_share_it() {
        for (batch, take) in [(7, 0), (100, 1), (1_000, 0)] {
            let load = Load {
                batch: Some(batch),
                ..LOAD
            };
            let errands = Errands::that_take(Duration::from_millis(take));
            let yielded = slice(errands, &load, Duration::ZERO);
            assert_eq!(yielded.operations[0].count, u64::from(batch));
            assert!(yielded.open_loop.is_none() && !yielded.interrupted);
            // Seven at a time.
            let least = Duration::from_millis(u64::from(batch.div_ceil(7)) * take);
            assert!(yielded.duration >= least, "{:?}", yielded.duration);
        }
    }

    #[test]
    fn a_batch_is_cut_short_when_told_to_stop() {
        let load = Load {
            batch: Some(1_000_000),
            ..LOAD
        };
        let errands = Errands::that_take(Duration::from_millis(20));
        let yielded = cut_short(errands, &load, Duration::ZERO);
        assert!(yielded.interrupted);
        assert!((1..1_000_000).contains(&yielded.operations[0].count));
        assert_eq!((yielded.failures, yielded.unfinished), (0, 0));
    }

    #[test]
    fn operations_that_nobody_answers_are_not_waited_for_when_told_to_stop() {
        let hour = Duration::from_secs(3600);
        for load in [
            Load::closed(3),
            Load {
                batch: Some(9),
                ..LOAD
            },
            Load {
                rate: Some(100),
                ..LOAD
            },
        ] {
            let yielded = cut_short(Errands::that_take(hour), &load, hour);
            assert!(yielded.interrupted && yielded.unfinished > 0, "{load:?}");
        }
    }

    /// A slice during which somebody wants to stop.
    fn cut_short(errands: Errands, load: &Load, duration: Duration) -> SliceYield {
        let flag = Arc::new(AtomicBool::new(false));
        stop::heed(&flag, || {
            let mut engine = Engine::start(vec![errands], load, 1).unwrap();
            engine.prepare(0).unwrap().unwrap();
            let later = Arc::clone(&flag);
            let stopper = thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                later.store(true, Ordering::Relaxed);
            });
            let yielded = engine.slice(0, duration).unwrap();
            stopper.join().unwrap();
            yielded
        })
    }

    #[test]
    fn in_open_loop_operations_begin_in_order_and_none_before_its_time() {
        let load = Load {
            rate: Some(200),
            ..LOAD
        };
        let errands = Errands::that_take(Duration::from_millis(3));
        let began = Arc::clone(&errands.began);
        let yielded = slice(errands, &load, Duration::from_millis(200));
        let open_loop = yielded.open_loop.unwrap();
        assert_eq!((open_loop.planned, open_loop.not_begun), (40, 0));
        assert_eq!(yielded.operations[0].count, 40);
        let mut began = std::mem::take(&mut *began.lock().unwrap());
        began.sort_unstable();
        assert_eq!(began.len(), 40);
        for (number, began) in (0..).zip(began) {
            assert!(
                began >= yielded.began + Duration::from_millis(5) * number,
                "{number}"
            );
        }
    }

    #[test]
    fn response_times_count_from_the_intended_start_when_operations_are_slow() {
        // Every 10 ms one, each of which takes 20 ms on the only connection: the n-th waits for n × 10 ms at least.
        let load = Load {
            rate: Some(100),
            ..Load::closed(1)
        };
        let errands = Errands::that_take(Duration::from_millis(20));
        let yielded = slice(errands, &load, Duration::from_millis(200));
        let open_loop = yielded.open_loop.unwrap();
        let operations = &yielded.operations[0];
        assert_eq!(
            (operations.count, open_loop.planned, open_loop.not_begun),
            (20, 20, 0)
        );
        let waited_ns: u64 = (0..20).map(|number| number * 10_000_000).sum();
        assert!(open_loop.response_sum_ns >= operations.latency_sum_ns + waited_ns);
        // All but the first found the connection busy, which is not the load generator's fault.
        assert!(open_loop.late <= 1, "{open_loop:?}");
        let responses = ciphertax_stats::histogram::decode(&open_loop.response).unwrap();
        assert_eq!(responses.len(), 20);
        assert!(responses.max() >= 210_000_000);
    }
}
