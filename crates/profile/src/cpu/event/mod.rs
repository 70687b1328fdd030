//! Events of the kernel: what is asked of them, on which CPUs, with which registers; and the records that it writes into a ring, as
//! `perf_event_open(2)` says.

#[cfg(test)]
pub(super) mod tests;

use std::fs;
use std::time::Duration;

use ciphertax_observe::perf_event::attributes;
use ciphertax_observe::perf_event::bindings::{self, perf_event_attr};
use ciphertax_observe::placement::cpus_in;
use rustix::process::Pid;

use crate::stacks::Registers;

/// Bytes of the header that every record begins with: kind (4), flags (2), length (2).
pub(super) const HEADER_BYTES: usize = 8;

/// What a record says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// Something ran.
    Sample(Sample<'a>),
    /// So many records did not fit into the ring.
    Lost(u64),
    /// The kernel took no samples for a while, since there were too many.
    Throttled,
    /// A process began another, or a thread of its own, in which case both are the same.
    Began {
        /// The process that did.
        parent: u32,
        /// The one that it began.
        child: u32,
    },
    /// A process became another program.
    BecameProgram(u32),
    /// The first thread of a process has ended.
    Ended(u32),
    /// Something else.
    Other,
}

/// Something ran.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    /// Its process.
    pub(super) pid: u32,
    /// Its thread.
    pub(super) tid: u32,
    kernel: &'a [u8],
    /// Its registers in user mode; absent for a thread that has no such part any more, and for one of 32 bits.
    pub(super) registers: Option<Registers>,
    /// True if it has a part in user mode.
    pub(super) has_user_part: bool,
    /// Its stack from the stack pointer upwards.
    pub(super) stack: &'a [u8],
}

impl Sample<'_> {
    /// The addresses of the kernel's functions, innermost first; none if it ran in user mode.
    pub(super) fn kernel(&self) -> impl Iterator<Item = u64> {
        let words = self.kernel.as_chunks().0.iter();
        // Numbers that are no addresses say what follows.
        words
            .map(|word| u64::from_ne_bytes(*word))
            .filter(|address| *address < bindings::PERF_CONTEXT_MAX)
    }
}

/// Length of the record that begins with this header, the header included.
pub(super) fn length(header: [u8; HEADER_BYTES]) -> usize {
    usize::from(u16::from_ne_bytes([header[6], header[7]]))
}

/// Reads a record; `None` if it is not as the kernel describes it.
pub(super) fn parse(record: &[u8]) -> Option<Record<'_>> {
    let mut reader = Reader(record);
    let kind = reader.u32()?;
    let flags = u32::from(reader.u16()?);
    reader.u16()?;
    Some(match kind {
        bindings::PERF_RECORD_SAMPLE => Record::Sample(sample(&mut reader)?),
        bindings::PERF_RECORD_LOST => {
            let _id = reader.u64()?;
            Record::Lost(reader.u64()?)
        }
        bindings::PERF_RECORD_THROTTLE => Record::Throttled,
        bindings::PERF_RECORD_FORK => {
            let child = reader.u32()?;
            Record::Began {
                parent: reader.u32()?,
                child,
            }
        }
        bindings::PERF_RECORD_COMM if flags & bindings::PERF_RECORD_MISC_COMM_EXEC != 0 => {
            Record::BecameProgram(reader.u32()?)
        }
        bindings::PERF_RECORD_EXIT => {
            let (pid, _parent, tid) = (reader.u32()?, reader.u32()?, reader.u32()?);
            if pid == tid {
                Record::Ended(pid)
            } else {
                Record::Other
            }
        }
        _ => Record::Other,
    })
}

fn sample<'a>(reader: &mut Reader<'a>) -> Option<Sample<'a>> {
    let (pid, tid) = (reader.u32()?, reader.u32()?);
    let functions = usize::try_from(reader.u64()?).ok()?;
    let kernel = reader.bytes(functions.checked_mul(size_of::<u64>())?)?;
    let abi = reader.u64()?;
    let registers = match u32::try_from(abi).ok()? {
        bindings::PERF_SAMPLE_REGS_ABI_NONE => None,
        abi => {
            let mut values = [0; REGISTERS];
            for value in &mut values {
                *value = reader.u64()?;
            }
            (abi == bindings::PERF_SAMPLE_REGS_ABI_64).then(|| registers_of_sample(values))
        }
    };
    let room = usize::try_from(reader.u64()?).ok()?;
    let stack = match room {
        0 => &[],
        room => {
            let stack = reader.bytes(room)?;
            let copied = usize::try_from(reader.u64()?).ok()?;
            stack.get(..copied)?
        }
    };
    Some(Sample {
        pid,
        tid,
        kernel,
        registers,
        has_user_part: abi != u64::from(bindings::PERF_SAMPLE_REGS_ABI_NONE),
        stack,
    })
}

/// What of a record is not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}

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
    attributes.sample_regs_user = SAMPLED_REGISTERS;
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
    Some(cpus_in(&set).into_iter().map(|cpu| cpu as u32).collect())
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
pub(super) const SAMPLED_REGISTERS: u64 = 0x1ff | 0xff << 16;

/// How many these are.
pub(super) const REGISTERS: usize = SAMPLED_REGISTERS.count_ones() as usize;

/// DWARF's number of each, in the order in which they stand in a sample.
const DWARF_NUMBERS: [usize; REGISTERS] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15];

/// The registers of a sample, in DWARF's order.
pub(super) fn registers_of_sample(values: [u64; REGISTERS]) -> Registers {
    let mut registers = Registers {
        are_complete: true,
        ..Registers::default()
    };
    for (value, number) in values.into_iter().zip(DWARF_NUMBERS) {
        registers.values[number] = value;
    }
    registers
}

/// The largest ring of a CPU: half of it holds half a second at 997 samples a second.
const LARGEST_RING: usize = 32 << 20;
/// All rings together, on however many CPUs.
const ALL_RINGS: usize = 128 << 20;
/// The smallest ring, which holds seven samples.
pub(super) const SMALLEST_RING: usize = 256 << 10;

/// Bytes of the ring of each of so many CPUs: enough that a slice fills no more than half of it, at which it would have to be read
/// while the slice runs, or as much as may be.
pub(super) fn bytes_of_ring(cpus: usize, hz: u32, slice: Duration) -> usize {
    let samples = (slice.as_secs_f64() * f64::from(hz)).ceil();
    // Numbers that no memory has become the largest, which is bounded next.
    let wanted = (2.0 * samples * RECORD_BYTES as f64) as usize;
    let most = LARGEST_RING.min(ALL_RINGS / cpus.max(1));
    let rounded_down = 1 << most.max(1).ilog2();
    wanted
        .min(ALL_RINGS)
        .next_power_of_two()
        .min(rounded_down)
        .max(SMALLEST_RING)
}
