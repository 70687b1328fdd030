//! All load threads together.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_model::Load;
use ciphertax_model::record::{CpuTime, Handshakes, OperationSample, PhaseSample};
use ciphertax_reactor::Gather;

use crate::recorder::Recorder;
use crate::worker::{self, Command, Reply, Share, Work};
use crate::workload::{Failure, Workload};

/// The share of the CPUs it may use from which on the load generator counts as the bottleneck.
pub const SATURATED: f64 = 0.85;

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
    /// Operations by kind.
    pub operations: Vec<OperationSample>,
    /// Statements answered, all operations together.
    pub queries: u64,
    /// Times an operation was begun anew because the server gave up on it, as in a deadlock.
    pub restarts: u64,
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
    /// Operations that failed.
    pub failures: u64,
    /// The first of them, or the gravest.
    pub first_failure: Option<Failure>,
    /// Operations that did not finish within ten seconds after the end of the slice.
    pub unfinished: u64,
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
                gather: Gather::micros(load.gather_us),
                seed: seed ^ ((index as u64) << 32),
                cpu,
            };
            first_seat += connections as u32;
            let reply = reply.clone();
            let thread = thread::Builder::new()
                .name(format!("load-{index}"))
                .spawn(move || worker::run(share, &inbox, &reply))?;
            workers.push(Handle {
                commands: Some(commands),
                thread: Some(thread),
            });
        }
        Ok(Self { workers, replies })
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
            match self.answer()? {
                Reply::Prepared(prepared) => outcome = outcome.and(prepared),
                Reply::Ran(_) | Reply::Broken(_) => return Err(EngineError::WorkerEnded),
            }
        }
        Ok(outcome)
    }

    /// Lets the arm's connections work for `duration`, and operations in flight finish.
    ///
    /// # Errors
    /// For an engine that cannot go on; what goes wrong with operations is in the yield.
    pub fn slice(&mut self, arm: usize, duration: Duration) -> Result<SliceYield, EngineError> {
        for index in 0..self.workers.len() {
            self.tell(index, Command::Run { arm, duration })?;
        }
        let mut works = Vec::with_capacity(self.workers.len());
        for _ in 0..self.workers.len() {
            match self.answer()? {
                Reply::Ran(work) => works.push(*work),
                Reply::Prepared(_) | Reply::Broken(_) => return Err(EngineError::WorkerEnded),
            }
        }
        Ok(merge(works))
    }

    fn tell(&self, index: usize, command: Command) -> Result<(), EngineError> {
        let commands = self.workers[index]
            .commands
            .as_ref()
            .ok_or(EngineError::WorkerEnded)?;
        commands.send(command).map_err(|_| EngineError::WorkerEnded)
    }

    fn answer(&self) -> Result<Reply, EngineError> {
        // A worker that panics takes its sender with it, but the others keep the channel open: so look now and then.
        loop {
            match self.replies.recv_timeout(Duration::from_millis(500)) {
                Ok(Reply::Broken(error)) => return Err(EngineError::Worker(error)),
                Ok(reply) => return Ok(reply),
                Err(mpsc::RecvTimeoutError::Timeout) if self.all_alive() => {}
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

fn merge(works: Vec<Work>) -> SliceYield {
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
    let unfinished = works.iter().map(|work| work.unfinished).sum();
    let merged = works
        .into_iter()
        .map(|work| work.recorder)
        .reduce(|mut merged: Recorder, recorder| {
            merged.merge(&recorder);
            merged
        });
    let recorder = merged.unwrap_or_else(|| Recorder::new(&[]));
    SliceYield {
        began,
        duration,
        client_cpu,
        client_context_switches,
        operations: recorder.operations(),
        queries: recorder.queries,
        restarts: recorder.restarts,
        phases: recorder.phases(),
        logins: recorder.logins(),
        handshakes: recorder.handshakes,
        bytes_sent: recorder.bytes_sent,
        bytes_received: recorder.bytes_received,
        failures: recorder.failures,
        first_failure: recorder.first_failure,
        unfinished,
        saturation: client_cpu.total_ns as f64 / (duration.as_nanos() as f64 * threads).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Mutex;

    use ciphertax_reactor::Reactor;

    use super::*;
    use crate::workload::{Operation, Seat};

    const LOAD: Load = Load {
        connections: 7,
        workers: Some(3),
        gather_us: 0,
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
}
