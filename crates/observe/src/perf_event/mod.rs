//! Events of the kernel's performance counters, `perf_event_open(2)`, as far as they are needed here; instructions and cycles, as the
//! CPU itself counts them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::{io, mem};

use ciphertax_base::HardwareCounts;
use perf_event_open_sys as sys;
use rustix::io::{Errno, read};
use rustix::thread::gettid;
use serde::{Deserialize, Serialize};

use crate::thread_status::threads;
use sys::bindings::perf_event_attr;

pub use sys::bindings;

/// Whom an event counts, on one CPU unless it is said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// Whatever runs on the CPU.
    Everybody,
    /// One thread.
    Thread(u32),
}

impl Whom {
    /// The calling thread.
    pub fn this_thread() -> Self {
        Self::Thread(gettid().as_raw_nonzero().get().cast_unsigned())
    }
}

/// An event that is counted, or of which samples are taken.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// As the CPU of an event that counts a thread wherever it runs.
    pub const ANY_CPU: u32 = u32::MAX;

    /// Opens one. It counts at once, unless the attributes say that it is to be enabled first.
    ///
    /// # Errors
    /// If the kernel refuses, there is no such thread or CPU, or too many files are open.
    pub fn open(mut attributes: perf_event_attr, whom: Whom, cpu: u32) -> io::Result<Self> {
        let pid = match whom {
            Whom::Everybody => -1,
            Whom::Thread(tid) => tid.cast_signed(),
        };
        let flags = libc::c_ulong::from(sys::bindings::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: the attributes are initialized and have their size; the kernel writes nowhere else.
        let file = unsafe { sys::perf_event_open(&raw mut attributes, pid, cpu.cast_signed(), -1, flags) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(file) }))
    }

    /// Begins to count, and with it those that threads have inherited.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: it takes no pointer.
        done(unsafe { sys::ioctls::ENABLE(self.0.as_raw_fd(), 0) })
    }

    /// Ends the counting.
    ///
    /// # Errors
    /// If the kernel refuses, as it does where the CPU is gone.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: as above.
        done(unsafe { sys::ioctls::DISABLE(self.0.as_raw_fd(), 0) })
    }

    /// What it has counted, one that was opened for [counting].
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn count(&self) -> io::Result<Count> {
        let mut numbers = [[0; size_of::<u64>()]; 3];
        if read(&self.0, numbers.as_flattened_mut())? != size_of_val(&numbers) {
            // As of an event that could not be kept on the CPU.
            return Err(Errno::NODATA.into());
        }
        let [value, enabled_ns, running_ns] = numbers.map(u64::from_ne_bytes);
        Ok(Count {
            value,
            enabled_ns,
            running_ns,
        })
    }

    /// Has its records written into the ring of another event of the same CPU.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn write_into(&self, owner: &Self) -> io::Result<()> {
        let owner = owner.0.as_raw_fd();
        // SAFETY: it takes the number of an open file, and no pointer.
        done(unsafe { sys::ioctls::SET_OUTPUT(self.0.as_raw_fd(), owner as _) })
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What an event has counted since it was opened, all together that inherited it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    value: u64,
    /// For how long those ran who are counted.
    enabled_ns: u64,
    /// For how long of that the CPU did count: it has few counters, which take turns where more are asked for.
    running_ns: u64,
}

impl Count {
    /// What was counted since an earlier count of the same event, and what would have been if the CPU had counted all the time;
    /// `None` if it counted for less than half of it, or one of both is another event's.
    pub fn since(&self, earlier: &Self) -> Option<u64> {
        let value = self.value.checked_sub(earlier.value)?;
        let enabled_ns = self.enabled_ns.checked_sub(earlier.enabled_ns)?;
        match self.running_ns.checked_sub(earlier.running_ns)? {
            running_ns if running_ns == enabled_ns => Some(value),
            running_ns if running_ns < enabled_ns / 2 => None,
            running_ns => Some((value as f64 * (enabled_ns as f64 / running_ns as f64)).round() as u64),
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, more: Self) {
        self.value += more.value;
        self.enabled_ns += more.enabled_ns;
        self.running_ns += more.running_ns;
    }
}

fn done(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Attributes of an event of this kind that counts as soon as it is open: `type_` is one of `PERF_TYPE_…`, `config` a number of
/// that type.
pub fn attributes(type_: u32, config: u32) -> perf_event_attr {
    perf_event_attr {
        type_,
        size: mem::size_of::<perf_event_attr>() as u32,
        config: u64::from(config),
        ..Default::default()
    }
}

/// The same of an event that is asked for its [count](Event::count).
pub fn counting(mut attributes: perf_event_attr) -> perf_event_attr {
    attributes.read_format =
        u64::from(bindings::PERF_FORMAT_TOTAL_TIME_ENABLED | bindings::PERF_FORMAT_TOTAL_TIME_RUNNING);
    attributes
}

/// A server that has more threads at the beginning is not counted.
const MOST_THREADS: usize = 128;
/// How often it is tried to count all threads of a process that begins others meanwhile.
const ATTEMPTS: usize = 5;

/// Counts the instructions and cycles of threads, in programs and in the kernel.
///
/// The kernel takes longer to switch from such a thread to one that is not counted, and to begin and end one.
#[derive(Debug)]
pub struct HardwareCounters(Vec<[Event; 2]>);

/// What has been counted so far. Only the [difference](HardwareReading::since) of two readings means something.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct HardwareReading([Count; 2]);

impl HardwareCounters {
    /// Open files that those of a server take at most: two for each thread that it has at the beginning.
    pub const MOST_FILES: u64 = 2 * MOST_THREADS as u64;

    /// Those of processes with all their threads, and of the threads and processes that these begin from now on, those that have
    /// ended too. `None` where the CPU shows no counters, this user may not have them, there are too many threads, or those that are
    /// already there cannot be told from those that they begin. `pids` lists the processes anew whenever it is asked.
    pub fn of_processes(pids: impl Fn() -> Vec<u32>) -> Option<Self> {
        counting_threads_of(pids, instructions_and_cycles())
    }

    /// Those of the calling thread alone; `None` as for processes.
    pub fn of_this_thread() -> Option<Self> {
        let events = events_of(Whom::this_thread(), instructions_and_cycles());
        Some(Self(vec![events.ok()?]))
    }

    /// What has been counted so far; `None` if the kernel does not say.
    pub fn read(&self) -> Option<HardwareReading> {
        let mut sums = [Count::default(); 2];
        for events in &self.0 {
            for (sum, event) in sums.iter_mut().zip(events) {
                *sum += event.count().ok()?;
            }
        }
        Some(HardwareReading(sums))
    }
}

impl HardwareReading {
    /// What was counted since an earlier reading of the same counters; `None` if the CPU was busy with counters of others for more
    /// than half of the time.
    pub fn since(&self, earlier: &Self) -> Option<HardwareCounts> {
        let [instructions, cycles] = [0, 1].map(|which| self.0[which].since(&earlier.0[which]));
        Some(HardwareCounts {
            instructions: instructions?,
            cycles: cycles?,
        })
    }
}

/// Whether programs can have this CPU count their instructions and cycles. Virtual machines often hide the counters.
///
/// # Errors
/// If this user may not know.
pub fn has_hardware_counters() -> io::Result<bool> {
    match events_of(Whom::this_thread(), instructions_and_cycles()) {
        Ok(_) => Ok(true),
        // Who may not count in the kernel is told so before it is known whether there is anything to count.
        Err(refused) if Errno::from_io_error(&refused) == Some(Errno::ACCESS) => {
            match events_of(Whom::this_thread(), instructions_and_cycles().map(of_programs)) {
                Err(error) if is_without(&error) => Ok(false),
                _ => Err(refused),
            }
        }
        Err(error) if is_without(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// As `perf_event_open(2)` says it of a counter that is not there.
fn is_without(error: &io::Error) -> bool {
    let without = [
        Errno::NOENT,
        Errno::OPNOTSUPP,
        Errno::NODEV,
        Errno::NXIO,
        Errno::NOSYS,
    ];
    Errno::from_io_error(error).is_some_and(|error| without.contains(&error))
}

fn instructions_and_cycles() -> [perf_event_attr; 2] {
    [
        bindings::PERF_COUNT_HW_INSTRUCTIONS,
        bindings::PERF_COUNT_HW_CPU_CYCLES,
    ]
    .map(|counter| counting(attributes(bindings::PERF_TYPE_HARDWARE, counter)))
}

fn of_programs(mut attributes: perf_event_attr) -> perf_event_attr {
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes
}

fn counting_threads_of(pids: impl Fn() -> Vec<u32>, asked: [perf_event_attr; 2]) -> Option<HardwareCounters> {
    let inherited = asked.map(|mut attributes| {
        attributes.set_inherit(1);
        attributes
    });
    let open = |threads: &BTreeSet<u32>| -> io::Result<_> {
        threads
            .iter()
            .map(|thread| events_of(Whom::Thread(*thread), inherited))
            .collect()
    };
    for _ in 0..ATTEMPTS {
        let threads = threads_of(&pids());
        if threads.is_empty() || threads.len() > MOST_THREADS {
            return None;
        }
        let events = match open(&threads) {
            Ok(events) => events,
            // It has ended meanwhile.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => continue,
            Err(_) => return None,
        };
        // One that began meanwhile may be counted with who began it, or by nobody.
        if threads_of(&pids()) == threads {
            return Some(HardwareCounters(events));
        }
    }
    None
}

fn events_of(whom: Whom, asked: [perf_event_attr; 2]) -> io::Result<[Event; 2]> {
    let [one, other] = asked.map(|attributes| Event::open(attributes, whom, Event::ANY_CPU));
    Ok([one?, other?])
}

fn threads_of(pids: &[u32]) -> BTreeSet<u32> {
    pids.iter().flat_map(|pid| threads(*pid)).flatten().collect()
}
