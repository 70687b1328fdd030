//! One load thread: its event loop, and its share of every arm's connections.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_observe::{HardwareCounters, ThreadUsage, placement, thread_run_queue_wait_ns};
use ciphertax_reactor::{PollDelay, Reactor};
use ciphertax_records::{CpuTime, HardwareCounts, PageFaults};

use crate::course::Course;
use crate::operation::Failure;
use crate::pacer::{Pacer, Turn};
use crate::recorder::Recorder;
use crate::responses::Responses;
use crate::workload::{Deal, Slot, Workload};

/// Connections that a load thread opens together: over a long line, where each waits for many answers, one by one would
/// take minutes; all at once could be more than a server lets wait.
const OPENED_AT_A_TIME: usize = 32;
/// How long a connection may take to open.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

/// What a load thread is to do.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// Open the arm's connections that are not open, and check that new ones are what the arm says.
    Prepare { arm: usize, check: bool },
    /// Work from `start` on, and keep every single operation where `keep` says so. The `seed` is that of the block.
    Run {
        arm: usize,
        start: Instant,
        course: Course,
        keep: bool,
        seed: u64,
    },
}

/// What a load thread answers.
pub(crate) enum Reply {
    Prepared(Result<(), Failure>),
    Ran(Box<Work>),
    Broken(io::Error),
}

/// What one load thread did in a slice.
pub(crate) struct Work {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) cpu: CpuTime,
    pub(crate) context_switches: u64,
    pub(crate) faults: PageFaults,
    /// `None` where there are no counters.
    pub(crate) hardware: Option<HardwareCounts>,
    /// `None` if the kernel does not say.
    pub(crate) run_queue_wait_ns: Option<u64>,
    pub(crate) recorder: Recorder,
    /// Empty in a closed loop.
    pub(crate) responses: Responses,
    /// Operations that did not finish in time.
    pub(crate) unfinished: u64,
}

/// Obeys until the other end hangs up.
pub(crate) fn run<W: Workload>(share: Share<W>, commands: &Receiver<Command>, replies: &Sender<Reply>) {
    let mut worker = match Worker::new(share) {
        Ok(worker) => worker,
        Err(error) => {
            // Nobody is left to tell when the engine is gone.
            let _ = replies.send(Reply::Broken(error));
            return;
        }
    };
    for command in commands {
        let reply = match command {
            Command::Prepare { arm, check } => worker.prepare(arm, check).map(Reply::Prepared),
            Command::Run {
                arm,
                start,
                course,
                keep,
                seed,
            } => worker
                .slice(arm, (start, &course), keep, seed)
                .map(|work| Reply::Ran(Box::new(work))),
        };
        if replies.send(reply.unwrap_or_else(Reply::Broken)).is_err() {
            return;
        }
    }
}

/// A load thread's part of the load.
pub(crate) struct Share<W> {
    pub(crate) arms: Arc<Vec<W>>,
    pub(crate) connections: usize,
    /// Number of the first of them among all of an arm.
    pub(crate) first_slot: u32,
    /// An arm's connections, all load threads of all processes together.
    pub(crate) slots: u32,
    /// Number of this load thread, and how many there are.
    pub(crate) thread: (usize, usize),
    /// True if operations begin on a schedule, which no other thread may hold up.
    pub(crate) is_punctual: bool,
    pub(crate) poll_delay: PollDelay,
    pub(crate) seed: u64,
    /// The only CPU the thread may run on; `None` to leave it to the kernel.
    pub(crate) cpu: Option<usize>,
}

struct Worker<W: Workload> {
    reactor: Rc<Reactor>,
    share: Share<W>,
    /// By arm; `None` for a connection that must be opened first.
    connections: Vec<Vec<Option<W::Connection>>>,
    opened: u64,
    /// `None` where the CPU shows none.
    hardware: Option<HardwareCounters>,
}

impl<W: Workload> Worker<W> {
    fn new(share: Share<W>) -> io::Result<Self> {
        share.cpu.map_or(Ok(()), placement::confine_thread)?;
        if !share.is_punctual {
            placement::give_way()?;
        }
        let none = || (0..share.connections).map(|_| None).collect();
        let connections = share.arms.iter().map(|_| none()).collect();
        Ok(Self {
            reactor: Reactor::new()?,
            share,
            connections,
            opened: 0,
            hardware: HardwareCounters::of_this_thread(),
        })
    }

    fn prepare(&mut self, arm: usize, check: bool) -> io::Result<Result<(), Failure>> {
        let workload = &self.share.arms[arm];
        self.reactor.set_poll_delay(PollDelay::NONE);
        if check && W::CHECKS {
            let deadline = Instant::now() + OPEN_TIMEOUT;
            match self.reactor.run_one(workload.check(&self.reactor), deadline)? {
                Some(Ok(())) => {}
                Some(Err(failure)) => return Ok(Err(failure)),
                None => return Ok(Err(too_slow())),
            }
        }
        let slots = &mut self.connections[arm];
        let empty: Vec<usize> = (0..slots.len()).filter(|place| slots[*place].is_none()).collect();
        let opening = Opening {
            workload,
            reactor: &self.reactor,
            places: RefCell::new(empty.iter().copied().zip(self.opened + 1..).collect()),
            connections: RefCell::new(slots),
            first_slot: self.share.first_slot,
            slots: self.share.slots,
            seed: self.share.seed,
        };
        self.opened += empty.len() as u64;
        let tasks = (0..OPENED_AT_A_TIME.min(empty.len())).map(|_| opening.some());
        let outcomes = self.reactor.run(tasks, Instant::now() + OPEN_TIMEOUT)?;
        let mut outcomes = outcomes.into_iter();
        Ok(outcomes.try_for_each(|outcome| outcome.unwrap_or_else(|| Err(too_slow()))))
    }

    fn slice(
        &mut self,
        arm: usize,
        (start, course): (Instant, &Course),
        keep: bool,
        seed: u64,
    ) -> io::Result<Work> {
        let workload = &self.share.arms[arm];
        let reactor = &self.reactor;
        let slots = &mut self.connections[arm];
        reactor.set_poll_delay(self.share.poll_delay);
        let free = slots.iter_mut().enumerate();
        let free = free.filter_map(|(place, slot)| Some((place, slot.take()?)));
        let (places, mut connections): (Vec<usize>, Vec<W::Connection>) = free.unzip();
        let share = &self.share;
        let dealt = |place: usize| match course {
            Course::Batch(batch) if W::DEALT => {
                Some(batch.dealt(share.first_slot + place as u32, share.slots))
            }
            Course::Closed(_) | Course::Batch(_) | Course::Open(_) => None,
        };
        for (connection, place) in connections.iter_mut().zip(&places) {
            let operations = dealt(*place);
            workload.begin(connection, Deal { seed, operations });
        }
        let (recorder, responses) = (RefCell::new(Recorder::new(W::KINDS, keep)), Responses::new());
        wait_for(start, !self.share.is_punctual)?;

        let waited = thread_run_queue_wait_ns();
        let counted = self.hardware.as_ref().and_then(HardwareCounters::read);
        let usage = ThreadUsage::now();
        let began = Instant::now();
        let load = Load {
            workload,
            reactor,
            recorder,
            pacer: Pacer::new(reactor, course, began, responses),
        };
        let (thread, threads) = share.thread;
        let tasks = connections.into_iter().enumerate().map(|(place, connection)| {
            let number = match course {
                // Dealt out in turns, so that the threads take turns.
                Course::Open(_) => (place * threads + thread) as u64,
                Course::Closed(_) | Course::Batch(_) => dealt(places[place]).unwrap_or(u64::MAX),
            };
            load.work(load.pacer.turn(number), connection)
        });
        let outcomes = reactor.run(tasks, load.pacer.deadline())?;
        let ended = Instant::now();
        let used = ThreadUsage::now().since(&usage);
        let hardware = self.hardware.as_ref().and_then(HardwareCounters::read);
        let hardware = hardware
            .zip(counted)
            .and_then(|(after, before)| after.since(&before));
        let run_queue_wait_ns = thread_run_queue_wait_ns()
            .zip(waited)
            .map(|(after, before)| after - before);

        let unfinished = outcomes.iter().filter(|outcome| outcome.is_none()).count() as u64;
        for (place, connection) in places.into_iter().zip(outcomes) {
            slots[place] = connection.flatten();
        }
        Ok(Work {
            began,
            ended,
            cpu: used.cpu,
            context_switches: used.context_switches,
            faults: used.faults,
            hardware,
            run_queue_wait_ns,
            recorder: load.recorder.into_inner(),
            responses: load.pacer.into_responses(),
            unfinished,
        })
    }
}

/// Waits for a time that has been agreed on with others, if it is to come. Whoever gives way while others work would begin after them.
fn wait_for(start: Instant, gives_way: bool) -> io::Result<()> {
    let left = start.saturating_duration_since(Instant::now());
    if left.is_zero() || !gives_way {
        thread::sleep(left);
        return Ok(());
    }
    placement::be_punctual()?;
    thread::sleep(left);
    placement::give_way()
}

/// The connections of an arm that a load thread has yet to open.
struct Opening<'a, W: Workload> {
    workload: &'a W,
    reactor: &'a Rc<Reactor>,
    /// Their places, and the number of each among all that the thread ever opened.
    places: RefCell<VecDeque<(usize, u64)>>,
    /// All of the arm's, by place; those that are open stay so, whatever becomes of others.
    connections: RefCell<&'a mut [Option<W::Connection>]>,
    first_slot: u32,
    slots: u32,
    seed: u64,
}

impl<W: Workload> Opening<'_, W> {
    /// Opens one after the other until none is left to open or one could not be opened.
    async fn some(&self) -> Result<(), Failure> {
        while let Some((place, opened)) = self.next() {
            let slot = Slot {
                index: self.first_slot + place as u32,
                of: self.slots,
                seed: self.seed.wrapping_add(opened),
            };
            self.reactor.extend_deadline(Instant::now() + OPEN_TIMEOUT);
            match self.workload.open(self.reactor, slot).await {
                Ok(connection) => self.connections.borrow_mut()[place] = Some(connection),
                Err(failure) => {
                    // Where one is refused, so are others.
                    self.places.borrow_mut().clear();
                    return Err(failure);
                }
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<(usize, u64)> {
        self.places.borrow_mut().pop_front()
    }
}

/// What the connections of a load thread work on in a slice.
struct Load<'a, W> {
    workload: &'a W,
    reactor: &'a Rc<Reactor>,
    recorder: RefCell<Recorder>,
    pacer: Pacer<'a>,
}

impl<W: Workload> Load<'_, W> {
    /// One connection's part of the slice; returns the connection if it can be used again.
    async fn work(&self, mut turn: Turn, mut connection: W::Connection) -> Option<W::Connection> {
        // The end of an operation is the beginning of the next: one look at the clock serves both.
        let mut now = Instant::now();
        while self.pacer.take(&mut turn, now) {
            let pause = match self.pacer.lets_rest() {
                true => self.workload.pause(&mut connection),
                false => Duration::ZERO,
            };
            let Some(began) = self.pacer.begin(&mut turn, now, pause).await else {
                break;
            };
            now = self.operate(began, &mut connection).await?;
            self.pacer.end(&mut turn, now);
        }
        self.workload.settle(&mut connection, &self.recorder).await;
        Some(connection)
    }

    /// One operation that begins then. Records it, and returns when it has ended; `None` if it failed.
    async fn operate(&self, began: Instant, connection: &mut W::Connection) -> Option<Instant> {
        let outcome = self
            .workload
            .operate(self.reactor, connection, &self.recorder)
            .await;
        let mut recorder = self.recorder.borrow_mut();
        match outcome {
            Ok(operation) => {
                let ended = Instant::now();
                recorder.record(operation, ended - began);
                Some(ended)
            }
            Err(failure) => {
                recorder.fail(failure);
                None
            }
        }
    }
}

fn too_slow() -> Failure {
    Failure::Disconnected(format!(
        "the server did not accept a connection within {} s",
        OPEN_TIMEOUT.as_secs()
    ))
}
