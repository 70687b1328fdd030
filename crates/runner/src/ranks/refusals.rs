//! What several load generators cannot measure together.

use ciphertax_model::{Arm, Cell, Pace, PasswordCache, Placement, Study, Workload};

use crate::servers_to_play::entry;

/// What of a study so many load generators cannot share, with the remedy.
pub(crate) fn cannot_be_spread(study: &Study, of: u32) -> Vec<String> {
    let cells = study
        .cells
        .iter()
        .filter_map(|cell| refused_cell(study, cell, of));
    let arms = study.arms.iter().filter_map(refused_arm);
    let placement = (study.placement == Placement::Together).then(|| {
        "all load threads on the server's CPU are those of one process; take --set placement=free with mpirun".to_owned()
    });
    cells.chain(arms).chain(placement).collect()
}

fn is_in_its_client(study: &Study, cell: &Cell) -> bool {
    entry(&study.server_spec(cell).server).is_ok_and(|entry| entry.protocol().is_none())
}

fn refused_cell(study: &Study, cell: &Cell, of: u32) -> Option<String> {
    let why = if cell.command.is_some() {
        "a program of your own makes its load in one process".to_owned()
    } else if cell.workload == Workload::YcsbLoad {
        "one process empties its table before every slice".to_owned()
    } else if matches!(cell.load.pace(), Pace::Batch { .. }) {
        "a batch is done when the last of them is done".to_owned()
    } else if is_in_its_client(study, cell) {
        "a database in its client has one load generator".to_owned()
    } else if cell.keep_operations {
        "single operations are kept by one process".to_owned()
    } else if cell.load.connections < of {
        format!(
            "it has {} connections for {of} load generators, and each needs one; take more with --set load.connections={of}, or start \
             fewer",
            cell.load.connections
        )
    } else if matches!(cell.load.pace(), Pace::Open { .. }) && !cell.load.connections.is_multiple_of(of) {
        format!(
            "its {} connections share a rate, and cannot be shared evenly by {of} load generators; take another number of either",
            cell.load.connections
        )
    } else {
        return None;
    };
    Some(format!(
        "cell {}: {why}; measure it with `ciphertax run`, without mpirun",
        cell.name
    ))
}

fn refused_arm(arm: &Arm) -> Option<String> {
    let what = [
        (arm.columns.is_some(), "cells that its clients encrypt"),
        (
            arm.at_rest.columns.is_some(),
            "columns whose key its sessions give the server",
        ),
        (
            arm.authentication.password_cache == PasswordCache::Cold,
            "logins that the server must not remember",
        ),
    ];
    let (_, what) = what.into_iter().find(|(is, _)| *is)?;
    Some(format!(
        "arm {}: {what} are known to one load generator alone; leave the arm out, or measure it without mpirun",
        arm.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_process_alone_knows_is_refused_by_name_and_all_else_is_not() {
        let refused = |cell: &str, arm: &str, of| {
            let text = format!(
                "name = \"s\"\nquestion = \"?\"\ntime_s = 60\n\
                 arm = [{{ name = \"plain\", transport = \"plain\" }}, {{ name = \"other\", {arm} }}]\n\
                 cell = [{{ name = \"c\", {cell} }}]\n"
            );
            cannot_be_spread(&Study::from_toml(&text).unwrap(), of)
        };
        let tls = "transport = \"tls\"";
        let point_select = "workload = \"oltp_point_select\", load = { connections = 4 }";
        let tpcc = "workload = \"tpcc\", load = { connections = 4 }";
        let ycsb = "workload = \"ycsb_d\", load = { connections = 4 }";
        for cell in [point_select, tpcc, ycsb] {
            assert_eq!(refused(cell, tls, 4), [""; 0]);
        }
        for (cell, of, says) in [
            (point_select, 5, "4 connections for 5 load generators"),
            (
                "workload = \"ycsb_load\", load = { connections = 4 }",
                2,
                "one process empties",
            ),
            (
                "workload = \"oltp_point_select\", load = { connections = 4, batch = 100 }",
                2,
                "a batch is done",
            ),
            (
                "workload = \"oltp_point_select\", load = { connections = 4, rate = 100 }",
                3,
                "share a rate",
            ),
            (
                "workload = \"oltp_point_select\", keep_operations = true, load = { connections = 4 }",
                2,
                "single operations",
            ),
        ] {
            let refusals = refused(cell, tls, of);
            assert!(refusals.len() == 1 && refusals[0].contains(says), "{refusals:?}");
            assert!(refusals[0].starts_with("cell c: "), "{refusals:?}");
        }
        let cold = "transport = \"plain\", authentication = { method = \"caching_sha2_password\", password_cache = \"cold\" }";
        let refusals = refused("workload = \"connect\", load = { connections = 4 }", cold, 2);
        assert!(refusals[0].starts_with("arm other: logins"), "{refusals:?}");
    }
}
