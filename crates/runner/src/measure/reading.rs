//! Clocks and counters at the edges of a slice.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_base::Pressure;
use ciphertax_model::Arm;
use ciphertax_observe::{self as observe, DeviceUsage, SystemCpu, Usage, Used};
use ciphertax_records::ServerSide;

use crate::counters::{UPTIME, change};
use crate::error::Result;
use crate::server::{ProxyMeters, Server};

/// The server is quiet when its CPU clocks have stood still for this long.
pub(super) const QUIET: Duration = Duration::from_millis(1);
/// How long quiet is waited for; a server with work of its own never is.
const QUIET_AT_MOST: Duration = Duration::from_millis(50);

/// Reads the CPU time of the whole machine.
pub(super) type Machine<'a> = &'a dyn Fn() -> observe::Result<SystemCpu>;

/// Clocks and counters at an edge of a slice. The clocks are read when the server is quiet, and on the slice's side of the
/// counters, so that asking for these is not billed to the slice.
pub(super) struct Reading {
    pub(super) counters: BTreeMap<String, i64>,
    /// What the arm's relay has encrypted so far; `None` without a relay.
    column_relay_cells: Option<u64>,
    clocks: Clocks,
}

/// What changed between two readings.
#[derive(Default)]
pub(super) struct Change {
    pub(super) server: ServerSide,
    /// Stolen share of all CPU time, as a fraction.
    pub(super) stolen_share: f64,
    /// True if the server began anew.
    pub(super) is_restarted: bool,
}

struct Clocks {
    /// `None` where it cannot be read.
    server: Option<Usage>,
    machine: SystemCpu,
    /// `None` without a tunnel.
    tunnel: Option<Usage>,
    /// `None` without a pooler.
    pooler: Option<Usage>,
    /// `None` without a relay that encrypts cells.
    column_relay: Option<Usage>,
    /// `None` where there is none to be seen.
    device: Option<DeviceUsage>,
    /// `None` where the kernel keeps none.
    pressure: Option<Pressure>,
}

impl Reading {
    pub(super) fn before(server: &mut dyn Server, arm: &Arm, machine: Machine<'_>) -> Result<Self> {
        let counters = server.counters()?;
        Ok(Self {
            counters,
            column_relay_cells: server.column_relay_cells(arm),
            clocks: Clocks::read(server, arm, machine)?,
        })
    }

    pub(super) fn after(server: &mut dyn Server, arm: &Arm, machine: Machine<'_>) -> Result<Self> {
        let clocks = Clocks::read(server, arm, machine)?;
        Ok(Self {
            counters: server.counters()?,
            column_relay_cells: server.column_relay_cells(arm),
            clocks,
        })
    }

    pub(super) fn since(&self, before: &Self) -> Change {
        let (now, then) = (&self.clocks, &before.clocks);
        let machine = now.machine.since(&then.machine);
        let server = used(then.server.as_ref(), now.server.as_ref());
        let cpu = |then: &Option<Usage>, now: &Option<Usage>| used(then.as_ref(), now.as_ref()).cpu;
        let column_relay_cpu = cpu(&then.column_relay, &now.column_relay);
        let cpu_of_each = now.server.as_ref().zip(then.server.as_ref());
        Change {
            server: ServerSide {
                // A relay stands for a part of the server.
                server_cpu: server
                    .cpu
                    .map(|cpu| [cpu].into_iter().chain(column_relay_cpu).sum()),
                server_cpu_of_each_ns: cpu_of_each
                    .map_or_else(Vec::new, |(now, then)| now.cpu_of_each_since(then)),
                tunnel_cpu: cpu(&then.tunnel, &now.tunnel),
                pooler_cpu: cpu(&then.pooler, &now.pooler),
                column_relay_cpu,
                column_relay_cells: self
                    .column_relay_cells
                    .zip(before.column_relay_cells)
                    .and_then(|(now, then)| now.checked_sub(then)),
                server_context_switches: server.context_switches,
                server_run_queue_wait_ns: server.run_queue_wait_ns,
                server_page_faults: server.faults,
                // A relay that stands for a part of the server is not counted.
                server_hardware: server.hardware.filter(|_| column_relay_cpu.is_none()),
                server_peak_memory_bytes: server.peak_memory_bytes,
                server_bytes_read: server.bytes_read,
                server_bytes_written: server.bytes_written,
                server_counters: counters_since(&before.counters, &self.counters),
                device: now.device.zip(then.device).map(|(now, then)| now.since(&then)),
                pressure: now
                    .pressure
                    .zip(then.pressure)
                    .map(|(now, then)| now.since(&then)),
                steal_ns: machine.steal_ns,
                cpu_idle_ns: Some(machine.idle_ns),
            },
            stolen_share: machine.steal_ns as f64 / (machine.total_ns as f64).max(1.0),
            is_restarted: self.counters.get(UPTIME) < before.counters.get(UPTIME),
        }
    }
}

impl Clocks {
    fn read(server: &dyn Server, arm: &Arm, machine: Machine<'_>) -> Result<Self> {
        let meter = server.meter();
        let ProxyMeters {
            tunnel,
            pooler,
            column_relay,
        } = server.proxies(arm);
        // A connection that was closed is not forgotten at once.
        for proxy in [pooler, column_relay].into_iter().flatten() {
            let _ = proxy.settle(QUIET, QUIET_AT_MOST);
        }
        Ok(Self {
            // A server that has ended has no clock; that is noticed by whoever asks it something.
            server: meter.read_when_quiet(QUIET, QUIET_AT_MOST).ok(),
            machine: machine()?,
            tunnel: tunnel.and_then(|meter| meter.read().ok()),
            pooler: pooler.and_then(|meter| meter.read().ok()),
            column_relay: column_relay.and_then(|meter| meter.read().ok()),
            device: server.device().and_then(|device| device.read().ok()),
            pressure: observe::pressure(),
        })
    }
}

/// What counters rose by, but for the one that is no work.
pub(super) fn counters_since(
    before: &BTreeMap<String, i64>,
    after: &BTreeMap<String, i64>,
) -> BTreeMap<String, i64> {
    let mut change = change(before, after);
    change.remove(UPTIME);
    change
}

/// What was used between two readings; nothing is known where one of them is missing.
pub(super) fn used(before: Option<&Usage>, after: Option<&Usage>) -> Used {
    match (before, after) {
        (Some(before), Some(after)) => after.since(before),
        _ => Used::default(),
    }
}
