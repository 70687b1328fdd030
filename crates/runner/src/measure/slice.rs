//! One slice: quiet before, exact clocks around, and what was seen of it.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::Failure;
use ciphertax_model::Arm;
use ciphertax_model::workload::CELLS;
use ciphertax_records::{Sample, ServerSide, VoidReason, Yield};

use super::reading::{Change, Machine, QUIET, Reading};
use crate::error::Result;
use crate::load::{Load, Seen, Slice};
use crate::look::Looker;
use crate::meter::ServedBy;
use crate::schedule::{
    Looked, Measured, Outcome, PlannedSlice, cells_differ, reason_of, relay_differs, void_reason,
};
use crate::server::Server;

/// How long a server that hung up is given to end, before it counts as one that lives.
const DYING: Duration = Duration::from_millis(300);

pub(super) struct SliceMeter<'a> {
    pub(super) server: &'a mut dyn Server,
    pub(super) load: &'a mut dyn Load,
    pub(super) machine: Machine<'a>,
    /// What looks into slices that are to be looked into.
    pub(super) looker: Option<&'a mut Looker>,
    pub(super) began: Instant,
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
    pub(super) fn slice(&mut self, id: &PlannedSlice<'_>) -> Result<Measured> {
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

    fn slice_as_it_is(&mut self, id: &PlannedSlice<'_>) -> Result<Measured> {
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
        slice.yielded.recorded.client_bound &= !self.server.is_embedded();
        // A server that does not answer makes the slice void, which is noted there.
        let after = Reading::after(self.server, id.arm, self.machine).ok();
        let change = after.as_ref().map(|after| after.since(&before));
        if let Some((after, change)) = after.as_ref().zip(change.as_ref()) {
            let seen = Seen {
                counters: &after.counters,
                change: &change.server.server_counters,
                tunnel_cpu: change.server.tunnel_cpu,
            };
            self.load.judge(id.arm_index, &mut slice, &seen);
        }
        let mut measured = self.measured(id, slice, change);
        if let Some(looker) = &mut looker {
            measured.looked = looker.seen(&measured.sample.slice);
            if let Some(agent) = self.server.agent() {
                let took = Duration::from_nanos(measured.sample.load.duration_ns);
                let seen = agent.seen(&measured.sample.slice, (looked, took), &mut looker.symbols);
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
        let load = Yield {
            workers: self.load.workers(),
            ..Yield::default()
        };
        let void = Some(reason_of(failure, 1, death.as_ref()));
        Measured {
            sample: sample(id, since_start, load, ServerSide::default(), void),
            unfinished: Some(0),
            kept: Vec::new(),
            looked: Looked::default(),
        }
    }

    /// `change` is what the server's clocks and counters say; `None` if it did not answer.
    fn measured(&self, id: &PlannedSlice<'_>, slice: Slice, change: Option<Change>) -> Measured {
        let Slice { yielded, void } = slice;
        let is_lost = matches!(void, Some(VoidReason::RankLost { .. }));
        let unfinished = (!is_lost).then_some(yielded.unfinished);
        let is_silent = change.is_none();
        let Change {
            server,
            stolen_share,
            is_restarted,
        } = change.unwrap_or_default();
        let outcome = Outcome {
            known: void,
            first_failure: yielded.first_failure.as_ref(),
            cells: cells_differ(&yielded.recorded).or_else(|| {
                let [_, decrypted, _] = yielded.counts_of(CELLS);
                // What an operation received that failed, its client need not have decrypted.
                relay_differs(id.arm, server.column_relay_cells?, decrypted).filter(|_| yielded.is_whole())
            }),
            failures: yielded.failures,
            completed: yielded.operations.iter().map(|kind| kind.count).sum(),
            unfinished: yielded.unfinished,
            open_loop: yielded.open_loop.as_ref(),
            is_interrupted: yielded.interrupted,
            is_silent,
            agent_lost: self.server.agent_lost(),
            is_restarted,
            death: match is_silent {
                true => self.death(id.arm),
                false => self.death_after(yielded.first_failure.as_ref(), id.arm),
            },
            stolen: Duration::from_nanos(server.steal_ns),
            steal: stolen_share,
        };
        let void = void_reason(&outcome);
        let since_start = yielded.began - self.began;
        Measured {
            sample: sample(id, since_start, yielded.recorded, server, void),
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
        server
            .map(|detail| VoidReason::ServerDied { detail })
            .or_else(|| self.server.proxy_death(arm))
    }
}

fn sample(
    id: &PlannedSlice<'_>,
    since_start: Duration,
    load: Yield,
    server: ServerSide,
    void: Option<VoidReason>,
) -> Sample {
    Sample {
        slice: id.id(),
        start_ns: since_start.as_nanos() as u64,
        load,
        server,
        quiet: None,
        others_worked: false,
        left_cached: None,
        look: id.look,
        void,
    }
}
