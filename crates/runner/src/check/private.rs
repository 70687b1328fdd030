//! What private servers need of the machine and of each other.

use ciphertax_lab::{RunningLink, check_capture, check_cluster, file_system};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Distances, PoolMode, ReadPreference, Refusal, ReplicaSet, refuse_if};

use super::{Rule, of_arm_in, of_cell, of_plan};

pub(super) const RULES: &[Rule] = &[
    of_plan("link", |asked| {
        let mut cells = asked.study.cells.iter();
        let has_one = cells.any(|cell| asked.study.distances(cell) != Distances::default());
        let checked = (has_one && asked.target.is_none()).then(RunningLink::check)?;
        Some(Refusal::new(checked.err()?.to_string()))
    }),
    of_plan("secondaries", |asked| {
        let has_some = |set: Option<ReplicaSet>| set.is_some_and(ReplicaSet::has_secondaries);
        let asks = asked.target.is_none() && asked.study.read_preference != ReadPreference::Primary;
        let has_none = !asked.places().any(|at| has_some(at.spec.replica_set));
        let why = "no cell has secondaries to read from; add replica_set = { members = 3 }, or leave read_preference out";
        refuse_if(asks && has_none, why)
    }),
    of_plan("pooler", |asked| {
        let release = asked.pgbouncer.as_ref()?;
        release.as_ref().err().map(Refusal::new)
    }),
    of_arm_in("file-system", |asked, _, arm| {
        let kind = arm.at_rest.file_system.filter(|_| asked.target.is_none())?;
        Some(Refusal::new(file_system::check(kind).err()?.to_string()))
    }),
    of_cell("cluster", |_, at| {
        let entry = at.entry.filter(|_| at.spec.is_cluster())?;
        Some(Refusal::new(check_cluster(entry).err()?.to_string()))
    }),
    of_plan("capture", |asked| {
        let is_captured = asked.places().any(|at| {
            let mut arms = asked.study.arms_of(at.cell);
            at.entry.is_some() && at.spec.servers() > 1 && arms.any(|arm| arm.cluster_tls)
        });
        Some(Refusal::new(is_captured.then(check_capture)?.err()?.to_string()))
    }),
    // It gives the next transaction another connection, and an old release does not prepare statements there again.
    of_arm_in("prepared-statements", |asked, at, arm| {
        let release = asked.pgbouncer.as_ref()?.as_ref().ok()?;
        let shares = arm.pooler?.pgbouncer == PoolMode::Transaction;
        let prepares = at.cell.workload.descriptor().vocabulary != Vocabulary::Connect;
        let why = format!(
            "with pgbouncer = \"transaction\" {release} loses the statements that {} prepares (1.21 and later keep them); \
             fetch a newer one with `ciphertax servers install postgresql-18`, take pgbouncer = \"session\", or name the \
             other arms in the arms of the cell {:?}",
            at.cell.workload.name(),
            at.cell.name
        );
        refuse_if(shares && prepares && !release.keeps_prepared_statements(), why)
    }),
    of_arm_in("cluster-tls", |_, at, arm| {
        at.entry?;
        let why = "it encrypts what servers tell each other, and a single server has none to tell; add nodes = 3 (MariaDB, \
                   MySQL) or replica_set = { members = 3 } (MongoDB)";
        refuse_if(arm.cluster_tls && at.spec.servers() == 1, why)
    }),
];
