//! What needs a server, and is refused by name.

use ciphertax_model::workload::Tables;
use ciphertax_model::{Cell, Placement, Study};
use ciphertax_observe::host;
use ciphertax_stats::format;
use ciphertax_workload::sqlite::SqliteAccess;

use crate::columns;
use crate::load::no_such_workload;

/// What a cell asks and SQLite cannot do.
pub(crate) fn refuse(study: &Study, cell: &Cell) -> Vec<String> {
    let name = &cell.name;
    let of_cell = [
        (
            study.link(cell).is_some(),
            "has no distance: it runs in its client; leave link out",
        ),
        (
            study.server_spec(cell).replica_set.is_some(),
            "is one file; leave replica_set out",
        ),
        (
            cell.command.is_some(),
            "is asked by ciphertax's own load threads alone; take another workload than command",
        ),
        (
            cell.workload.descriptor().tables == Some(Tables::Pgbench),
            "adds no key to a table that has rows, as pgbench does; take oltp_point_select or oltp_read_write",
        ),
        (
            cell.workload.descriptor().tables == Some(Tables::Tpcc),
            "has one writer at a time, which TPC-C's terminals would only wait for; take server = \"mariadb\" or \"postgresql\"",
        ),
        (
            study.placement == Placement::Together && cell.load.connections > 1,
            "needs a thread for each connection, and placement = \"together\" has one; leave it out",
        ),
    ];
    let of_cell = of_cell.into_iter().filter(|(is_asked, _)| *is_asked);
    let of_cell = of_cell.map(|(_, why)| format!("cell {name}: sqlite {why}"));
    let of_arms = study.arms_of(cell).flat_map(|arm| {
        let asked = [
            (arm.tunnel.is_some(), "a tunnel"),
            (arm.pooler.is_some(), "a pooler"),
        ];
        let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
        let between = asked.map(|(_, what)| {
            format!(
                "arm {}: sqlite runs in its client, so {what} has nothing to stand between; leave it out",
                arm.name
            )
        });
        // A daemon's CPU and that of the kernel's workers are read with a server's, at the same point of every round.
        let beneath = arm.at_rest.file_system.map(|kind| {
            format!(
                "arm {}: sqlite runs in its client, and who works for a file system besides is billed to servers alone, so that \
                 {kind} would seem to cost less than it does; take sqlcipher in its place, or a server",
                arm.name
            )
        });
        let probed = arm.probe.as_ref().map(|_| {
            format!(
                "arm {}: sqlite runs in its client, so there is no server that a probe could change; leave it out",
                arm.name
            )
        });
        between.chain(beneath).chain(probed).collect::<Vec<_>>()
    });
    let workload = no_such_workload::<SqliteAccess>(cell);
    let of_columns = columns::refuse_functions(study, cell, None);
    let of_fields = columns::refuse_fields(study, cell, |_| {
        Some(
            "sqlite runs in its client, so there is no server to hide fields from; take sqlcipher in place of columns",
        )
    });
    let others = of_cell.chain(of_arms).chain(of_columns).chain(of_fields);
    let caches = too_much_memory(study, cell, host().memory_bytes);
    workload.into_iter().chain(others).chain(caches).collect()
}

/// Every connection of every arm has a cache of its own, and all stay open. `machine_bytes` is 0 where nobody knows.
fn too_much_memory(study: &Study, cell: &Cell, machine_bytes: u64) -> Option<String> {
    let memory_mb = study.storage(cell).memory_mb?;
    let sessions = u64::from(cell.load.connections) * study.measured_arms_of(cell).len() as u64;
    let asked = sessions * (u64::from(memory_mb) << 20);
    (machine_bytes > 0 && asked > machine_bytes).then(|| {
        format!(
            "cell {}: each of the {sessions} connections of all arms has a cache of {memory_mb} MB for itself, {} in all, and \
             this machine has {}; ask for fewer connections or a smaller storage.memory_mb",
            cell.name,
            format::bytes(asked as f64),
            format::bytes(machine_bytes as f64)
        )
    })
}
