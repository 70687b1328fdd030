//! Wait profiles: what threads wait for.
//!
//! A thread of this process, `waits`, looks at all threads of a server in rounds. The kernel says in `/proc/PID/task/TID/syscall`
//! whether a thread runs (or could run), or in which system call it waits and where its stack is. The stack of one that waits is
//! copied; if the thread still waits there afterwards, the copy is what it was. Nothing is stopped for that, and the server's
//! user needs no privilege. A thread that has not been given a CPU since (`schedstat` counts that) is not copied again.
//!
//! | found | is counted as |
//! |---|---|
//! | `running` | running, whether it had a CPU or waited for one |
//! | a call that receives from, or polls, a client's socket | idle: the session waits for its client |
//! | any other call, or a page that must be read | blocked, with its stack |
//! | a call, but another one after the copy | inconsistent |
//!
//! # Which threads serve sessions
//!
//! Where the server starts processes for its connections (PostgreSQL), those that begin with a connection do, and no others.
//! Elsewhere a thread does that
//!
//! 1. is not the one that the process began with, and
//! 2. was seen waiting for a client, in this slice or an earlier one (by its number and when it began), or
//! 3. is called as such a thread is, but for a number (`conn12`), while the server itself is called otherwise, or
//! 4. is called as the server is, and begins its work in the same functions as such a thread, which its stack tells, or
//! 5. never waited for anything so far: threads of the server's own mostly wait, so this one is busy for a client.
//!
//! All others are background. So are looks at a session's thread that waits for its next connection in a server's cache of
//! threads: there is no session then. A descriptor is a client's connection if it is a socket that neither listens nor is UDP's.

mod call;
mod copies;
mod roles;
mod round;
mod summary;
mod thread;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_records::SliceId;
use ciphertax_records::why::{SymbolTable, Waits};
use rustix::process::{Resource, getrlimit};

use crate::stacks::Stacks;
use crate::{ProfileError, Watched, cpu_time, exists};
use copies::Random;
use roles::Roles;
use round::{Rounds, Seen};
use thread::{OpenFiles, Process, parent_of, permission};

/// Looks at all threads of a server many times a second, in a thread of its own.
#[derive(Debug)]
pub struct WaitSampler {
    /// `None` once this goes.
    orders: Option<Sender<Watched>>,
    ready: Receiver<()>,
    seen: Receiver<Seen>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    roles: Roles,
    /// True from the begin of a slice until what was seen is read.
    is_pending: bool,
}

impl WaitSampler {
    /// Gets ready to look so many times a second. It looks less often if that takes more than a twentieth of a CPU.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn open(hz: u32) -> crate::Result<Self> {
        let (orders, of_orders) = channel();
        let (to_ready, ready) = channel();
        let (to_seen, seen) = channel();
        let is_stopped = Arc::new(AtomicBool::new(true));
        let sampler = Sampler {
            period: Duration::from_secs(1) / hz.max(1),
            orders: of_orders,
            ready: to_ready,
            seen: to_seen,
            is_stopped: Arc::clone(&is_stopped),
        };
        let thread = Builder::new().name("waits".into()).spawn(move || sampler.work());
        let thread = thread.map_err(|cause| ProfileError::Read {
            what: "what threads wait for, without a thread for it".into(),
            cause,
        })?;
        Ok(Self {
            orders: Some(orders),
            ready,
            seen,
            is_stopped,
            thread: Some(thread),
            roles: Roles::default(),
            is_pending: false,
        })
    }

    /// Begins to look.
    ///
    /// # Errors
    /// If the processes cannot be read.
    pub fn begin(&mut self, watched: &Watched, stacks: &mut Stacks) -> crate::Result<()> {
        if self.is_pending {
            self.stop();
            self.seen()?;
        }
        for pid in &watched.server {
            may_look(*pid)?;
            stacks.refresh(*pid)?;
        }
        self.is_stopped.store(false, Ordering::Relaxed);
        let orders = self.orders.as_ref().ok_or_else(has_ended)?;
        orders.send(watched.clone()).map_err(|_| has_ended())?;
        self.ready.recv().map_err(|_| has_ended())?;
        self.is_pending = true;
        Ok(())
    }

    /// Ends the looking at once.
    pub fn stop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// What was seen since it began, after it was stopped. Of threads that serve no sessions it has what they waited for and how
    /// many ran.
    ///
    /// # Errors
    /// If nothing of it can be read.
    pub fn waits(
        &mut self,
        slice: SliceId,
        stacks: &mut Stacks,
        symbols: &mut SymbolTable,
    ) -> crate::Result<Waits> {
        self.stop();
        if !self.is_pending {
            return Err(has_ended());
        }
        let seen = self.seen()?;
        Ok(summary::waits(slice, seen, &mut self.roles, stacks, symbols))
    }

    fn seen(&mut self) -> crate::Result<Seen> {
        self.is_pending = false;
        self.seen.recv().map_err(|_| has_ended())
    }
}

impl Drop for WaitSampler {
    fn drop(&mut self) {
        self.stop();
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Without a slice, or without the thread that looks.
fn has_ended() -> ProfileError {
    ProfileError::Read {
        what: "what threads wait for".into(),
        cause: std::io::Error::other("nothing was begun"),
    }
}

/// The looking thread may use this share of a CPU: with so many threads that this is too little, it looks less often.
const MOST_CPU: f64 = 0.05;
/// Most threads whose files are kept open, and the part of the descriptors that this process may have which that may take.
const MOST_OPEN: u64 = 2048;
const PART_OF_DESCRIPTORS: u64 = 4;

#[derive(Debug)]
struct Sampler {
    period: Duration,
    /// Whom to look at, slice by slice.
    orders: Receiver<Watched>,
    /// Says that the first look may come.
    ready: Sender<()>,
    seen: Sender<Seen>,
    /// Set to end a slice.
    is_stopped: Arc<AtomicBool>,
}

impl Sampler {
    /// Looks until nobody orders anything.
    fn work(self) {
        let mut random = Random::new();
        let mut rounds = Rounds::new(Random::new());
        let files = OpenFiles::at_most(most_open());
        let mut known: Vec<Process> = Vec::new();
        while let Ok(watched) = self.orders.recv() {
            // Servers take turns, so those of the other slices are kept while they live.
            known.retain(Process::is_alive);
            let mut processes = take(&mut known, &watched, &files);
            if self.ready.send(()).is_err() {
                return;
            }
            let seen = self.slice(&mut processes, &files, &mut rounds, &mut random);
            known.append(&mut processes);
            if self.seen.send(seen).is_err() {
                return;
            }
        }
    }

    fn slice(
        &self,
        processes: &mut [Process],
        files: &OpenFiles,
        rounds: &mut Rounds,
        random: &mut Random,
    ) -> Seen {
        let mut seen = Seen::default();
        let mut next = Instant::now() + random.below(self.period);
        while self.sleep_until(next) {
            let (began, before) = (Instant::now(), cpu_time());
            rounds.look(processes, files, &mut seen, &self.is_stopped);
            let used = cpu_time().saturating_sub(before);
            // Between half of the period and one and a half.
            let period = self.period / 2 + random.below(self.period);
            next = began + period.max(used.div_f64(MOST_CPU));
        }
        seen
    }

    /// False if the slice has ended.
    fn sleep_until(&self, time: Instant) -> bool {
        loop {
            if self.is_stopped.load(Ordering::Relaxed) {
                return false;
            }
            let left = time.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::park_timeout(left);
        }
    }
}

/// The processes of this slice, from those that are known where they are.
fn take(known: &mut Vec<Process>, watched: &Watched, files: &OpenFiles) -> Vec<Process> {
    let is_child = |pid: u32| {
        watched.with_children && parent_of(pid).is_some_and(|parent| watched.server.contains(&parent))
    };
    let roots = watched.server.iter().filter(|pid| !is_child(**pid));
    let of_slice = roots.filter_map(|pid| {
        let index = known.iter().position(|process| process.pid == *pid);
        let former = index.map(|index| known.swap_remove(index));
        let ready = |mut process: Process| process.begin(watched.with_children, files).then_some(process);
        former
            .and_then(ready)
            .or_else(|| Process::open(*pid).and_then(ready))
    });
    of_slice.collect()
}

fn most_open() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Two files each.
    (limit / PART_OF_DESCRIPTORS / 2).min(MOST_OPEN) as usize
}

/// Whether this user may look at a process.
///
/// # Errors
/// [`ProfileError::Refused`] if it may not, or what else keeps it from being read.
fn may_look(pid: u32) -> crate::Result<()> {
    let Err(cause) = permission(pid) else {
        return Ok(());
    };
    Err(match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => ProfileError::Refused {
            what: "looking at what another process's threads wait for",
            cause,
            remedy: remedy(),
        },
        Some(libc::ESRCH | libc::ENOENT) if !exists(pid) => ProfileError::ProcessEnded(pid),
        _ => ProfileError::Read {
            what: format!("what the threads of process {pid} wait for"),
            cause,
        },
    })
}

fn remedy() -> &'static str {
    // Above 0 only ancestors may look, https://docs.kernel.org/admin-guide/LSM/Yama.html
    match fs::read("/proc/sys/kernel/yama/ptrace_scope").as_deref() {
        Ok([b'0', ..]) | Err(_) => "run ciphertax as root or as the server's user",
        Ok(_) => "run ciphertax as root, let it start the server, or set kernel.yama.ptrace_scope to 0",
    }
}
