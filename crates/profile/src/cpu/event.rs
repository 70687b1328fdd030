//! What is asked of the kernel's performance counters.

use ciphertax_observe::perf_event::attributes;
use ciphertax_observe::perf_event::bindings::{self, perf_event_attr};

use super::registers;

/// Bytes of the user stack that come with a sample. The deepest stacks of database servers take about half of it; with twice as
/// much a sample would not fit into a record, whose size is a 16-bit number.
pub(super) const USER_STACK_BYTES: u32 = 32 << 10;

/// The longest record of a sample: the stack, and less than 2 KiB of registers and kernel functions.
pub(super) const RECORD_BYTES: usize = USER_STACK_BYTES as usize + (2 << 10);

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Samples of what runs, so many a second of CPU time: the functions of the kernel, the registers of the program, and its stack.
pub(super) fn cpu_clock(hz: u32, with_kernel: bool) -> perf_event_attr {
    let mut attributes = software(bindings::PERF_COUNT_SW_CPU_CLOCK);
    // A period, since a frequency is refused where the kernel allows few samples a second.
    attributes.__bindgen_anon_1.sample_period = NANOSECONDS_PER_SECOND / u64::from(hz.max(1));
    attributes.sample_type = u64::from(
        bindings::PERF_SAMPLE_TID
            | bindings::PERF_SAMPLE_CALLCHAIN
            | bindings::PERF_SAMPLE_REGS_USER
            | bindings::PERF_SAMPLE_STACK_USER,
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
    let mut attributes = software(bindings::PERF_COUNT_SW_DUMMY);
    // There is nothing in the kernel that it would not be allowed to see.
    attributes.set_exclude_kernel(1);
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

fn software(config: u32) -> perf_event_attr {
    let mut attributes = attributes(bindings::PERF_TYPE_SOFTWARE, config);
    attributes.set_disabled(1);
    attributes
}

/// Has whoever waits for the ring of this event woken for every so many bytes that are written into it.
pub(super) fn waking_every(bytes: usize, mut attributes: perf_event_attr) -> perf_event_attr {
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = u32::try_from(bytes).unwrap_or(u32::MAX);
    attributes
}
