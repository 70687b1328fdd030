//! Events of the kernel's performance counters, as far as they are needed here.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys as sys;
use sys::bindings::perf_event_attr;

use super::registers;

/// Bytes of the user stack that come with a sample. The deepest stacks of database servers take about half of it; with twice as
/// much a sample would not fit into a record, whose size is a 16-bit number.
pub(super) const USER_STACK_BYTES: u32 = 32 << 10;

/// The longest record of a sample: the stack, and less than 2 KiB of registers and kernel functions.
pub(super) const RECORD_BYTES: usize = USER_STACK_BYTES as usize + (2 << 10);

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Whom an event counts, on one CPU unless it is said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    /// Whatever runs on the CPU.
    Everybody,
    /// One thread.
    Thread(u32),
}

/// An event of one CPU, which is not counted until it is enabled.
#[derive(Debug)]
pub(super) struct Event(OwnedFd);

impl Event {
    /// As the CPU of an event that counts a thread wherever it runs.
    pub(super) const ANY_CPU: u32 = u32::MAX;

    /// # Errors
    /// If the kernel refuses, there is no such thread or CPU, or too many files are open.
    pub(super) fn open(mut attributes: perf_event_attr, whom: Whom, cpu: u32) -> io::Result<Self> {
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
    pub(super) fn enable(&self) -> io::Result<()> {
        // SAFETY: it takes no pointer.
        done(unsafe { sys::ioctls::ENABLE(self.0.as_raw_fd(), 0) })
    }

    /// Ends the counting.
    pub(super) fn disable(&self) -> io::Result<()> {
        // SAFETY: as above.
        done(unsafe { sys::ioctls::DISABLE(self.0.as_raw_fd(), 0) })
    }

    /// Has its records written into the ring of another event of the same CPU.
    pub(super) fn write_into(&self, owner: &Self) -> io::Result<()> {
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

fn done(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Samples of what runs, so many a second of CPU time: the functions of the kernel, the registers of the program, and its stack.
pub(super) fn cpu_clock(hz: u32, with_kernel: bool) -> perf_event_attr {
    let mut attributes = software(u64::from(sys::bindings::PERF_COUNT_SW_CPU_CLOCK));
    // A period, since a frequency is refused where the kernel allows few samples a second.
    attributes.__bindgen_anon_1.sample_period = NANOSECONDS_PER_SECOND / u64::from(hz.max(1));
    attributes.sample_type = u64::from(
        sys::bindings::PERF_SAMPLE_TID
            | sys::bindings::PERF_SAMPLE_CALLCHAIN
            | sys::bindings::PERF_SAMPLE_REGS_USER
            | sys::bindings::PERF_SAMPLE_STACK_USER,
    );
    attributes.set_exclude_idle(1);
    attributes.set_exclude_kernel(u64::from(!with_kernel));
    // The kernel follows frame pointers, which cryptographic code has none of.
    attributes.set_exclude_callchain_user(1);
    attributes.sample_regs_user = registers::MASK;
    attributes.sample_stack_user = USER_STACK_BYTES;
    attributes
}

/// Samples nothing. It can own a ring, and tell of processes that begin and end.
pub(super) fn dummy() -> perf_event_attr {
    let mut attributes = software(u64::from(sys::bindings::PERF_COUNT_SW_DUMMY));
    // There is nothing in the kernel that it would not be allowed to see.
    attributes.set_exclude_kernel(1);
    attributes
}

/// Counts the instructions of programs, as the CPU itself does.
pub(super) fn instructions() -> perf_event_attr {
    let mut attributes = of_type(
        sys::bindings::PERF_TYPE_HARDWARE,
        u64::from(sys::bindings::PERF_COUNT_HW_INSTRUCTIONS),
    );
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes
}

/// Tells of processes that begin, become another program, and end.
pub(super) fn processes() -> perf_event_attr {
    let mut attributes = dummy();
    attributes.set_task(1);
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
    attributes
}

fn software(config: u64) -> perf_event_attr {
    of_type(sys::bindings::PERF_TYPE_SOFTWARE, config)
}

fn of_type(type_: u32, config: u64) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_,
        size: mem::size_of::<perf_event_attr>() as u32,
        config,
        ..Default::default()
    };
    attributes.set_disabled(1);
    attributes
}

/// Has whoever waits for the ring of this event woken for every so many bytes that are written into it.
pub(super) fn waking_every(bytes: usize, mut attributes: perf_event_attr) -> perf_event_attr {
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = u32::try_from(bytes).unwrap_or(u32::MAX);
    attributes
}
