//! One load thread: its event loop, and its share of every arm's connections.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

use ciphertax_base::{CpuTime, HardwareCounts, PageFaults};
use ciphertax_observe::{HardwareCounters, ThreadUsage, placement, thread_run_queue_wait_ns};
use ciphertax_reactor::{PollDelay, Reactor};

use crate::connections::{Connections, Connector, Slice};
use crate::course::{Course, Pacer};
use crate::recorder::{Recorder, Responses};
use crate::workload::{Context, Deal, Failure, Result, Slot};

/// Connections that a load thread opens together: over a long line, where each waits for many answers, one by one would
/// take minutes; all at once could be more than a server lets wait.
const OPENED_AT_A_TIME: usize = 32;
/// How long a connection may take to open.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// Open the arm's connections that are not open, and check that new ones are what the arm says.
    Prepare { arm: usize, check: bool },
    /// Close the arm's connections.
    Close { arm: usize },
    /// Work from `start` on, and keep every single operation where `keep` says so. The `seed` is that of the block.
    Run {
        arm: usize,
        start: Instant,
        course: Course,
        keep: bool,
        seed: u64,
    },
}

pub(crate) enum Reply {
    Prepared(Result<()>),
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
pub(crate) fn run(share: Share, commands: &Receiver<Command>, replies: &Sender<Reply>) {
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
            Command::Close { arm } => worker.close(arm).map(Reply::Prepared),
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
pub(crate) struct Share {
    /// By arm.
    pub(crate) connectors: Vec<Connector>,
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

struct Worker {
    reactor: Rc<Reactor>,
    share: Share,
    /// By arm.
    connections: Vec<Box<dyn Connections>>,
    opened: u64,
    /// `None` where the CPU shows none.
    hardware: Option<HardwareCounters>,
}

impl Worker {
    fn new(share: Share) -> io::Result<Self> {
        share.cpu.map_or(Ok(()), placement::confine_thread)?;
        if !share.is_punctual {
            placement::give_way()?;
        }
        let of_arms = share.connectors.iter();
        let connections = of_arms.map(|connector| connector(share.connections)).collect();
        Ok(Self {
            reactor: Reactor::new()?,
            share,
            connections,
            opened: 0,
            hardware: HardwareCounters::of_this_thread(),
        })
    }

    fn close(&mut self, arm: usize) -> io::Result<Result<()>> {
        let deadline = Instant::now() + OPEN_TIMEOUT;
        let closed = self.reactor.run_one(self.connections[arm].close(), deadline)?;
        Ok(closed.unwrap_or_else(|| Err(too_slow())))
    }

    fn prepare(&mut self, arm: usize, check: bool) -> io::Result<Result<()>> {
        let connections = &*self.connections[arm];
        self.reactor.set_poll_delay(PollDelay::NONE);
        if check {
            let deadline = Instant::now() + OPEN_TIMEOUT;
            match self.reactor.run_one(connections.check(&self.reactor), deadline)? {
                Some(Ok(())) => {}
                Some(Err(failure)) => return Ok(Err(failure)),
                None => return Ok(Err(too_slow())),
            }
        }
        let closed = (0..self.share.connections).filter(|place| !connections.is_open(*place));
        let places: VecDeque<_> = closed.zip(self.opened + 1..).collect();
        self.opened += places.len() as u64;
        let at_a_time = OPENED_AT_A_TIME.min(places.len());
        let opening = Opening {
            connections,
            reactor: &self.reactor,
            places: RefCell::new(places),
            share: &self.share,
        };
        let tasks = (0..at_a_time).map(|_| opening.some());
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
        let (share, reactor, connections) = (&self.share, &self.reactor, &*self.connections[arm]);
        reactor.set_poll_delay(share.poll_delay);
        let open = (0..share.connections).filter(|place| connections.is_open(*place));
        let places: Vec<usize> = open.collect();
        let dealt = |place: usize| match course {
            Course::Batch(batch) if connections.are_dealt() => {
                Some(batch.dealt(share.first_slot + place as u32, share.slots))
            }
            Course::Closed(_) | Course::Batch(_) | Course::Open(_) => None,
        };
        for place in &places {
            let operations = dealt(*place);
            connections.begin(*place, Deal { seed, operations });
        }
        let recorder = RefCell::new(connections.recorder(keep));
        let responses = Responses::new();
        wait_for(start, !share.is_punctual)?;

        let waited = thread_run_queue_wait_ns();
        let counted = self.hardware.as_ref().and_then(HardwareCounters::read);
        let usage = ThreadUsage::now();
        let began = Instant::now();
        let slice = Slice {
            context: Context {
                reactor: Rc::clone(reactor),
                recorder,
            },
            pacer: Pacer::new(reactor, course, began, responses),
        };
        let (thread, threads) = share.thread;
        let tasks = places.iter().enumerate().map(|(index, place)| {
            let number = match course {
                // Dealt out in turns, so that the threads take turns.
                Course::Open(_) => (index * threads + thread) as u64,
                Course::Closed(_) | Course::Batch(_) => dealt(*place).unwrap_or(u64::MAX),
            };
            connections.work(*place, &slice, slice.pacer.turn(number))
        });
        let unfinished = reactor.drive(tasks.collect(), slice.pacer.deadline())?;
        let ended = Instant::now();
        let used = ThreadUsage::now().since(&usage);
        let hardware = self.hardware.as_ref().and_then(HardwareCounters::read);
        let hardware = hardware
            .zip(counted)
            .and_then(|(after, before)| after.since(&before));
        let run_queue_wait_ns = thread_run_queue_wait_ns()
            .zip(waited)
            .map(|(after, before)| after - before);
        Ok(Work {
            began,
            ended,
            cpu: used.cpu,
            context_switches: used.context_switches,
            faults: used.faults,
            hardware,
            run_queue_wait_ns,
            recorder: slice.context.recorder.into_inner(),
            responses: slice.pacer.into_responses(),
            unfinished: unfinished as u64,
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

/// The connections of an arm that a load thread has yet to open; those that are open stay so, whatever becomes of others.
struct Opening<'a> {
    connections: &'a dyn Connections,
    reactor: &'a Rc<Reactor>,
    /// Their places, and the number of each among all that the thread ever opened.
    places: RefCell<VecDeque<(usize, u64)>>,
    share: &'a Share,
}

impl Opening<'_> {
    /// Opens one after the other until none is left to open or one could not be opened.
    async fn some(&self) -> Result<()> {
        while let Some((place, opened)) = self.next() {
            let slot = Slot {
                index: self.share.first_slot + place as u32,
                of: self.share.slots,
                seed: self.share.seed.wrapping_add(opened),
            };
            self.reactor.extend_deadline(Instant::now() + OPEN_TIMEOUT);
            if let Err(failure) = self.connections.open(self.reactor, place, slot).await {
                // Where one is refused, so are others.
                self.places.borrow_mut().clear();
                return Err(failure);
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<(usize, u64)> {
        self.places.borrow_mut().pop_front()
    }
}

fn too_slow() -> Failure {
    Failure::Disconnected(format!(
        "the server did not accept a connection within {} s",
        OPEN_TIMEOUT.as_secs()
    ))
}
