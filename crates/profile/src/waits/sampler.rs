//! The thread that looks.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::process::Process;
use super::random::Random;
use super::round::{Rounds, Seen};
use super::thread::{OpenFiles, parent_of, permission};
use crate::error::ProfileError;
use crate::watched::Watched;

/// The looking thread may use this share of a CPU: with so many threads that this is too little, it looks less often.
const MOST_CPU: f64 = 0.05;
/// Most threads whose files are kept open, and the part of the descriptors that this process may have which that may take.
const MOST_OPEN: u64 = 2048;
const PART_OF_DESCRIPTORS: u64 = 4;

/// What the thread works with.
#[derive(Debug)]
pub(super) struct Sampler {
    /// Time from one round to the next.
    pub(super) period: Duration,
    /// Whom to look at, slice by slice.
    pub(super) orders: Receiver<Watched>,
    /// Says that the first look may come.
    pub(super) ready: Sender<()>,
    /// What came of it.
    pub(super) seen: Sender<Seen>,
    /// Set to end a slice.
    pub(super) is_stopped: Arc<AtomicBool>,
}

impl Sampler {
    /// Looks until nobody orders anything.
    pub(super) fn work(self) {
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
            thread::park_timeout(left);
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

/// What the calling thread has used.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Whether this user may look at a process.
///
/// # Errors
/// [`ProfileError::Refused`] if it may not, or what else keeps it from being read.
pub(super) fn may_look(pid: u32) -> crate::Result<()> {
    let Err(cause) = permission(pid) else {
        return Ok(());
    };
    Err(match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => ProfileError::Refused {
            what: "looking at what another process's threads wait for",
            cause,
            remedy: remedy(),
        },
        Some(libc::ESRCH | libc::ENOENT) if !Path::new(&format!("/proc/{pid}")).exists() => {
            ProfileError::ProcessEnded { pid }
        }
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
