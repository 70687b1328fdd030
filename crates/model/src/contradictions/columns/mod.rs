//! Which columns cannot be encrypted by an arm: because nothing asks them, or because a statement would be answered wrongly.

mod cells;
mod servers;
mod stored;
#[cfg(test)]
mod tests;

use self::cells::check_cells;
use self::servers::check_server;
use self::stored::check_stored;
use super::found::{Found, Path};
use crate::arm::Arm;
use crate::authentication::AuthenticationMethod;
use crate::columns::{ColumnEncryption, ColumnFeature, ColumnSelection};
use crate::problem::nearest;
use crate::study::{Cell, Study};
use crate::tpcc::COLUMNS;
use crate::workload::{Tables, Workload};

/// Looks through all arms, and what the cells ask of them.
pub(super) fn check_study(study: &Study, found: &mut Found) {
    for (index, arm) in study.arms.iter().enumerate() {
        let Some(columns) = &arm.columns else { continue };
        let path = Path::of("arm").entry(index).key("columns");
        check_cells(arm, columns, &path, found);
        check_beside(arm, columns, &path, found);
        if check_names(study, arm, columns, &path, found) && asks(study, arm, Tables::Tpcc) {
            check_stored(arm, columns, &path, found);
        }
    }
    check_features(study, found);
    for (index, cell) in study.cells.iter().enumerate() {
        let path = Path::of("cell").entry(index);
        check_batch(study, cell, &path, found);
        for arm in study.arms_of(cell) {
            let Some(columns) = &arm.columns else { continue };
            let is_asked = check_workload(cell, arm, columns, &path, found);
            if is_asked {
                check_server(study, cell, arm, columns, &path, found);
            }
        }
    }
}

/// What else an arm has that does not go together with cells.
fn check_beside(arm: &Arm, columns: &ColumnEncryption, path: &Path, found: &mut Found) {
    let name = &arm.name;
    if arm.at_rest.columns.is_some() {
        let message = format!(
            "arm {name:?}: columns are encrypted by the client or in results, at_rest.columns by the server's functions; leave one \
             of them out"
        );
        found.add(path.clone(), message);
    }
    if let Some(what) = arm.is_carried_by() {
        let message = format!(
            "arm {name:?}: columns are measured without a {what} alone, so far; leave {what} or columns out"
        );
        found.add(path.clone(), message);
    }
    if columns.feature == ColumnFeature::InResults && arm.transport.is_encrypted() {
        let message = format!(
            "arm {name:?}: who encrypts cells in results reads what the server sends, which TLS hides; take transport = \
             \"plain\""
        );
        found.add(path.key("feature"), message);
    }
    let method = arm.authentication.method;
    if columns.feature == ColumnFeature::InResults && method == Some(AuthenticationMethod::UnixSocket) {
        let message = format!(
            "arm {name:?}: cells in results are made between client and server, where a login by unix_socket does not pass; take \
             another method"
        );
        found.add(path.key("feature"), message);
    }
}

/// True if all names are those of columns that a cell asks.
fn check_names(study: &Study, arm: &Arm, columns: &ColumnEncryption, path: &Path, found: &mut Found) -> bool {
    let ColumnSelection::Named(names) = &columns.columns else {
        return true;
    };
    let path = path.key("columns");
    if names.is_empty() {
        let message = format!(
            "arm {:?} names no columns; take columns = \"none\", or leave it out",
            arm.name
        );
        found.add(path, message);
        return false;
    }
    let of_tpcc = COLUMNS
        .iter()
        .map(|column| format!("{}.{}", column.table, column.column));
    let of_ycsb = (0..study.ycsb.field_count).map(|field| format!("field{field}"));
    let is_tpcc = asks(study, arm, Tables::Tpcc);
    let is_ycsb = asks(study, arm, Tables::Usertable);
    let known: Vec<String> = of_tpcc
        .filter(|_| is_tpcc || !is_ycsb)
        .chain(of_ycsb.filter(|_| is_ycsb))
        .collect();
    let mut are_known = true;
    for (index, name) in names.iter().enumerate() {
        let problem = if !known.contains(name) {
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near:?}?"),
                None if is_ycsb && !is_tpcc => {
                    "fields of YCSB's table are called \"field0\" and so on".to_owned()
                }
                None => "columns are called as \"customer.c_last\"".to_owned(),
            };
            format!("unknown column {name:?}; {hint}")
        } else if names[..index].contains(name) {
            format!("arm {:?} names column {name:?} twice", arm.name)
        } else {
            continue;
        };
        are_known = false;
        found.add(path.entry(index), problem);
    }
    are_known
}

/// True if a cell asks tables of this kind of an arm.
fn asks(study: &Study, arm: &Arm, tables: Tables) -> bool {
    let mut cells = study.cells.iter();
    cells.any(|cell| {
        cell.workload.descriptor().tables == Some(tables) && study.arms_of(cell).any(|other| other == arm)
    })
}

/// Cells in results are made of one set of tables that all arms share; stored ones are in a set for each arm.
fn check_features(study: &Study, found: &mut Found) {
    let of = |feature| {
        let has = |arm: &Arm| {
            arm.columns
                .as_ref()
                .is_some_and(|columns| columns.feature == feature)
        };
        study.arms.iter().position(has)
    };
    if let (Some(in_results), Some(stored)) = (of(ColumnFeature::InResults), of(ColumnFeature::Stored)) {
        let message = format!(
            "arm {:?} shares its tables with the baseline, and arm {:?} stores cells in tables of its own; make two studies of them",
            study.arms[in_results].name, study.arms[stored].name
        );
        found.add(
            Path::of("arm").entry(stored).key("columns").key("feature"),
            message,
        );
    }
}

/// Tables of stored cells stay equal to those of the other arms only by equal work.
fn check_batch(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let is_stored = |arm: &&Arm| {
        let columns = arm.columns.as_ref();
        columns.is_some_and(|columns| columns.feature == ColumnFeature::Stored)
    };
    let stored = study.arms.iter().find(is_stored);
    if let (Workload::Tpcc, None, Some(arm)) = (cell.workload, cell.load.batch, stored) {
        let message = format!(
            "cell {:?}: arm {:?} stores cells, so every arm has tables of its own, which stay equal by the same transactions alone; \
             take load = {{ connections = {}, batch = {} }}",
            cell.name,
            arm.name,
            cell.load.connections.max(1),
            u64::from(cell.load.connections.max(1)) * 50,
        );
        found.add(path.key("load"), message);
    }
}

/// True if a cell's workload asks columns that an arm encrypts.
fn check_workload(
    cell: &Cell,
    arm: &Arm,
    columns: &ColumnEncryption,
    path: &Path,
    found: &mut Found,
) -> bool {
    let (name, workload) = (&arm.name, cell.workload.name());
    let path = path.key("workload");
    let remedy = "leave the arm out with arms = […]";
    let message = match (cell.workload.descriptor().tables, columns.feature) {
        (Some(Tables::Tpcc), _) => return true,
        (Some(Tables::Usertable), ColumnFeature::Stored) => match columns.columns {
            ColumnSelection::None | ColumnSelection::All | ColumnSelection::Named(_) => return true,
            ColumnSelection::Keys | ColumnSelection::Half | ColumnSelection::Payload => format!(
                "cell {:?}: arm {name:?} encrypts {} of TPC-C, which {workload} does not ask; take columns = \"all\", or {remedy}",
                cell.name, columns.columns
            ),
        },
        (_, ColumnFeature::InResults) => format!(
            "cell {:?}: arm {name:?} has cells in results, which tpcc alone decrypts so far, and not {workload}; {remedy}",
            cell.name
        ),
        (_, ColumnFeature::Stored) => format!(
            "cell {:?}: arm {name:?} stores cells, which tpcc and YCSB's workloads can, and not {workload}; {remedy}",
            cell.name
        ),
    };
    found.add(path, message);
    false
}
