//! All load threads together.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_model::{Load, Pace};
use ciphertax_reactor::{PollDelay, stop};

use crate::connections::{Connector, connector};
use crate::course::{Batch, Course, Schedule};
use crate::slice_yield::{SliceYield, merge};
use crate::worker::{self, Command, Reply, Share};
use crate::workload::{Part, Result, Workload};

/// What the names of all load threads begin with.
pub const THREAD_NAME: &str = "load-";

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
    /// Of this process.
    connections: u32,
    part: Part,
    pace: Pace,
    keeps_operations: bool,
    /// Whether the workload checks something before every slice.
    checks: bool,
    /// Whether its connections may be closed and opened anew.
    renews: bool,
    /// By arm: whether all its connections are open, as far as its last slice says.
    open: Vec<bool>,
}

struct Handle {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts the load threads; connections are opened by [`Engine::prepare`]. `arms` holds the workload of each arm.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn start<W: Workload>(arms: Vec<W>, load: &Load, seed: u64) -> Result<Self, EngineError> {
        Self::start_part(Part::WHOLE, None, arms, load, seed)
    }

    /// As [`Engine::start`], for this process's `part` of a load ([`Part::WHOLE`] if it is alone; `load` is that of all processes
    /// together), with all load threads on `cpu`; `None` leaves them to the kernel.
    ///
    /// # Errors
    /// When threads cannot be started; a CPU that may not be used is reported by [`Engine::prepare`].
    pub fn start_part<W: Workload>(
        part: Part,
        cpu: Option<usize>,
        arms: Vec<W>,
        load: &Load,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let connectors = arms.into_iter().map(connector).collect();
        let mut engine = Self::start_connectors(part, cpu, connectors, load, seed)?;
        (engine.checks, engine.renews) = (W::CHECKS, W::RENEWS);
        Ok(engine)
    }

    /// [`Engine::start_part`] of arms of whatever workload, which is compiled once.
    fn start_connectors(
        part: Part,
        cpu: Option<usize>,
        connectors: Vec<Connector>,
        load: &Load,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let (reply, replies) = mpsc::channel();
        let of_part = Load {
            connections: part.share_of(load.connections),
            ..*load
        };
        let threads = worker_count(&of_part, cpu) as usize;
        let pace = load.pace();
        let mut workers = Vec::with_capacity(threads);
        let mut first_slot = part.before(load.connections);
        for index in 0..threads {
            let (commands, inbox) = mpsc::channel();
            let connections = share_of(of_part.connections as usize, threads, index);
            let share = Share {
                connectors: connectors.clone(),
                connections,
                first_slot,
                slots: load.connections,
                thread: (index, threads),
                is_punctual: matches!(pace, Pace::Open { .. }),
                poll_delay: PollDelay::micros(load.poll_delay_us),
                seed: part.seed(seed) ^ ((index as u64) << 32),
                cpu,
            };
            first_slot += connections as u32;
            let reply = reply.clone();
            let stop = stop::current_flag();
            let work = move || worker::run(share, &inbox, &reply);
            let thread = thread::Builder::new()
                .name(format!("{THREAD_NAME}{index}"))
                .spawn(move || match stop {
                    Some(stop) => stop::with_flag(&stop, work),
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
            connections: of_part.connections,
            part,
            pace,
            keeps_operations: false,
            checks: false,
            renews: false,
            open: vec![false; connectors.len()],
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

    /// True if [`Engine::prepare`] would find nothing to do: the arm's connections are open, as far as its last slice says, and its
    /// workload checks nothing.
    pub fn is_prepared(&self, arm: usize) -> bool {
        self.open[arm] && !self.checks
    }

    /// Opens the arm's connections that are not open, and checks that new ones are what the arm says.
    ///
    /// # Errors
    /// The outer for an engine that cannot go on, the inner for a connection that cannot be opened.
    pub fn prepare(&mut self, arm: usize) -> Result<Result<()>, EngineError> {
        if self.is_prepared(arm) {
            return Ok(Ok(()));
        }
        let checks = self.checks;
        let outcome = self.each(|index| Command::Prepare {
            arm,
            check: checks && index == 0,
        })?;
        self.open[arm] = outcome.is_ok();
        Ok(outcome)
    }

    /// Closes the arm's connections, which [`Engine::prepare`] then opens anew; false where the workload does not want that.
    ///
    /// # Errors
    /// For an engine that cannot go on.
    pub fn close(&mut self, arm: usize) -> Result<bool, EngineError> {
        if self.renews {
            self.open[arm] = false;
            // One that does not close in time is dropped.
            drop(self.each(|_| Command::Close { arm })?);
        }
        Ok(self.renews)
    }

    /// Lets every load thread do what it does not work for.
    fn each(&mut self, command: impl Fn(usize) -> Command) -> Result<Result<()>, EngineError> {
        for index in 0..self.workers.len() {
            self.tell(index, command(index))?;
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

    /// A slice of no block: [`Engine::slice_of`] with a seed of 0.
    ///
    /// # Errors
    /// Those of [`Engine::slice_of`].
    pub fn slice(&mut self, arm: usize, duration: Duration) -> Result<SliceYield, EngineError> {
        self.slice_of(0, arm, duration)
    }

    /// Lets the arm's connections work, and operations in flight finish: for `duration`, or until a batch is done.
    /// Where the thread that started the engine has a flag, it is cut short when that is set. Where the workload deals
    /// its operations, a batch is the same for all slices of the same `seed`.
    ///
    /// # Errors
    /// For an engine that cannot go on; what goes wrong with operations is in the yield.
    pub fn slice_of(&mut self, seed: u64, arm: usize, duration: Duration) -> Result<SliceYield, EngineError> {
        self.slice_from(Instant::now(), seed, arm, duration)
    }

    /// As [`Engine::slice_of`], from a time on that has been agreed on with others.
    ///
    /// # Errors
    /// Those of [`Engine::slice_of`].
    pub fn slice_from(
        &mut self,
        start: Instant,
        seed: u64,
        arm: usize,
        duration: Duration,
    ) -> Result<SliceYield, EngineError> {
        let course = self.course(start, duration);
        for index in 0..self.workers.len() {
            let course = course.clone();
            let keep = self.keeps_operations;
            self.tell(
                index,
                Command::Run {
                    arm,
                    start,
                    course,
                    keep,
                    seed,
                },
            )?;
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
        self.open[arm] &= merged.is_whole();
        Ok(SliceYield {
            interrupted: is_cut || (merged.unfinished > 0 && stop::is_requested()),
            ..merged
        })
    }

    fn course(&self, start: Instant, duration: Duration) -> Course {
        match self.pace {
            Pace::Closed => Course::Closed(duration),
            Pace::Batch { operations } => Course::Batch(Arc::new(Batch::of(operations, self.part))),
            Pace::Open { rate } => {
                let (start, part) = (start + LEAD, self.part);
                let schedule = Schedule::new(start, rate, duration, self.connections, part);
                Course::Open(Arc::new(schedule))
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

#[cfg(test)]
mod tests;
