//! What a study asks of an arm in a cell: only answers to the same question can be compared.
//!
//! Where it was asked, of which version, on which machine and how it was set, may differ: that is what comparisons
//! are about, and stands in [`crate::facts`].

use ciphertax_model::workload::Tables;
use ciphertax_model::{Arm, Cell, Certificate, Study};
use serde_json::{Value, json};

/// What an arm asks for, whatever it is called.
pub(crate) fn of_arm(arm: &Arm) -> Arm {
    Arm {
        name: String::new(),
        ..arm.clone()
    }
}

/// What a cell asks of a database: the workload, how hard, over which distance, and of which tables.
pub(crate) fn of_cell(study: &Study, cell: &Cell) -> Value {
    let tables = match cell.workload.descriptor().tables {
        None | Some(Tables::Bulk) => Value::Null,
        Some(Tables::Sbtest) => json!({ "dataset": study.dataset }),
        Some(Tables::Usertable) => json!({ "ycsb": study.ycsb }),
        Some(Tables::Pgbench) => json!({ "pgbench": study.pgbench }),
        Some(Tables::Tpcc) => json!({ "tpcc": study.tpcc }),
        Some(Tables::OfLookup | Tables::All) => json!({ "dataset": study.dataset, "ycsb": study.ycsb }),
    };
    json!({
        "workload": cell.workload,
        "load": cell.load,
        "command": cell.command,
        "mix": cell.ycsb_mix(),
        "link": study.link(cell),
        "replica_set": cell.replica_set.or(study.replica_set),
        "nodes": study.server_spec(cell).nodes,
        "node_link": study.node_link(cell),
        "read_preference": study.read_preference(cell),
        "tables": tables,
    })
}

/// The certificates that are asked of the servers of a cell's baseline and of an arm of it, which a cell or the study may say; null
/// for an arm that is shown none.
pub(crate) fn of_certificates(study: &Study, cell: &Cell, arm: &Arm) -> Value {
    let spec = study.server_spec(cell);
    let shown = |arm: &Arm| -> Option<Certificate> {
        arm.transport
            .is_encrypted()
            .then(|| study.certificate_of(arm, &spec))
    };
    json!({ "certificate": shown(arm), "baseline's certificate": study.arms.first().and_then(shown) })
}
