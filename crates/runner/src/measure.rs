//! One slice: quiet before, exact clocks around, and what makes it void.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::{Failure, KeptOperation, SATURATED, SliceYield};
use ciphertax_model::Tunnel;
use ciphertax_observe::{SystemCpu, Usage, Used};
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
            let is_around_tunnel = after
                .tunnel_cpu_since(&before)
                .is_some_and(|cpu| cpu.total_ns == 0);
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
            let server = after.used_since(before);
            sample.server_cpu = server.cpu;
            sample.server_context_switches = server.context_switches;
            sample.server_run_queue_wait_ns = server.run_queue_wait_ns;
            sample.tunnel_cpu = after.tunnel_cpu_since(before);
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
    /// `None` where it cannot be read.
    server: Option<Usage>,
    system: SystemCpu,
    /// `None` without a tunnel.
    tunnel: Option<Usage>,
}

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

    fn used_since(&self, before: &Self) -> Used {
        match (&before.clocks.server, &self.clocks.server) {
            (Some(before), Some(after)) => after.since(before),
            _ => Used::default(),
        }
    }

    fn tunnel_cpu_since(&self, before: &Self) -> Option<CpuTime> {
        let after = self.clocks.tunnel.as_ref()?;
        after.since(before.clocks.tunnel.as_ref()?).cpu
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
        // A server that has ended has no clock; that is noticed by whoever asks it something.
        let meter = host.meter();
        let _ = meter.settle(QUIET, QUIET_AT_MOST);
        Ok(Self {
            server: meter.read().ok(),
            system: SystemCpu::now()?,
            tunnel: tunnel
                .and_then(|tunnel| host.tunnel_meter(tunnel))
                .and_then(|meter| meter.read().ok()),
        })
    }
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
