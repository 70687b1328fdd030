//! Events of the kernel's performance counters, `perf_event_open(2)`, as far as they are needed here.

use std::io;
use std::mem;
use std::ops::AddAssign;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys as sys;
use rustix::io::{Errno, read};
use rustix::thread::gettid;
use serde::{Deserialize, Serialize};
pub use sys::bindings;
use sys::bindings::perf_event_attr;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_take_turns_are_extrapolated() {
        let count = |value, enabled_ns, running_ns| Count {
            value,
            enabled_ns,
            running_ns,
        };
        let earlier = count(1_000, 500, 500);
        assert_eq!(count(1_600, 900, 900).since(&earlier), Some(600));
        // It counted for half of the time, and for a quarter of it.
        assert_eq!(count(1_600, 900, 700).since(&earlier), Some(1_200));
        assert_eq!(count(1_600, 900, 600).since(&earlier), None);
        assert_eq!(count(1_000, 900, 500).since(&earlier), None);
        // Nobody ran.
        assert_eq!(earlier.since(&earlier), Some(0));
        assert_eq!(count(999, 900, 900).since(&earlier), None);
    }
}
