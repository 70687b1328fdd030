//! Poolers before a private server.

use std::collections::BTreeMap;

use ciphertax_lab::pooler::{self, RunningPooler};
use ciphertax_lab::{PrivateServer, RunningLink};
use ciphertax_model::{Arm, Pooler, Transport};
use ciphertax_observe::{Meter, ProcessMeter};
use ciphertax_supervise::GuardProgram;

use crate::error::RunError;

/// The poolers that arms go through, one for each kind and each way that its clients come.
pub(super) struct Poolers(Vec<MeteredPooler>);

struct MeteredPooler {
    kind: (Pooler, Transport),
    pooler: RunningPooler,
    /// What its one process uses.
    meter: ProcessMeter,
}

impl Poolers {
    /// None.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Starts them before a server, on its side of a link.
    ///
    /// # Errors
    /// When one is not available, cannot do what its arms ask, or does not start.
    pub(super) fn start<'a>(
        arms: impl Iterator<Item = &'a Arm>,
        server: &PrivateServer,
        link: Option<&RunningLink>,
        guard: &GuardProgram,
    ) -> Result<Self, RunError> {
        let mut poolers: Vec<MeteredPooler> = Vec::new();
        for kind in arms.filter_map(kind_of) {
            if poolers.iter().any(|other| other.kind == kind) {
                continue;
            }
            let pooler = pooler::start(kind.0, kind.1, server, link, guard)?;
            let meter = ProcessMeter::open(pooler.pid())?;
            poolers.push(MeteredPooler { kind, pooler, meter });
        }
        Ok(Self(poolers))
    }

    /// The one that an arm goes through; `None` for an arm without a pooler.
    pub(super) fn of(&self, arm: &Arm) -> Option<&RunningPooler> {
        Some(&self.metered(arm)?.pooler)
    }

    /// Reads what an arm's pooler uses.
    pub(super) fn meter_of(&self, arm: &Arm) -> Option<&dyn Meter> {
        Some(&self.metered(arm)?.meter)
    }

    /// What they were started with, for the record, by their own names.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let of_each = self.0.iter().flat_map(|running| {
            let (kind, transport) = running.kind;
            let facts = running.pooler.facts().iter();
            facts.map(move |(name, value)| (format!("{kind}, clients {transport}: {name}"), value.clone()))
        });
        of_each.collect()
    }

    /// Ends them.
    pub(super) fn stop(self) -> ciphertax_lab::Result<()> {
        let stopped = self.0.into_iter().map(|running| running.pooler.stop());
        stopped.fold(Ok(()), Result::and)
    }

    fn metered(&self, arm: &Arm) -> Option<&MeteredPooler> {
        let kind = kind_of(arm)?;
        self.0.iter().find(|running| running.kind == kind)
    }
}

fn kind_of(arm: &Arm) -> Option<(Pooler, Transport)> {
    Some((arm.pooler?, arm.transport))
}
