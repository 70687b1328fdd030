//! Clocks and counters at the edges of a slice.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_base::{CpuTime, DeviceUse, Pressure};
use ciphertax_model::Arm;
use ciphertax_observe::{self as observe, DeviceUsage, SystemCpu, Usage, Used};

use crate::counters::{UPTIME, change};
use crate::error::RunError;
use crate::server::Server;

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
    pub(super) fn before(server: &mut dyn Server, arm: &Arm, machine: Machine<'_>) -> Result<Self, RunError> {
        let counters = server.counters()?;
        Ok(Self {
            counters,
            column_relay_cells: server.column_relay_cells(arm),
            clocks: Clocks::read(server, arm, machine)?,
        })
    }

    pub(super) fn after(server: &mut dyn Server, arm: &Arm, machine: Machine<'_>) -> Result<Self, RunError> {
        let clocks = Clocks::read(server, arm, machine)?;
        Ok(Self {
            counters: server.counters()?,
            column_relay_cells: server.column_relay_cells(arm),
            clocks,
        })
    }

    pub(super) fn used_since(&self, before: &Self) -> Used {
        used(before.clocks.server.as_ref(), self.clocks.server.as_ref())
    }

    pub(super) fn server_cpu_of_each_since(&self, before: &Self) -> Vec<Option<u64>> {
        match (&before.clocks.server, &self.clocks.server) {
            (Some(before), Some(after)) => after.cpu_of_each_since(before),
            _ => Vec::new(),
        }
    }

    pub(super) fn tunnel_cpu_since(&self, before: &Self) -> Option<CpuTime> {
        used(before.clocks.tunnel.as_ref(), self.clocks.tunnel.as_ref()).cpu
    }

    pub(super) fn pooler_cpu_since(&self, before: &Self) -> Option<CpuTime> {
        used(before.clocks.pooler.as_ref(), self.clocks.pooler.as_ref()).cpu
    }

    pub(super) fn column_relay_cpu_since(&self, before: &Self) -> Option<CpuTime> {
        used(
            before.clocks.column_relay.as_ref(),
            self.clocks.column_relay.as_ref(),
        )
        .cpu
    }

    pub(super) fn column_relay_cells_since(&self, before: &Self) -> Option<u64> {
        self.column_relay_cells?.checked_sub(before.column_relay_cells?)
    }

    pub(super) fn device_since(&self, before: &Self) -> Option<DeviceUse> {
        Some(self.clocks.device?.since(&before.clocks.device?))
    }

    pub(super) fn pressure_since(&self, before: &Self) -> Option<Pressure> {
        Some(self.clocks.pressure?.since(&before.clocks.pressure?))
    }

    pub(super) fn machine_since(&self, before: &Self) -> SystemCpu {
        self.clocks.machine.since(&before.clocks.machine)
    }

    pub(super) fn restarted_since(&self, before: &Self) -> bool {
        self.counters.get(UPTIME) < before.counters.get(UPTIME)
    }
}

impl Clocks {
    fn read(server: &dyn Server, arm: &Arm, machine: Machine<'_>) -> Result<Self, RunError> {
        let meter = server.meter();
        let (tunnel, pooler) = (server.tunnel_meter(arm), server.pooler_meter(arm));
        // A connection that was closed is not forgotten at once.
        let _ = pooler.map(|pooler| pooler.settle(QUIET, QUIET_AT_MOST));
        let column_relay = server.column_relay_meter(arm);
        let _ = column_relay.map(|relay| relay.settle(QUIET, QUIET_AT_MOST));
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
