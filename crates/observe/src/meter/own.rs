//! This process.

use std::mem::MaybeUninit;
use std::process;
use std::time::Duration;

use ciphertax_records::CpuTime;

use super::io::Io;
use super::{Meter, Part, Usage};
use crate::clock;
use crate::error::Result;
use crate::run_queue::RunQueueWaits;
use crate::thread_cpu::faults_in;
use crate::thread_status::own_peak_memory_bytes;

/// All threads of this process, those that have ended too, whatever they do. An embedded database runs in them, so they pay
/// for it; but they make the load as well, and nothing is subtracted: the figure is *client and database together*. It
/// must not be added to the client's own, nor be called the server's.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnThreads;

impl Meter for OwnThreads {
    fn read(&self) -> Result<Usage> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: writes to `usage`, for which all zeros is valid too. It fails for wrong arguments alone.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
            usage.assume_init()
        };
        Ok(Usage::of(Part {
            cpu: CpuTime {
                total_ns: clock::own(libc::CLOCK_PROCESS_CPUTIME_ID),
                system_ns: clock::microseconds(usage.ru_stime) * 1_000,
            },
            context_switches: Some(usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs()),
            faults: Some(faults_in(&usage)),
            peak_memory_bytes: own_peak_memory_bytes(),
            waits: RunQueueWaits::of(process::id()),
            ended_ns: 0,
            io: Io::of(process::id()),
            hardware: None,
        }))
    }

    /// Waits for the other threads: the one that waits is never quiet.
    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        // The clocks cannot be read at one instant, so a microsecond or ten is no work.
        const READING_NS: u64 = 20_000;
        let others = || {
            let thread = clock::own(libc::CLOCK_THREAD_CPUTIME_ID);
            clock::own(libc::CLOCK_PROCESS_CPUTIME_ID).saturating_sub(thread) / READING_NS
        };
        clock::settle(quiet_for, at_most, || Ok(others()))
    }
}
