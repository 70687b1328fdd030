//! Fields of YCSB's table that the client encrypts: which servers' tables take them.

use ciphertax_model::{Arm, Cell, ColumnEncryption, Study};

/// Arms of a cell whose fields the table of its server does not take; `problem` says why not.
pub(crate) fn refuse(
    study: &Study,
    cell: &Cell,
    problem: impl Fn(&ColumnEncryption) -> Option<&'static str>,
) -> Vec<String> {
    if !cell.workload.asks_usertable() {
        return Vec::new();
    }
    let refusal = |arm: &Arm| {
        let columns = arm.columns.as_ref().filter(|columns| columns.stores())?;
        let problem = problem(columns)?;
        Some(format!("arm {} in cell {}: {problem}", arm.name, cell.name))
    };
    study.arms_of(cell).filter_map(refusal).collect()
}
