//! One load thread: its event loop, and its share of every arm's connections.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use ciphertax_model::record::CpuTime;
use ciphertax_observe::{ThreadUsage, placement};
use ciphertax_reactor::{Gather, Reactor};

use crate::recorder::Recorder;
use crate::workload::{Failure, Seat, Workload};

/// How long a connection may take to open.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long operations in flight may take to finish after the end of a slice.
pub(crate) const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// What a load thread is told to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    /// Open the arm's connections that are not open, and check that new ones are what the arm says.
    Prepare { arm: usize, check: bool },
    /// Work for a while.
    Run { arm: usize, duration: Duration },
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
    pub(crate) recorder: Recorder,
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
            Command::Run { arm, duration } => {
                worker.slice(arm, duration).map(|work| Reply::Ran(Box::new(work)))
            }
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
    pub(crate) first_seat: u32,
    /// An arm's connections, all load threads together.
    pub(crate) seats: u32,
    pub(crate) gather: Gather,
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
}

impl<W: Workload> Worker<W> {
    fn new(share: Share<W>) -> io::Result<Self> {
        share.cpu.map_or(Ok(()), placement::confine_thread)?;
        placement::give_way()?;
        let none = || (0..share.connections).map(|_| None).collect();
        let connections = share.arms.iter().map(|_| none()).collect();
        Ok(Self {
            reactor: Reactor::new()?,
            share,
            connections,
            opened: 0,
        })
    }

    fn prepare(&mut self, arm: usize, check: bool) -> io::Result<Result<(), Failure>> {
        let workload = &self.share.arms[arm];
        let deadline = || Instant::now() + OPEN_TIMEOUT;
        self.reactor.set_gather(Gather::NONE);
        if check {
            match self.reactor.run_one(workload.check(&self.reactor), deadline())? {
                Some(Ok(())) => {}
                Some(Err(failure)) => return Ok(Err(failure)),
                None => return Ok(Err(too_slow())),
            }
        }
        let slots = self.connections[arm].iter_mut().zip(self.share.first_seat..);
        for (slot, index) in slots.filter(|(slot, _)| slot.is_none()) {
            self.opened += 1;
            let seat = Seat {
                index,
                of: self.share.seats,
                seed: self.share.seed.wrapping_add(self.opened),
            };
            match self
                .reactor
                .run_one(workload.open(&self.reactor, seat), deadline())?
            {
                Some(Ok(connection)) => *slot = Some(connection),
                Some(Err(failure)) => return Ok(Err(failure)),
                None => return Ok(Err(too_slow())),
            }
        }
        Ok(Ok(()))
    }

    fn slice(&mut self, arm: usize, duration: Duration) -> io::Result<Work> {
        let workload = &self.share.arms[arm];
        let recorder = RefCell::new(Recorder::new(W::KINDS));
        let reactor = &self.reactor;
        let slots = &mut self.connections[arm];
        reactor.set_gather(self.share.gather);

        let usage = ThreadUsage::now();
        let began = Instant::now();
        let deadline = began + duration;
        let mut places = Vec::with_capacity(slots.len());
        let tasks = slots
            .iter_mut()
            .enumerate()
            .filter_map(|(place, slot)| Some((place, slot.take()?)))
            .map(|(place, connection)| {
                places.push(place);
                work_until(deadline, workload, reactor, connection, &recorder)
            });
        let outcomes = reactor.run(tasks, deadline + FINISH_TIMEOUT)?;
        let ended = Instant::now();
        let used = ThreadUsage::now().since(&usage);

        let unfinished = outcomes.iter().filter(|outcome| outcome.is_none()).count() as u64;
        for (place, connection) in places.into_iter().zip(outcomes) {
            slots[place] = connection.flatten();
        }
        Ok(Work {
            began,
            ended,
            cpu: used.cpu,
            context_switches: used.context_switches,
            recorder: recorder.into_inner(),
            unfinished,
        })
    }
}

/// One connection's part of a slice: a closed loop. Returns the connection if it can be used again.
async fn work_until<W: Workload>(
    deadline: Instant,
    workload: &W,
    reactor: &Rc<Reactor>,
    mut connection: W::Connection,
    recorder: &RefCell<Recorder>,
) -> Option<W::Connection> {
    // The end of an operation is the beginning of the next: one look at the clock serves both.
    let mut began = Instant::now();
    while began < deadline {
        match workload.operate(reactor, &mut connection, recorder).await {
            Ok(operation) => {
                let ended = Instant::now();
                recorder.borrow_mut().record(operation, ended - began);
                began = ended;
            }
            Err(failure) => {
                recorder.borrow_mut().fail(failure);
                return None;
            }
        }
    }
    Some(connection)
}

fn too_slow() -> Failure {
    Failure::Disconnected(format!(
        "the server did not accept a connection within {} s",
        OPEN_TIMEOUT.as_secs()
    ))
}
