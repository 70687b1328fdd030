//! One slice: quiet before, exact clocks around, and what was seen of it.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_engine::Failure;
use ciphertax_model::Arm;
use ciphertax_model::workload::CELLS;
use ciphertax_records::{Sample, ServerSide, VoidReason, Yield};

use super::reading::{Machine, QUIET, Reading, counters_since};
use crate::error::RunError;
use crate::load::{Load, Seen, Slice};
use crate::look::Looker;
use crate::meter::ServedBy;
use crate::schedule::{
    Looked, Measured, Outcome, PlannedSlice, cells_differ, reason_of, relay_differs, void_reason,
};
use crate::server::Server;

/// How long a server that hung up is given to end, before it counts as one that lives.
const DYING: Duration = Duration::from_millis(300);

/// Measures slices of one load on one server.
pub(super) struct SliceMeter<'a> {
    pub(super) server: &'a mut dyn Server,
    pub(super) load: &'a mut dyn Load,
    pub(super) machine: Machine<'a>,
    /// What looks into slices that are to be looked into.
    pub(super) looker: Option<&'a mut Looker>,
    /// When the run began.
    pub(super) began: Instant,
    /// The cell's.
    pub(super) seed: u64,
}

/// The seed of a block, by which all its slices make the same operations where those are dealt. As SplitMix64 makes it, so
/// that neighbours in number have nothing in common (<https://doi.org/10.1145/2714064.2660195>).
pub(super) fn block_seed(seed: u64, block: u32) -> u64 {
    let mut mixed = seed.wrapping_add((u64::from(block) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl SliceMeter<'_> {
    /// Measures one slice, while the server is as the arm's probe says. What goes wrong with the server makes the slice void;
    /// an error is what keeps the run from going on, such as a server that stays changed.
    pub(super) fn slice(&mut self, id: &PlannedSlice<'_>) -> Result<Measured, RunError> {
        let measured = match self.server.apply_probe(id.arm) {
            Ok(()) => self.slice_as_it_is(id),
            Err(error) => {
                let gone = Failure::Disconnected(error.to_string());
                Ok(self.unmeasured(id, self.began.elapsed(), &gone))
            }
        };
        let Err(error) = self.server.undo_probe() else {
            return measured;
        };
        let gone = Failure::Disconnected(error.to_string());
        match self.death_after(Some(&gone), id.arm) {
            // What was changed goes with the server.
            Some(_) => measured,
            None => measured.and(Err(error)),
        }
    }

    fn slice_as_it_is(&mut self, id: &PlannedSlice<'_>) -> Result<Measured, RunError> {
        let since_start = self.began.elapsed();
        if let Err(failure) = self.load.prepare(id.arm_index)? {
            return Ok(self.unmeasured(id, since_start, &failure));
        }
        let Ok(before) = Reading::before(self.server, id.arm, self.machine) else {
            let gone = Failure::Disconnected("the server does not answer any more".into());
            return Ok(self.unmeasured(id, since_start, &gone));
        };
        if let Some(detail) = self.server.agent_lost() {
            let mut unmeasured = self.unmeasured(id, since_start, &Failure::Error(detail.clone()));
            unmeasured.sample.void = Some(VoidReason::AgentLost { detail });
            return Ok(unmeasured);
        }
        let mut looker = self.looker.take().filter(|_| id.look.is_some());
        if let Some(looker) = &mut looker {
            let has_children = self.server.served_by() == ServedBy::Processes;
            looker.begin(self.server.pids(), has_children);
            if let Some(agent) = self.server.agent() {
                agent.begin_to_look();
            }
            self.server.ask_for_wait_events();
        }
        let slice = self
            .load
            .slice(id.arm_index, id.duration, block_seed(self.seed, id.block));
        let mut looked = Duration::ZERO;
        let mut wait_events = None;
        if let Some(looker) = &mut looker {
            looker.stop();
            wait_events = self.server.wait_events();
            if let Some(agent) = self.server.agent() {
                looked = agent.stop_looking();
            }
        }
        let mut slice = slice?;
        // A server that does not answer makes the slice void, which is noted there.
        let after = Reading::after(self.server, id.arm, self.machine).ok();
        if let Some(after) = &after {
            let seen = Seen {
                counters: &after.counters,
                change: &counters_since(&before.counters, &after.counters),
                tunnel_cpu: after.tunnel_cpu_since(&before),
            };
            self.load.judge(id.arm_index, &mut slice, &seen);
        }
        let mut measured = self.measured(id, slice, &before, after.as_ref());
        if let Some(looker) = &mut looker {
            measured.looked = looker.seen(&measured.sample.slice);
            if let Some(agent) = self.server.agent() {
                let took = Duration::from_nanos(measured.sample.load.duration_ns);
                let seen = agent.seen(&measured.sample.slice, (looked, took), looker.symbols_mut());
                measured.looked.add(seen);
            }
            measured
                .looked
                .add_wait_events(&measured.sample.slice, wait_events);
        }
        Ok(measured)
    }

    fn unmeasured(&self, id: &PlannedSlice<'_>, since_start: Duration, failure: &Failure) -> Measured {
        let death = self.death_after(Some(failure), id.arm);
        Measured {
            sample: Sample {
                slice: id.id(),
                start_ns: since_start.as_nanos() as u64,
                load: Yield {
                    workers: self.load.workers(),
                    ..Yield::default()
                },
                server: ServerSide::default(),
                quiet: None,
                others_worked: false,
                left_cached: None,
                look: id.look,
                void: Some(reason_of(failure, 1, death.as_ref())),
            },
            unfinished: Some(0),
            kept: Vec::new(),
            looked: Looked::default(),
        }
    }

    fn measured(
        &self,
        id: &PlannedSlice<'_>,
        slice: Slice,
        before: &Reading,
        after: Option<&Reading>,
    ) -> Measured {
        let Slice { yielded, void } = slice;
        let is_lost = matches!(void, Some(VoidReason::RankLost { .. }));
        let unfinished = (!is_lost).then_some(yielded.unfinished);
        let machine = after.map(|after| after.machine_since(before));
        let outcome = Outcome {
            known: void,
            first_failure: yielded.first_failure.as_ref(),
            cells: cells_differ(&yielded.recorded).or_else(|| {
                let encrypted = after?.column_relay_cells_since(before)?;
                let [_, decrypted, _] = yielded.counts_of(CELLS);
                // What an operation received that failed, its client need not have decrypted.
                relay_differs(id.arm, encrypted, decrypted).filter(|_| yielded.is_whole())
            }),
            failures: yielded.failures,
            completed: yielded.operations.iter().map(|kind| kind.count).sum(),
            unfinished: yielded.unfinished,
            open_loop: yielded.open_loop.as_ref(),
            is_interrupted: yielded.interrupted,
            is_silent: after.is_none(),
            agent_lost: self.server.agent_lost(),
            is_restarted: after.is_some_and(|after| after.restarted_since(before)),
            death: match after {
                Some(_) => self.death_after(yielded.first_failure.as_ref(), id.arm),
                None => self.death(id.arm),
            },
            stolen: Duration::from_nanos(machine.map_or(0, |machine| machine.steal_ns)),
            steal: machine.map_or(0.0, |machine| {
                machine.steal_ns as f64 / (machine.total_ns as f64).max(1.0)
            }),
        };
        let void = void_reason(&outcome);
        let mut server = ServerSide::default();
        if let (Some(after), Some(machine)) = (after, machine) {
            let used = after.used_since(before);
            let column_relay_cpu = after.column_relay_cpu_since(before);
            server = ServerSide {
                server_cpu: with_relay(used.cpu, column_relay_cpu),
                server_cpu_of_each_ns: after.server_cpu_of_each_since(before),
                tunnel_cpu: after.tunnel_cpu_since(before),
                pooler_cpu: after.pooler_cpu_since(before),
                column_relay_cpu,
                column_relay_cells: after.column_relay_cells_since(before),
                server_context_switches: used.context_switches,
                server_run_queue_wait_ns: used.run_queue_wait_ns,
                server_page_faults: used.faults,
                // A relay that stands for a part of the server is not counted.
                server_hardware: used.hardware.filter(|_| column_relay_cpu.is_none()),
                server_peak_memory_bytes: used.peak_memory_bytes,
                server_bytes_read: used.bytes_read,
                server_bytes_written: used.bytes_written,
                server_counters: counters_since(&before.counters, &after.counters),
                device: after.device_since(before),
                pressure: after.pressure_since(before),
                steal_ns: machine.steal_ns,
                cpu_idle_ns: Some(machine.idle_ns),
            };
        }
        Measured {
            sample: Sample {
                slice: id.id(),
                start_ns: (yielded.began - self.began).as_nanos() as u64,
                load: yielded.recorded,
                server,
                quiet: None,
                others_worked: false,
                left_cached: None,
                look: id.look,
                void,
            },
            unfinished,
            kept: yielded.kept,
            looked: Looked::default(),
        }
    }

    /// That the server is gone, or the arm's pooler or relay, if one is, after a failure. A process that ends closes its sockets
    /// before it has ended.
    fn death_after(&self, failure: Option<&Failure>, arm: &Arm) -> Option<VoidReason> {
        let Some(Failure::Disconnected(_)) = failure else {
            return None;
        };
        let deadline = Instant::now() + DYING;
        loop {
            let death = self.death(arm);
            if death.is_some() || Instant::now() >= deadline {
                return death;
            }
            thread::sleep(QUIET);
        }
    }

    fn death(&self, arm: &Arm) -> Option<VoidReason> {
        let server = self.server.death();
        let pooler = || {
            Some(VoidReason::PoolerDied {
                detail: self.server.pooler_death(arm)?,
            })
        };
        let column_relay = || {
            Some(VoidReason::ColumnRelayDied {
                detail: self.server.column_relay_death(arm)?,
            })
        };
        server
            .map(|detail| VoidReason::ServerDied { detail })
            .or_else(pooler)
            .or_else(column_relay)
    }
}

/// The server's CPU time with that of the relay that stands for a part of it.
fn with_relay(server: Option<CpuTime>, relay: Option<CpuTime>) -> Option<CpuTime> {
    let relay = relay.unwrap_or_default();
    Some(CpuTime {
        total_ns: server?.total_ns + relay.total_ns,
        system_ns: server?.system_ns + relay.system_ns,
    })
}
