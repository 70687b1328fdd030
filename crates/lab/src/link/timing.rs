//! Being on time.

use std::time::Duration;

use rustix::thread::Timespec;

/// Lets sleeps of this thread, and of those it starts, end within a microsecond of their time, not within the usual 50.
pub(super) fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000_u64) };
}

/// Lets this thread run before ordinary ones, as a line does not wait for the computers at its ends. Without the
/// rights for that, or where the control group has no real-time share, packets are later on a busy machine, which the
/// link's report says.
pub(super) fn run_first() {
    let lowest_real_time = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads one `sched_param`, which outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest_real_time) };
}

/// For `poll`.
pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
