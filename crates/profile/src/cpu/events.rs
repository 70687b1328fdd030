//! Events of the kernel: which are needed, as far as it allows; what is asked of them, on which CPUs, with which registers.

use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use ciphertax_observe::perf_event::bindings::{self, perf_event_attr};
use ciphertax_observe::perf_event::{Event, Whom, attributes};
use ciphertax_records::why::Complete;
use rustix::process::Pid;

use super::permission;
use super::ring::Ring;
use super::watch::{Watch, threads};
use crate::stacks::Registers;
use crate::{ProfileError, Result};

/// Whom the events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Whatever runs on a CPU: one event each, which costs what is watched a few percent.
    Cpus,
    /// One thread on one CPU each, which is all that an ordinary user may. It costs far more, since a timer is set whenever a
    /// thread is switched to.
    Threads,
}

/// The events of all CPUs, which are enabled for a slice.
#[derive(Debug)]
pub(super) struct Events {
    scope: Scope,
    hz: u32,
    with_kernel: bool,
    cpus: Vec<OnCpu>,
    /// Those that tell of processes that begin and end, where one counts CPUs; opened when they are first needed.
    processes: Vec<Event>,
    /// Those of threads, where one counts these; open during a slice alone.
    threads: Vec<Event>,
}

#[derive(Debug)]
struct OnCpu {
    number: u32,
    /// The event whose ring it is.
    owner: Arc<Event>,
    is_enabled: bool,
}

impl Events {
    /// Opens what the kernel allows, and the rings to write into.
    ///
    /// # Errors
    /// If it allows nothing, or no ring.
    pub(super) fn open(hz: u32, slice: Duration) -> Result<(Self, Vec<Ring>)> {
        let numbers = online_cpus();
        let size = bytes_of_ring(numbers.len(), hz, slice);
        let open = |scope, with_kernel, attributes, whom| {
            let (cpus, rings) = open_with_rings(&numbers, attributes, whom, size)?;
            let events = Self {
                scope,
                hz,
                with_kernel,
                cpus,
                processes: Vec::new(),
                threads: Vec::new(),
            };
            Ok((events, rings))
        };
        let clock = cpu_clock(hz, true);
        match probe(&numbers, clock, Whom::Everybody) {
            Ok(()) => return open(Scope::Cpus, true, clock, Whom::Everybody),
            Err(error) if permission::is_refusal(&error) => {}
            Err(error) => return Err(permission::refused(error)),
        }
        // The thread that owns them must live as long as they do.
        let own = Whom::Thread(std::process::id());
        let with_kernel = probe(&numbers, clock, own).is_ok();
        if !with_kernel {
            probe(&numbers, cpu_clock(hz, false), own).map_err(permission::refused)?;
        }
        open(Scope::Threads, with_kernel, dummy(), own)
    }

    /// What samples comprise.
    pub(super) fn comprises(&self) -> Complete {
        if !self.with_kernel {
            Complete::UserOnly
        } else if permission::sees_kernel_names() {
            Complete::Whole
        } else {
            Complete::KernelUnnamed
        }
    }

    /// Begins to tell of processes that begin and end.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn follow_processes(&mut self) -> Result<()> {
        if self.scope == Scope::Threads {
            return Ok(());
        }
        if self.processes.is_empty() {
            let open = |cpu: &OnCpu| {
                let event = Event::open(processes(), Whom::Everybody, cpu.number)?;
                event.write_into(&cpu.owner)?;
                Ok(event)
            };
            let opened: io::Result<_> = self.cpus.iter().map(open).collect();
            self.processes = opened.map_err(permission::refused)?;
        }
        for event in &self.processes {
            event.enable().map_err(permission::refused)?;
        }
        Ok(())
    }

    /// Begins to sample those that are watched. If the server may not be sampled, but load threads are, it returns why.
    ///
    /// # Errors
    /// If nobody may be sampled.
    pub(super) fn enable(&mut self, watch: &mut Watch) -> Result<Option<ProfileError>> {
        match self.scope {
            Scope::Cpus => {
                let needed = watch.cpus();
                for cpu in &mut self.cpus {
                    if needed.as_ref().is_none_or(|needed| needed.contains(&cpu.number)) {
                        cpu.owner.enable().map_err(permission::refused)?;
                        cpu.is_enabled = true;
                    }
                }
                Ok(None)
            }
            Scope::Threads => {
                let passed_over = self.open_threads(watch)?;
                for event in &self.threads {
                    event.enable().map_err(permission::refused)?;
                }
                Ok(passed_over)
            }
        }
    }

    /// Ends the sampling.
    pub(super) fn disable(&mut self) {
        // Whatever could not be disabled is of a CPU that is gone.
        for cpu in self.cpus.iter_mut().filter(|cpu| cpu.is_enabled) {
            let _ = cpu.owner.disable();
            cpu.is_enabled = false;
        }
        for event in self.threads.iter().chain(&self.processes) {
            let _ = event.disable();
        }
    }

    /// Closes what is of one slice alone.
    pub(super) fn close_threads(&mut self) {
        self.threads.clear();
    }

    fn open_threads(&mut self, watch: &mut Watch) -> Result<Option<ProfileError>> {
        let clock = cpu_clock(self.hz, self.with_kernel);
        let mut inherited = clock;
        // Threads and processes that these begin are counted with them.
        inherited.set_inherit(1);
        if watch.is_growing() {
            inherited.set_task(1);
            inherited.set_comm(1);
            inherited.set_comm_exec(1);
        }
        let server: Vec<u32> = watch.server().flat_map(threads).collect();
        let client: Vec<u32> = watch.client().collect();
        let passed_over = match self.open_each(&server, inherited) {
            Err(error) if permission::is_refusal(&error) && !client.is_empty() => {
                self.threads.clear();
                watch.without_server();
                Some(permission::refused_process(error))
            }
            outcome => outcome.map(|()| None).map_err(permission::refused_process)?,
        };
        self.open_each(&client, clock)
            .map_err(permission::refused_process)?;
        Ok(passed_over)
    }

    fn open_each(&mut self, threads: &[u32], attributes: perf_event_attr) -> io::Result<()> {
        for thread in threads {
            let allowed = cpus_of_thread(*thread).unwrap_or_default();
            for cpu in self.cpus.iter().filter(|cpu| allowed.contains(&cpu.number)) {
                match Event::open(attributes, Whom::Thread(*thread), cpu.number) {
                    Ok(event) => {
                        event.write_into(&cpu.owner)?;
                        self.threads.push(event);
                    }
                    Err(error) if permission::is_gone(&error) => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

/// Whether such an event may be opened.
fn probe(cpus: &[u32], attributes: perf_event_attr, whom: Whom) -> io::Result<()> {
    let mut last = io::Error::from_raw_os_error(libc::ENODEV);
    for cpu in cpus {
        match Event::open(attributes, whom, *cpu) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
        if !permission::is_gone(&last) {
            break;
        }
    }
    Err(last)
}

/// Opens an event on each CPU with a ring of its own of this size, or half of it, a quarter, … as the user may have.
fn open_with_rings(
    numbers: &[u32],
    attributes: perf_event_attr,
    whom: Whom,
    mut size: usize,
) -> Result<(Vec<OnCpu>, Vec<Ring>)> {
    loop {
        let cpus =
            open_owners(numbers, waking_every(size / 4, attributes), whom).map_err(permission::refused)?;
        let rings: io::Result<Vec<Ring>> = cpus
            .iter()
            .map(|cpu| Ring::map(Arc::clone(&cpu.owner), size))
            .collect();
        match rings {
            Ok(rings) => return Ok((cpus, rings)),
            Err(error) if size <= SMALLEST_RING => return Err(permission::refused_memory(error)),
            Err(_) => size /= 2,
        }
    }
}

fn open_owners(numbers: &[u32], attributes: perf_event_attr, whom: Whom) -> io::Result<Vec<OnCpu>> {
    let mut cpus = Vec::new();
    for number in numbers {
        match Event::open(attributes, whom, *number) {
            Ok(event) => cpus.push(OnCpu {
                number: *number,
                owner: Arc::new(event),
                is_enabled: false,
            }),
            // It was switched off meanwhile.
            Err(error) if permission::is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(cpus)
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
        assert_eq!(bytes_of_ring(10_000, 997, half), SMALLEST_RING);
        assert_eq!(bytes_of_ring(1, u32::MAX, Duration::MAX), 32 * MIB);
        assert_eq!(bytes_of_ring(1, 1, Duration::ZERO), SMALLEST_RING);
    }
}
