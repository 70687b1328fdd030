//! Contradictions in a study that its types allow.

mod arm;
mod cell;
mod columns;
mod found;
mod load;
mod study;

use crate::problem::{Position, StudyError, StudyProblem};
use crate::study::Study;

use self::arm::check_arm;
use self::cell::{check_cell, check_link, check_nodes, check_replica_set};
use self::found::Found;
pub(crate) use self::found::{Contradiction, Path, Step};
use self::study::{check_measuring, check_names, check_placement, check_published, check_storage};

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
    cell::check_pgbench(&study.pgbench, &mut found);
    cell::check_tpcc(&study.tpcc, &mut found);
    check_placement(study, &mut found);
    study::check_server_cpu(study, &mut found);
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
    arm::check_memory_security(study, &mut found);
    check_storage(&study.storage, &Path::of("storage"), &mut found);
    for (index, arm) in study.arms.iter().enumerate() {
        let path = Path::of("arm").entry(index);
        check_arm(arm, &path, &mut found);
        arm::check_pooler(arm, &path, &mut found);
        study::check_postgresql(arm, &path, &mut found);
        cell::check_probe(arm, &path, &mut found);
    }
    if !study.arms.is_empty() {
        cell::check_probes(study, &mut found);
    }
    columns::check_study(study, &mut found);
    for (index, cell) in study.cells.iter().enumerate() {
        let path = Path::of("cell").entry(index);
        check_cell(study, cell, &path, &mut found);
        arm::check_pooled_cell(study, cell, &path, &mut found);
    }
    for (index, row) in study.published.iter().enumerate() {
        check_published(study, row, &Path::of("published").entry(index), &mut found);
    }
    for (index, budget) in study.budgets.iter().enumerate() {
        study::check_budget(study, budget, &Path::of("budget").entry(index), &mut found);
    }
    found.all()
}
