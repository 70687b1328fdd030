//! Contradictions in a study that its types allow.

mod arm;
mod at_rest;
mod budget;
mod cell;
mod columns;
mod found;
mod load;
mod pgbench;
mod place;
mod pooler;
mod postgresql;
mod probe;
mod published;
mod server_cpu;
mod storage;
mod tpcc;
mod whole;

use crate::problem::{Position, StudyError, StudyProblem};
use crate::study::Study;

use self::arm::check_arm;
use self::cell::{check_cell, check_link, check_nodes, check_replica_set};
use self::found::Found;
pub(crate) use self::found::{Contradiction, Path, Step};
use self::published::check_published;
use self::storage::check_storage;
use self::whole::{check_measuring, check_names, check_placement};

impl Study {
    /// Checks what the types alone cannot.
    ///
    /// # Errors
    /// Names all contradictions.
    pub fn validated(self) -> Result<Self, StudyError> {
        let name = format!("study {}", self.name);
        let problem = |contradiction: Contradiction| StudyProblem {
            position: Position::Study(name.clone()),
            message: contradiction.message,
        };
        let problems: Vec<StudyProblem> = contradictions(&self).into_iter().map(problem).collect();
        match problems.is_empty() {
            true => Ok(self),
            false => Err(StudyError::new(name, problems)),
        }
    }
}

/// All contradictions of a study.
pub(crate) fn contradictions(study: &Study) -> Vec<Contradiction> {
    let mut found = Found::default();
    check_names(study, &mut found);
    check_measuring(study, &mut found);
    pgbench::check_tables(&study.pgbench, &mut found);
    tpcc::check_tables(&study.tpcc, &mut found);
    check_placement(study, &mut found);
    server_cpu::check_server_cpu(study, &mut found);
    if let Some(link) = &study.link {
        check_link(link, &Path::of("link"), &mut found);
    }
    if let Some(link) = &study.node_link {
        check_link(link, &Path::of("node_link"), &mut found);
    }
    if let Some(replica_set) = study.replica_set {
        check_replica_set(replica_set, &Path::of("replica_set"), &mut found);
    }
    if let Some(nodes) = study.nodes {
        check_nodes(nodes, &Path::of("nodes"), &mut found);
    }
    at_rest::check_memory_security(study, &mut found);
    check_storage(&study.storage, &Path::of("storage"), &mut found);
    for (index, arm) in study.arms.iter().enumerate() {
        let path = Path::of("arm").entry(index);
        check_arm(arm, &path, &mut found);
        pooler::check_arm(arm, &path, &mut found);
        postgresql::check_arm(arm, &path, &mut found);
        probe::check_arm(arm, &path, &mut found);
    }
    if !study.arms.is_empty() {
        probe::check_study(study, &mut found);
    }
    columns::check_study(study, &mut found);
    for (index, cell) in study.cells.iter().enumerate() {
        let path = Path::of("cell").entry(index);
        check_cell(study, cell, &path, &mut found);
        pooler::check_cell(study, cell, &path, &mut found);
    }
    for (index, row) in study.published.iter().enumerate() {
        check_published(study, row, &Path::of("published").entry(index), &mut found);
    }
    for (index, budget) in study.budgets.iter().enumerate() {
        budget::check_budget(study, budget, &Path::of("budget").entry(index), &mut found);
    }
    found.all()
}
