//! The kernel's CPU clocks.

use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// What a CPU clock of the calling thread or process shows, in nanoseconds.
pub(crate) fn own(clock: libc::clockid_t) -> u64 {
    // These clocks exist in every Linux.
    read(clock).unwrap_or(0)
}

/// What a CPU clock shows, in nanoseconds; `None` once its process is gone.
pub(crate) fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to `time`, which outlives the call.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    // CPU clocks are never negative.
    (outcome == 0).then(|| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// The CPU clock of a process, which may belong to any user; `None` if there is no such process.
pub(crate) fn of_process(pid: u32) -> Option<libc::clockid_t> {
    let number = libc::pid_t::try_from(pid).ok()?;
    let mut clock = 0;
    // SAFETY: writes one clock number to `clock`, which outlives the call.
    (unsafe { libc::clock_getcpuclockid(number, &raw mut clock) } == 0).then_some(clock)
}

/// A time of the kernel's in microseconds; CPU times are never negative.
pub(crate) fn microseconds(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs()
}

/// Waits until `clock` has given the same twice, `quiet_for` apart, but no longer than `at_most`.
pub(crate) fn settle<T: PartialEq>(
    quiet_for: Duration,
    at_most: Duration,
    mut clock: impl FnMut() -> Result<T>,
) -> Result<bool> {
    let deadline = Instant::now() + at_most;
    let mut before = clock()?;
    loop {
        thread::sleep(quiet_for);
        let now = clock()?;
        if now == before {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        before = now;
    }
}
