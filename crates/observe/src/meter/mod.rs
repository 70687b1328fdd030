//! Whoever pays for a load: what it has used, whichever kind of process it is.
//!
//! | kind | whom it reads |
//! |---|---|
//! | [`ProcessMeter`] | one process with all its threads |
//! | [`ProcessTree`] | a process and all that it starts, members that have ended too |
//! | [`OwnThreads`] | this process: an embedded database runs in it |
//! | [`Unmetered`] | nobody, for a reason |
//! | `Vec` of meters | all of them together |

mod process;
mod tree;

use std::fs::{self, File};
use std::ops::AddAssign;
use std::time::Duration;

use ciphertax_base::{CpuTime, HardwareCounts, PageFaults};
use procfs::FromRead;
use serde::{Deserialize, Serialize};

use crate::cpu_time::{self, faults_in_usage};
use crate::perf_event::HardwareReading;
use crate::thread_status::{RunQueueWaits, own_peak_memory_bytes};
use crate::{Error, Result};

pub use process::ProcessMeter;
pub use tree::ProcessTree;

/// Reads what somebody has used.
pub trait Meter {
    /// What it has used so far. Only the [difference](Usage::since) of two readings means something.
    ///
    /// # Errors
    /// If it has ended or cannot be read, with the reason.
    fn read(&self) -> Result<Usage>;

    /// Waits until its CPU clocks have stood still for `quiet_for`, but no longer than `at_most`. Says whether they did:
    /// what a server does after its last answer belongs to the slice before.
    ///
    /// # Errors
    /// If it has ended or cannot be read.
    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool>;

    /// Waits as [`Meter::settle`] does, and reads then, whether or not the clocks stood still: in one word, for a meter that
    /// is far away.
    ///
    /// # Errors
    /// As those of [`Meter::read`].
    fn read_when_quiet(&self, quiet_for: Duration, at_most: Duration) -> Result<Usage> {
        // What cannot be waited for cannot be read either, which is told by the reading.
        let _ = self.settle(quiet_for, at_most);
        self.read()
    }
}

/// A reading of a meter. It may have been taken by another process, which sent it here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Usage {
    /// One for each that is read together; `None` for one that is gone.
    parts: Vec<Option<Part>>,
}

/// What one process, or one tree of processes, has used.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Part {
    cpu: CpuTime,
    /// Of those that live.
    context_switches: Option<u64>,
    /// Of those that live, and of the children that they waited for.
    faults: Option<PageFaults>,
    /// Of those that live.
    peak_memory_bytes: Option<u64>,
    waits: Option<RunQueueWaits>,
    /// CPU time of processes that have ended, which took their switches with them.
    ended_ns: u64,
    io: Option<Io>,
    hardware: Option<HardwareReading>,
}

/// What was used between two readings; `None` for what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// CPU time.
    pub cpu: Option<CpuTime>,
    /// Context switches, voluntary and involuntary; unknown where processes ended meanwhile.
    pub context_switches: Option<u64>,
    /// How long threads could have run but waited for a CPU, all together, in nanoseconds; unknown where threads that did
    /// more than a tenth of the work ended meanwhile, or the kernel does not say.
    pub run_queue_wait_ns: Option<u64>,
    /// Bytes that were fetched from storage: not those that were in the kernel's page cache.
    pub bytes_read: Option<u64>,
    /// Bytes that were given to storage: to the disk itself, or to the kernel's page cache, which writes a page once however
    /// often it was written in between. A file system in user space has them all in its daemon's account.
    pub bytes_written: Option<u64>,
    /// Page faults; unknown where processes ended that nobody of theirs waited for.
    pub faults: Option<PageFaults>,
    /// The most memory that they have had since they began, in bytes, as of the later reading; of several processes the sum, in
    /// which what they share with each other and with files counts once.
    pub peak_memory_bytes: Option<u64>,
    /// What the CPU itself counted.
    pub hardware: Option<HardwareCounts>,
}

impl Usage {
    fn of(part: Part) -> Self {
        Self {
            parts: vec![Some(part)],
        }
    }

    /// A reading of which nothing is known but CPU time.
    pub fn of_cpu(cpu: CpuTime) -> Self {
        Self::of(Part::of_cpu(cpu))
    }

    /// The same of one alone, with what its hardware counters show.
    #[must_use]
    pub fn with_hardware(mut self, reading: Option<HardwareReading>) -> Self {
        for part in self.parts.iter_mut().flatten() {
            part.hardware = reading;
        }
        self
    }

    /// What was used since an earlier reading of the same meter. One that was gone at both, as a member of a replica set
    /// may be for long, used nothing; where one was lost or came meanwhile, nobody knows.
    pub fn since(&self, earlier: &Self) -> Used {
        let (before, after) = (&earlier.parts, &self.parts);
        Used {
            cpu: risen(before, after, cpu_between),
            context_switches: risen(before, after, switches_between),
            run_queue_wait_ns: risen(before, after, waits_between),
            bytes_read: risen(before, after, |one, other| {
                other.io?.read.checked_sub(one.io?.read)
            }),
            bytes_written: risen(before, after, |one, other| {
                other.io?.written.checked_sub(one.io?.written)
            }),
            faults: risen(before, after, |one, other| other.faults?.since(&one.faults?)),
            peak_memory_bytes: risen(before, after, |_, other| other.peak_memory_bytes),
            hardware: risen(before, after, |one, other| other.hardware?.since(&one.hardware?)),
        }
    }

    /// The CPU time that each used which is read together, in nanoseconds and in their order; `None` for one that was lost or came
    /// meanwhile. Empty for one alone.
    pub fn cpu_of_each_since(&self, earlier: &Self) -> Vec<Option<u64>> {
        if self.parts.len() < 2 {
            return Vec::new();
        }
        let pairs = earlier.parts.iter().zip(&self.parts);
        let used = |(before, after): (&Option<Part>, &Option<Part>)| {
            let cpu = cpu_between(before.as_ref()?, after.as_ref()?)?;
            Some(cpu.total_ns)
        };
        pairs.map(used).collect()
    }
}

impl Part {
    /// One of which nothing is known but CPU time.
    fn of_cpu(cpu: CpuTime) -> Self {
        Self {
            cpu,
            ..Self::default()
        }
    }
}

fn cpu_between(earlier: &Part, later: &Part) -> Option<CpuTime> {
    Some(CpuTime {
        total_ns: later.cpu.total_ns.checked_sub(earlier.cpu.total_ns)?,
        system_ns: later.cpu.system_ns.saturating_sub(earlier.cpu.system_ns),
    })
}

fn switches_between(earlier: &Part, later: &Part) -> Option<u64> {
    let have_ended = later.ended_ns != earlier.ended_ns;
    let (earlier, later) = (earlier.context_switches?, later.context_switches?);
    (!have_ended).then(|| later.saturating_sub(earlier))
}

fn waits_between(earlier: &Part, later: &Part) -> Option<u64> {
    let cpu = cpu_between(earlier, later)?;
    later.waits.as_ref()?.since(earlier.waits.as_ref()?, cpu.total_ns)
}

/// What all parts rose by together; `None` where there are none, or one was lost meanwhile.
fn risen<C: AddAssign + Default>(
    before: &[Option<Part>],
    after: &[Option<Part>],
    change: impl Fn(&Part, &Part) -> Option<C>,
) -> Option<C> {
    let mut sum = None;
    for pair in before.iter().zip(after) {
        match pair {
            (None, None) => {}
            (Some(before), Some(after)) => *sum.get_or_insert_with(C::default) += change(before, after)?,
            _ => return None,
        }
    }
    sum
}

/// Several that are paid for together, as the members of a replica set. It can always be read; of those that are gone, it
/// says so in the reading.
impl<M: Meter> Meter for Vec<M> {
    fn read(&self) -> Result<Usage> {
        let each = self.iter().map(|meter| match meter.read() {
            Ok(usage) => usage.parts,
            Err(_) => vec![None],
        });
        Ok(Usage {
            parts: each.flatten().collect(),
        })
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        let mut have_settled = true;
        for meter in self {
            // One that is gone is quiet.
            have_settled &= meter.settle(quiet_for, at_most).unwrap_or(true);
        }
        Ok(have_settled)
    }
}

/// Somebody whose usage cannot be read.
#[derive(Debug, Clone)]
pub struct Unmetered {
    /// Why not, and what would change it.
    pub reason: String,
}

impl Meter for Unmetered {
    fn read(&self) -> Result<Usage> {
        Err(Error::Unmetered(self.reason.clone()))
    }

    fn settle(&self, _quiet_for: Duration, _at_most: Duration) -> Result<bool> {
        Err(Error::Unmetered(self.reason.clone()))
    }
}

/// All threads of this process, those that have ended too, whatever they do. An embedded database runs in them, so they pay
/// for it; but they make the load as well, and nothing is subtracted: the figure is *client and database together*. It
/// must not be added to the client's own, nor be called the server's.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnThreads;

impl Meter for OwnThreads {
    fn read(&self) -> Result<Usage> {
        let usage = cpu_time::own_usage(libc::RUSAGE_SELF);
        Ok(Usage::of(Part {
            context_switches: Some(usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs()),
            faults: Some(faults_in_usage(&usage)),
            peak_memory_bytes: own_peak_memory_bytes(),
            waits: RunQueueWaits::of(std::process::id()),
            io: Io::of(std::process::id()),
            ..Part::of_cpu(CpuTime {
                total_ns: cpu_time::own_clock(libc::CLOCK_PROCESS_CPUTIME_ID),
                system_ns: cpu_time::microseconds(usage.ru_stime) * 1_000,
            })
        }))
    }

    /// Waits for the other threads: the one that waits is never quiet.
    fn settle(&self, quiet_for: Duration, at_most: Duration) -> Result<bool> {
        // The clocks cannot be read at one instant, so a microsecond or ten is no work.
        const READING_NS: u64 = 20_000;
        let others = || {
            let thread = cpu_time::own_clock(libc::CLOCK_THREAD_CPUTIME_ID);
            cpu_time::own_clock(libc::CLOCK_PROCESS_CPUTIME_ID).saturating_sub(thread) / READING_NS
        };
        cpu_time::settle(quiet_for, at_most, || Ok(others()))
    }
}

/// Bytes exchanged with storage since a process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Io {
    /// Fetched from storage (`read_bytes` of `/proc/PID/io`).
    read: u64,
    /// Given to storage (`write_bytes`).
    written: u64,
}

impl Io {
    /// Those of one process, all its threads together, and of the children that it waited for; `None` where it cannot be read,
    /// as of another user's.
    fn of(pid: u32) -> Option<Self> {
        let file = File::open(format!("/proc/{pid}/io")).ok()?;
        let io = procfs::process::Io::from_read(file).ok()?;
        Some(Self {
            read: io.read_bytes,
            written: io.write_bytes,
        })
    }

    /// Those of several together; `None` where one cannot be read that has not ended.
    fn of_all(pids: impl Iterator<Item = u32>) -> Option<Self> {
        let mut sum = Self::default();
        for pid in pids {
            match Self::of(pid) {
                Some(io) => {
                    sum.read += io.read;
                    sum.written += io.written;
                }
                // Whoever waited for it has it.
                None if fs::metadata(format!("/proc/{pid}")).is_err() => {}
                None => return None,
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(total_ns: u64, context_switches: u64, ended_ns: u64) -> Option<Part> {
        Some(Part {
            cpu: CpuTime {
                total_ns,
                system_ns: total_ns / 10,
            },
            context_switches: Some(context_switches),
            faults: Some(PageFaults {
                minor: total_ns,
                major: ended_ns,
            }),
            peak_memory_bytes: Some(total_ns),
            waits: None,
            ended_ns,
            io: Some(Io {
                read: total_ns / 2,
                written: total_ns * 2,
            }),
            hardware: None,
        })
    }

    fn used(before: Vec<Option<Part>>, after: Vec<Option<Part>>) -> Used {
        Usage { parts: after }.since(&Usage { parts: before })
    }

    #[test]
    fn several_are_a_sum_in_which_one_that_was_lost_or_came_makes_it_unknown() {
        let both = used(
            vec![part(100, 1, 0), part(1_000, 10, 0)],
            vec![part(150, 3, 0), part(1_300, 17, 0)],
        );
        assert_eq!(both.cpu.unwrap().total_ns, 350);
        assert_eq!(both.cpu.unwrap().system_ns, 35);
        assert_eq!(both.context_switches, Some(9));
        assert_eq!((both.bytes_read, both.bytes_written), (Some(175), Some(700)));
        assert_eq!(both.faults, Some(PageFaults { minor: 350, major: 0 }));
        assert_eq!(both.peak_memory_bytes, Some(1_450));
        // The kernel did not say.
        assert_eq!(both.run_queue_wait_ns, None);

        let gone_for_long = used(vec![part(100, 1, 0), None], vec![part(150, 3, 0), None]);
        assert_eq!(gone_for_long.cpu.unwrap().total_ns, 50);
        let lost = used(
            vec![part(100, 1, 0), part(1_000, 10, 0)],
            vec![part(150, 3, 0), None],
        );
        assert_eq!(lost, Used::default());
        let came = used(
            vec![None, part(1_000, 10, 0)],
            vec![part(9, 9, 0), part(1_000, 10, 0)],
        );
        assert_eq!(came, Used::default());
        assert_eq!(used(vec![None], vec![None]), Used::default());
        assert_eq!(used(vec![], vec![]), Used::default());
    }

    #[test]
    fn what_the_cpu_counted_of_several_is_a_sum_if_it_counted_all_of_them() {
        let reading = |instructions: u64, cycles: u64| -> HardwareReading {
            let count = |value| serde_json::json!({"value": value, "enabled_ns": value, "running_ns": value});
            serde_json::from_value(serde_json::json!([count(instructions), count(cycles)])).unwrap()
        };
        let counted = |one: Option<[u64; 2]>, other: Option<[u64; 2]>| {
            let usage = |counts: Option<[u64; 2]>| {
                let parts = vec![part(100, 1, 0)];
                let read = counts.map(|[instructions, cycles]| reading(instructions, cycles));
                Usage { parts }.with_hardware(read).parts
            };
            Usage {
                parts: [usage(one), usage(other)].concat(),
            }
        };
        let before = counted(Some([1_000, 2_000]), Some([10, 20]));
        let after = counted(Some([1_700, 2_900]), Some([15, 26]));
        let expected = HardwareCounts {
            instructions: 705,
            cycles: 906,
        };
        assert_eq!(after.since(&before).hardware, Some(expected));
        let of_one = counted(Some([1_700, 2_900]), None);
        assert_eq!(of_one.since(&before).hardware, None);
    }

    #[test]
    fn a_clock_that_falls_is_of_another_and_tells_nothing() {
        let used = used(vec![part(100, 1, 0)], vec![part(99, 2, 0)]);
        assert_eq!((used.cpu, used.faults), (None, None));
    }

    #[test]
    fn switches_of_processes_that_ended_are_not_known() {
        let used = used(vec![part(100, 5, 0)], vec![part(180, 4, 50)]);
        assert_eq!(used.cpu.unwrap().total_ns, 80);
        assert_eq!(used.context_switches, None);
    }

    #[test]
    fn who_cannot_be_read_says_why() {
        let meter = Unmetered {
            reason: "it runs on another machine".into(),
        };
        let expected = "it runs on another machine";
        assert_eq!(meter.read().unwrap_err().to_string(), expected);
        assert!(meter.settle(Duration::ZERO, Duration::ZERO).is_err());
        let several = vec![meter];
        let used = several.read().unwrap().since(&several.read().unwrap());
        assert_eq!(used, Used::default());
    }
}
