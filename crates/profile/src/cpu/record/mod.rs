//! Records that the kernel writes into a ring, as `perf_event_open(2)` says.

use ciphertax_observe::perf_event::bindings as sys;

use super::events;
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
            .filter(|address| *address < sys::PERF_CONTEXT_MAX)
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
        sys::PERF_RECORD_SAMPLE => Record::Sample(sample(&mut reader)?),
        sys::PERF_RECORD_LOST => {
            let _id = reader.u64()?;
            Record::Lost(reader.u64()?)
        }
        sys::PERF_RECORD_THROTTLE => Record::Throttled,
        sys::PERF_RECORD_FORK => {
            let child = reader.u32()?;
            Record::Began {
                parent: reader.u32()?,
                child,
            }
        }
        sys::PERF_RECORD_COMM if flags & sys::PERF_RECORD_MISC_COMM_EXEC != 0 => {
            Record::BecameProgram(reader.u32()?)
        }
        sys::PERF_RECORD_EXIT => {
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
        sys::PERF_SAMPLE_REGS_ABI_NONE => None,
        abi => {
            let mut values = [0; events::REGISTERS];
            for value in &mut values {
                *value = reader.u64()?;
            }
            (abi == sys::PERF_SAMPLE_REGS_ABI_64).then(|| events::registers_of_sample(values))
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
        has_user_part: abi != u64::from(sys::PERF_SAMPLE_REGS_ABI_NONE),
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

#[cfg(test)]
pub(super) mod tests;
