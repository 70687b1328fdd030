//! One slice: quiet before, exact clocks around, and what was seen of it.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::Failure;
use ciphertax_model::Arm;
use ciphertax_records::{Sample, ServerSide, VoidReason, Yield};

use super::look::Looker;
use super::reading::{Machine, QUIET, Reading};
use crate::error::RunError;
use crate::load::{Load, Seen, Slice};
use crate::meter::ServedBy;
use crate::schedule::{Looked, Measured, Outcome, PlannedSlice, reason_of, void_reason};
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
}

impl SliceMeter<'_> {
    /// Measures one slice, while the server is as the arm's probe says. What goes wrong with the server makes the slice void;
    /// an error is what keeps the run from going on, such as a server that stays changed.
    pub(super) fn slice(&mut self, id: &PlannedSlice<'_>, duration: Duration) -> Result<Measured, RunError> {
        let measured = match self.server.perturb(id.arm) {
            Ok(()) => self.slice_as_it_is(id, duration),
            Err(error) => {
                let gone = Failure::Disconnected(error.to_string());
                Ok(self.unmeasured(id, self.began.elapsed(), &gone))
            }
        };
        let Err(error) = self.server.calm() else {
            return measured;
        };
        let gone = Failure::Disconnected(error.to_string());
        match self.death_after(Some(&gone), id.arm) {
            // What was changed goes with the server.
            Some(_) => measured,
            None => measured.and(Err(error)),
        }
    }

    fn slice_as_it_is(&mut self, id: &PlannedSlice<'_>, duration: Duration) -> Result<Measured, RunError> {
        let since_start = self.began.elapsed();
        if let Err(failure) = self.load.prepare(id.arm_index)? {
            return Ok(self.unmeasured(id, since_start, &failure));
        }
        let Ok(before) = Reading::before(self.server, id.arm, self.machine) else {
            let gone = Failure::Disconnected("the server does not answer any more".into());
            return Ok(self.unmeasured(id, since_start, &gone));
        };
        let mut looker = self.looker.take().filter(|_| id.look.is_some());
        if let Some(looker) = &mut looker {
            let has_children = self.server.served_by() == ServedBy::Processes;
            looker.begin(self.server.pids(), has_children);
        }
        let slice = self.load.slice(id.arm_index, duration);
        if let Some(looker) = &mut looker {
            looker.stop();
        }
        let mut slice = slice?;
        // A server that does not answer makes the slice void, which is noted there.
        let after = Reading::after(self.server, id.arm, self.machine).ok();
        if let Some(after) = &after {
            let seen = Seen {
                counters: &after.counters,
                change: &after.counters_since(&before),
                tunnel_cpu: after.tunnel_cpu_since(&before),
            };
            self.load.judge(id.arm_index, &mut slice, &seen);
        }
        let mut measured = self.measured(id, slice, &before, after.as_ref());
        if let Some(looker) = &mut looker {
            measured.looked = looker.seen(&measured.sample.slice);
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
        let machine = after.map(|after| after.machine_since(before));
        let outcome = Outcome {
            known: void,
            first_failure: yielded.first_failure.as_ref(),
            failures: yielded.failures,
            completed: yielded.operations.iter().map(|kind| kind.count).sum(),
            unfinished: yielded.unfinished,
            open_loop: yielded.open_loop.as_ref(),
            is_interrupted: yielded.interrupted,
            is_silent: after.is_none(),
            is_restarted: after.is_some_and(|after| after.restarted_since(before)),
            death: match after {
                Some(_) => self.death_after(yielded.first_failure.as_ref(), id.arm),
                None => self.death(id.arm),
            },
            steal: machine.map_or(0.0, |machine| {
                machine.steal_ns as f64 / (machine.total_ns as f64).max(1.0)
            }),
        };
        let void = void_reason(&outcome);
        let mut server = ServerSide::default();
        if let (Some(after), Some(machine)) = (after, machine) {
            let used = after.used_since(before);
            server = ServerSide {
                server_cpu: used.cpu,
                tunnel_cpu: after.tunnel_cpu_since(before),
                pooler_cpu: after.pooler_cpu_since(before),
                server_context_switches: used.context_switches,
                server_run_queue_wait_ns: used.run_queue_wait_ns,
                server_page_faults: used.faults,
                server_peak_memory_bytes: used.peak_memory_bytes,
                server_bytes_read: used.bytes_read,
                server_bytes_written: used.bytes_written,
                server_counters: after.counters_since(before),
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
            kept: yielded.kept,
            looked: Looked::default(),
        }
    }

    /// That the server is gone, or the arm's pooler, if one is, after a failure. A process that ends closes its sockets
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
        server
            .map(|detail| VoidReason::ServerDied { detail })
            .or_else(pooler)
    }
}
