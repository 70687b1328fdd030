//! One slice: quiet before, exact clocks around, and what makes it void.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::{Failure, KeptOperation, SATURATED, SliceYield};
use ciphertax_model::Tunnel;
use ciphertax_observe::{ProcessCpu, RunQueueWaits, SystemCpu, settle};
use ciphertax_records::{CpuTime, Sample, VoidReason};

use crate::counters::change;
use crate::database::UPTIME;
use crate::error::RunError;
use crate::generator::{Generator, Slice};
use crate::schedule::missed;
use crate::server::Server;
use crate::servers::Servers;

/// Stolen share of all CPU time from which on a slice says nothing about the server.
const MOST_STEAL: f64 = 0.10;
/// The server is quiet when its CPU clock has stood still for this long.
const QUIET: Duration = Duration::from_millis(1);
/// How long quiet is waited for; a server with work of its own never is.
const QUIET_AT_MOST: Duration = Duration::from_millis(50);
/// How long a server that hung up is given to end, before it counts as one that lives.
const DYING: Duration = Duration::from_millis(300);

/// Which slice.
pub(crate) struct Place<'a> {
    pub(crate) cell: &'a str,
    pub(crate) arm: &'a str,
    pub(crate) arm_index: usize,
    /// What carries the arm's connections.
    pub(crate) tunnel: Option<Tunnel>,
    pub(crate) block: u32,
    pub(crate) position: u32,
}

/// What a slice yielded.
pub(crate) struct Measured {
    pub(crate) sample: Sample,
    /// Every single operation, where they are kept.
    pub(crate) kept: Vec<KeptOperation>,
}

impl From<Sample> for Measured {
    fn from(sample: Sample) -> Self {
        Self {
            sample,
            kept: Vec::new(),
        }
    }
}

/// Measures slices at one site.
pub(crate) struct Meter<'a> {
    pub(crate) site: &'a mut dyn Servers,
    pub(crate) began: Instant,
    pub(crate) slice: Duration,
}

impl Meter<'_> {
    /// Measures one slice. What goes wrong with the server makes the slice void; an error is what keeps the run from
    /// going on.
    pub(crate) fn slice(
        &mut self,
        generator: &mut Generator,
        place: &Place<'_>,
    ) -> Result<Measured, RunError> {
        let since_start = self.began.elapsed();
        if let Err(failure) = generator.prepare(place.arm_index)? {
            return Ok(self.unmeasured(generator, place, since_start, &failure).into());
        }
        if matches!(generator, Generator::Command(_)) {
            self.site.remind(place.arm);
        }
        let Ok(before) = Reading::before(self.site.host_mut(place.arm), place) else {
            let gone = Failure::Disconnected("the server does not answer any more".into());
            return Ok(self.unmeasured(generator, place, since_start, &gone).into());
        };
        let mut slice = generator.slice(place.arm_index, self.slice)?;
        // A server that does not answer makes the slice void, which is noted there.
        let after = Reading::after(self.site.host_mut(place.arm), place).ok();
        if let (Generator::Command(command), Some(after)) = (&*generator, &after) {
            let change = after.counters_since(&before);
            command.judge(place.arm_index, &mut slice, &after.counters, &change);
            let is_around_tunnel = place.tunnel.is_some() && after.tunnel_cpu_since(&before).total_ns == 0;
            if slice.void.is_none() && is_around_tunnel {
                let detail =
                    "the program did not go through the tunnel, whose near end is what it is told".into();
                slice.void = Some(VoidReason::FactsDiffer { detail });
            }
        }
        Ok(Measured {
            sample: self.sample(generator, place, &slice, &before, after.as_ref()),
            kept: slice.yielded.kept,
        })
    }

    fn unmeasured(
        &self,
        generator: &Generator,
        place: &Place<'_>,
        since_start: Duration,
        failure: &Failure,
    ) -> Sample {
        Sample {
            start_ns: since_start.as_nanos() as u64,
            workers: generator.workers(),
            void: Some(self.void_by(place, failure, 1)),
            ..empty_sample(place)
        }
    }

    fn sample(
        &self,
        generator: &Generator,
        place: &Place<'_>,
        Slice { yielded, void }: &Slice,
        before: &Reading,
        after: Option<&Reading>,
    ) -> Sample {
        let mut sample = Sample {
            start_ns: (yielded.began - self.began).as_nanos() as u64,
            duration_ns: yielded.duration.as_nanos() as u64,
            operations: yielded.operations.clone(),
            client_cpu: yielded.client_cpu,
            bytes_sent: yielded.bytes_sent,
            bytes_received: yielded.bytes_received,
            client_context_switches: yielded.client_context_switches,
            client_run_queue_wait_ns: yielded.client_run_queue_wait_ns,
            workers: generator.workers(),
            logins: yielded.logins.clone(),
            handshakes: yielded.handshakes,
            queries: yielded.queries,
            restarts: yielded.restarts,
            stale_reads: yielded.stale_reads,
            phases: yielded.phases.clone(),
            open_loop: yielded.open_loop.clone(),
            client_bound: yielded.saturation > SATURATED,
            ..empty_sample(place)
        };
        let mut steal = 0.0;
        if let Some(after) = after {
            sample.server_cpu = after.cpu_since(before);
            sample.tunnel_cpu = place.tunnel.map(|_| after.tunnel_cpu_since(before));
            sample.server_context_switches = after.switches_since(before);
            sample.server_run_queue_wait_ns = after.run_queue_wait_since(before);
            sample.server_counters = after.counters_since(before);
            let system = after.clocks.system.since(&before.clocks.system);
            sample.steal_ns = system.steal_ns;
            steal = system.steal_ns as f64 / (system.total_ns as f64).max(1.0);
        }
        sample.void = self.void_reason(place, yielded, void.as_ref(), before, after, steal);
        sample
    }

    /// The gravest reason why a slice does not count.
    fn void_reason(
        &self,
        place: &Place<'_>,
        yielded: &SliceYield,
        known: Option<&VoidReason>,
        before: &Reading,
        after: Option<&Reading>,
        steal: f64,
    ) -> Option<VoidReason> {
        if let Some(failure @ Failure::FactsDiffer(_)) = &yielded.first_failure {
            return Some(self.void_by(place, failure, yielded.failures));
        }
        let Some(after) = after else {
            let detail = self
                .site
                .host(place.arm)
                .death()
                .unwrap_or_else(|| "it does not answer any more".into());
            return Some(VoidReason::ServerDied { detail });
        };
        if after.restarted_since(before) {
            return Some(VoidReason::ServerDied {
                detail: "it was restarted".into(),
            });
        }
        if known.is_some() {
            return known.cloned();
        }
        if let Some(failure) = &yielded.first_failure {
            return Some(self.void_by(place, failure, yielded.failures));
        }
        if yielded.interrupted {
            return Some(VoidReason::Interrupted);
        }
        if let Some(detail) = yielded.open_loop.as_ref().and_then(missed) {
            return Some(VoidReason::ScheduleMissed { detail });
        }
        if yielded.unfinished > 0 {
            let detail = format!("{} operations took more than ten seconds", yielded.unfinished);
            return Some(VoidReason::Stalled { detail });
        }
        if yielded.operations.iter().all(|kind| kind.count == 0) {
            return Some(VoidReason::Empty);
        }
        (steal > MOST_STEAL).then_some(VoidReason::Steal { fraction: steal })
    }

    /// Why the server is gone, if it is. A process that ends closes its sockets before it has ended.
    fn death_soon(&self, place: &Place<'_>) -> Option<String> {
        let deadline = Instant::now() + DYING;
        loop {
            let death = self.site.host(place.arm).death();
            if death.is_some() || Instant::now() >= deadline {
                return death;
            }
            thread::sleep(QUIET);
        }
    }

    fn void_by(&self, place: &Place<'_>, failure: &Failure, count: u64) -> VoidReason {
        match failure {
            Failure::FactsDiffer(detail) => VoidReason::FactsDiffer {
                detail: detail.clone(),
            },
            Failure::Disconnected(message) => match self.death_soon(place) {
                Some(detail) => VoidReason::ServerDied { detail },
                None => VoidReason::Errors {
                    count,
                    first: message.clone(),
                },
            },
            Failure::Error(message) => VoidReason::Errors {
                count,
                first: message.clone(),
            },
        }
    }
}

/// Clocks and counters at an edge of a slice. The clocks are read when the server is quiet, and on the slice's side of the
/// counters, so that asking for these is not billed to the slice.
struct Reading {
    counters: BTreeMap<String, i64>,
    clocks: Clocks,
}

struct Clocks {
    /// By process; `None` for one that is gone.
    cpu: Vec<Option<CpuTime>>,
    /// The same.
    switches: Vec<Option<u64>>,
    /// The same.
    waits: Vec<Option<Waits>>,
    system: SystemCpu,
    /// By process; empty without a tunnel.
    tunnel: BTreeMap<u32, CpuTime>,
}

/// What a process's threads waited, with the CPU time of all of it.
type Waits = (RunQueueWaits, CpuTime);

impl Reading {
    fn before(host: &mut dyn Server, place: &Place<'_>) -> Result<Self, RunError> {
        let counters = host.counters()?;
        Ok(Self {
            counters,
            clocks: Clocks::read(host, place.tunnel)?,
        })
    }

    fn after(host: &mut dyn Server, place: &Place<'_>) -> Result<Self, RunError> {
        let clocks = Clocks::read(host, place.tunnel)?;
        Ok(Self {
            counters: host.counters()?,
            clocks,
        })
    }

    fn cpu_since(&self, before: &Self) -> Option<CpuTime> {
        let change = |before: &CpuTime, after: &CpuTime| {
            Some(CpuTime {
                total_ns: after.total_ns.checked_sub(before.total_ns)?,
                system_ns: after.system_ns.saturating_sub(before.system_ns),
            })
        };
        let changes = risen(&before.clocks.cpu, &self.clocks.cpu, change)?;
        Some(CpuTime {
            total_ns: changes.iter().map(|cpu| cpu.total_ns).sum(),
            system_ns: changes.iter().map(|cpu| cpu.system_ns).sum(),
        })
    }

    /// All processes together; one that began meanwhile counts from its beginning.
    fn tunnel_cpu_since(&self, before: &Self) -> CpuTime {
        let mut sum = CpuTime::default();
        for (pid, after) in &self.clocks.tunnel {
            let before = before.clocks.tunnel.get(pid).copied().unwrap_or_default();
            sum.total_ns += after.total_ns.saturating_sub(before.total_ns);
            sum.system_ns += after.system_ns.saturating_sub(before.system_ns);
        }
        sum
    }

    fn switches_since(&self, before: &Self) -> Option<u64> {
        let change = |before: &u64, after: &u64| Some(after.saturating_sub(*before));
        Some(
            risen(&before.clocks.switches, &self.clocks.switches, change)?
                .iter()
                .sum(),
        )
    }

    fn run_queue_wait_since(&self, before: &Self) -> Option<u64> {
        let change = |(before, cpu_before): &Waits, (after, cpu_after): &Waits| {
            after.since(before, cpu_after.total_ns.checked_sub(cpu_before.total_ns)?)
        };
        Some(
            risen(&before.clocks.waits, &self.clocks.waits, change)?
                .iter()
                .sum(),
        )
    }

    fn counters_since(&self, before: &Self) -> BTreeMap<String, i64> {
        let mut change = change(&before.counters, &self.counters);
        change.remove(UPTIME);
        change
    }

    fn restarted_since(&self, before: &Self) -> bool {
        self.counters.get(UPTIME) < before.counters.get(UPTIME)
    }
}

impl Clocks {
    fn read(host: &dyn Server, tunnel: Option<Tunnel>) -> Result<Self, RunError> {
        for process in host.processes() {
            // A process that has ended has no clock; that is noticed by whoever asks the server something.
            let _ = settle(process, QUIET, QUIET_AT_MOST);
        }
        let each = |process: &ProcessCpu| {
            let cpu = process.read().ok();
            let waits = RunQueueWaits::of(process.pid());
            (cpu, (process.context_switches().ok(), waits.zip(cpu)))
        };
        let (cpu, (switches, waits)) = host.processes().iter().map(each).unzip();
        Ok(Self {
            cpu,
            switches,
            waits,
            system: SystemCpu::now()?,
            tunnel: tunnel.map(|tunnel| host.tunnel_cpu(tunnel)).unwrap_or_default(),
        })
    }
}

/// What the clocks of all processes rose by; `None` where there is none, or one was lost meanwhile.
fn risen<T, C>(
    before: &[Option<T>],
    after: &[Option<T>],
    change: impl Fn(&T, &T) -> Option<C>,
) -> Option<Vec<C>> {
    let mut changes = Vec::with_capacity(after.len());
    for pair in before.iter().zip(after) {
        match pair {
            // Gone for long, as a member of a replica set may be.
            (None, None) => {}
            (Some(before), Some(after)) => changes.push(change(before, after)?),
            _ => return None,
        }
    }
    (!changes.is_empty()).then_some(changes)
}

fn empty_sample(place: &Place<'_>) -> Sample {
    Sample {
        cell: place.cell.to_owned(),
        block: place.block,
        position: place.position,
        arm: place.arm.to_owned(),
        start_ns: 0,
        duration_ns: 0,
        operations: Vec::new(),
        client_cpu: CpuTime::default(),
        server_cpu: None,
        tunnel_cpu: None,
        bytes_sent: 0,
        bytes_received: 0,
        client_context_switches: 0,
        server_context_switches: None,
        client_run_queue_wait_ns: None,
        server_run_queue_wait_ns: None,
        server_counters: BTreeMap::new(),
        steal_ns: 0,
        workers: 0,
        logins: BTreeMap::new(),
        handshakes: None,
        queries: 0,
        restarts: 0,
        stale_reads: 0,
        phases: Vec::new(),
        open_loop: None,
        client_bound: false,
        void: None,
    }
}
