//! Events of the kernel: what is asked of them, on which CPUs, with which registers.

use std::fs;
use std::time::Duration;

use ciphertax_observe::perf_event::attributes;
use ciphertax_observe::perf_event::bindings::{self, perf_event_attr};
use rustix::process::Pid;

use crate::stacks::Registers;

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
    attributes.sample_regs_user = MASK;
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

/// The CPUs on which a thread may run; `None` if it has ended.
pub(super) fn cpus_of_thread(tid: u32) -> Option<Vec<u32>> {
    let tid = Pid::from_raw(i32::try_from(tid).ok()?)?;
    let set = rustix::thread::sched_getaffinity(Some(tid)).ok()?;
    let is_in = |cpu: &u32| set.is_set(*cpu as usize);
    Some(
        (0..rustix::thread::CpuSet::MAX_CPU as u32)
            .filter(is_in)
            .collect(),
    )
}

/// The CPUs that are switched on; the first one where that is not said.
pub(super) fn online_cpus() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = cpu_list(text.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The numbers of a list such as `0-3,8,10-11`; none of what is not one.
fn cpu_list(text: &str) -> Vec<u32> {
    /// More than any kernel can be built for.
    const MOST: usize = 1 << 16;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().take(MOST).collect()
}

/// Those that come with a sample, as bits by the kernel's numbers: ax bx cx dx si di bp sp ip (0–8) and r8–r15 (16–23).
pub(super) const MASK: u64 = 0x1ff | 0xff << 16;

/// How many these are.
pub(super) const REGISTERS: usize = MASK.count_ones() as usize;

/// DWARF's number of each, in the order in which they stand in a sample.
const DWARF: [usize; REGISTERS] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15];

/// The registers of a sample, in DWARF's order.
pub(super) fn registers_of_sample(values: [u64; REGISTERS]) -> Registers {
    let mut registers = Registers {
        are_complete: true,
        ..Registers::default()
    };
    for (value, number) in values.into_iter().zip(DWARF) {
        registers.values[number] = value;
    }
    registers
}

/// The largest ring of a CPU: half of it holds half a second at 997 samples a second.
const MOST_PER_CPU: usize = 32 << 20;
/// All rings together, on however many CPUs.
const MOST: usize = 128 << 20;
/// The smallest ring, which holds seven samples.
pub(super) const LEAST: usize = 256 << 10;

/// Bytes of the ring of each of so many CPUs: enough that a slice fills no more than half of it, at which it would have to be read
/// while the slice runs, or as much as may be.
pub(super) fn bytes_of_ring(cpus: usize, hz: u32, slice: Duration) -> usize {
    let samples = (slice.as_secs_f64() * f64::from(hz)).ceil();
    // Numbers that no memory has become the largest, which is bounded next.
    let wanted = (2.0 * samples * RECORD_BYTES as f64) as usize;
    let most = MOST_PER_CPU.min(MOST / cpus.max(1));
    let rounded_down = 1 << most.max(1).ilog2();
    wanted.min(MOST).next_power_of_two().min(rounded_down).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read_as_the_kernel_writes_them() {
        assert_eq!(cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("0"), [0]);
        assert_eq!(cpu_list(""), Vec::<u32>::new());
        assert_eq!(cpu_list("3-1,x,2-"), Vec::<u32>::new());
        assert_eq!(cpu_list("0-4294967295").len(), 1 << 16);
        assert!(!online_cpus().is_empty());
    }

    #[test]
    fn this_thread_may_run_on_a_cpu_that_is_switched_on_and_one_that_never_was_nowhere() {
        let own = rustix::thread::gettid().as_raw_pid().cast_unsigned();
        let (allowed, online) = (cpus_of_thread(own).unwrap(), online_cpus());
        assert!(allowed.iter().any(|cpu| online.contains(cpu)), "{allowed:?}");
        assert_eq!(cpus_of_thread(i32::MAX as u32), None);
    }

    #[test]
    fn each_register_has_the_place_that_dwarf_gives_it() {
        // By the kernel's order: ax bx cx dx si di bp sp ip r8 … r15.
        let registers = registers_of_sample(std::array::from_fn(|index| index as u64));
        assert_eq!(
            registers.values,
            [0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8]
        );
        assert!(registers.are_complete);
    }

    const MIB: usize = 1 << 20;

    #[test]
    fn a_ring_holds_a_slice_as_long_as_all_of_them_are_bounded() {
        let half = Duration::from_millis(500);
        assert_eq!(bytes_of_ring(2, 997, half), 32 * MIB);
        assert_eq!(bytes_of_ring(2, 997, Duration::from_millis(100)), 8 * MIB);
        assert_eq!(bytes_of_ring(2, 997, Duration::from_secs(10)), 32 * MIB);
        assert_eq!(bytes_of_ring(64, 997, half), 2 * MIB);
        assert_eq!(bytes_of_ring(48, 997, half), 2 * MIB);
        assert_eq!(bytes_of_ring(10_000, 997, half), LEAST);
        assert_eq!(bytes_of_ring(1, u32::MAX, Duration::MAX), 32 * MIB);
        assert_eq!(bytes_of_ring(1, 1, Duration::ZERO), LEAST);
    }
}
