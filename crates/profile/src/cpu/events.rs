//! The events that are needed, as far as the kernel allows.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ciphertax_observe::perf_event::bindings::perf_event_attr;
use ciphertax_observe::perf_event::{Event, Whom};
use ciphertax_observe::threads;
use ciphertax_records::why::Complete;

use super::event::{
    SMALLEST_RING, bytes_of_ring, cpu_clock, cpus_of_thread, dummy, online_cpus, processes, waking_every,
};
use super::permission;
use super::ring::Ring;
use super::watch::Watch;
use crate::{ProfileError, Result};

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

    pub(super) fn comprises(&self) -> Complete {
        if !self.with_kernel {
            Complete::UserOnly
        } else if permission::sees_kernel_names() {
            Complete::Whole
        } else {
            Complete::KernelUnnamed
        }
    }

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
        if watch.with_children {
            inherited.set_task(1);
            inherited.set_comm(1);
            inherited.set_comm_exec(1);
        }
        let server: Vec<u32> = watch.server().flat_map(threads).flatten().collect();
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
