//! What a cell cannot be.

use std::collections::HashSet;

use super::at_rest::{check_binary_log, check_columns};
use super::found::{Found, Path};
use super::load::{check_command, check_engine_load};
use super::storage::check_storage;
use crate::arm::Arm;
use crate::authentication::AuthenticationMethod;
use crate::link::Link;
use crate::nearest::hint;
use crate::replica_set::{ReadPreference, ReplicaSet};
use crate::study::{Cell, Study};
use crate::tls::Resumption;
use crate::workload::Mix;

pub(super) fn check_cell(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    match cell.workload.is_program() {
        true => check_command(study, cell, path, found),
        false => check_engine_load(study, cell, path, found),
    }
    if let Some(link) = &cell.link {
        check_link(link, &path.key("link"), found);
    }
    if let Some(replica_set) = cell.replica_set {
        check_replica_set(replica_set, &path.key("replica_set"), found);
    }
    if let Some(nodes) = cell.nodes {
        check_nodes(nodes, &path.key("nodes"), found);
    }
    if let Some(link) = &cell.node_link {
        check_link(link, &path.key("node_link"), found);
    }
    check_cluster(study, cell, path, found);
    check_node_link(study, cell, path, found);
    if let Some(storage) = &cell.storage {
        check_storage(storage, &path.key("storage"), found);
    }
    check_binary_log(study, cell, path, found);
    check_columns(study, cell, path, found);
    let with_own = study.arms.iter().find(|arm| arm.certificate.is_some());
    if let (Some(_), Some(arm)) = (cell.certificate, with_own) {
        let message = format!(
            "cell {name:?}: the certificate differs by cell or by arm, not both, and arm {:?} names one too; leave one of them \
             out",
            arm.name
        );
        found.add(path.key("certificate"), message);
    }
    check_reading(study, cell, path, found);
    check_mix(cell, path, found);
    if cell.keep_operations && cell.workload.is_program() {
        let message =
            format!("cell {name:?}: only a program knows its single operations; leave keep_operations out");
        found.add(path.key("keep_operations"), message);
    }
    check_arms_of_cell(study, cell, &path.key("arms"), found);
    let is_distant = study.link(cell).is_some();
    for arm in study.arms_of(cell).filter(|_| is_distant) {
        if arm.authentication.method == Some(AuthenticationMethod::UnixSocket) {
            let message = format!(
                "cell {name:?}: arm {:?} logs in by unix_socket, which no link reaches; leave the arm out with \
                 arms = […]",
                arm.name
            );
            found.add(path.key("link"), message);
        }
    }
}

pub(super) fn check_replica_set(replica_set: ReplicaSet, path: &Path, found: &mut Found) {
    if !replica_set.is_electable() {
        let message = "a replica set has 1, 3 or 5 members, so that one of them is always elected";
        found.add(path.key("members"), message);
    }
}

pub(super) fn check_nodes(nodes: u8, path: &Path, found: &mut Found) {
    if !Study::NODES.contains(&nodes) {
        let message =
            "a cluster has 3 or 5 nodes, so that most of them go on without one, and a single server is 1";
        found.add(path.clone(), message);
    }
}

/// What nodes that take part in every commit cannot be.
fn check_cluster(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let (name, spec) = (&cell.name, study.server_spec(cell));
    if spec.is_cluster() && spec.replica_set.is_some() {
        let message = format!(
            "cell {name:?}: nodes are those of MariaDB and MySQL, replica_set is MongoDB's; leave one of them out"
        );
        found.add(path.key("nodes"), message);
    }
    let at_rest = |arm: &&Arm| !arm.at_rest.is_default();
    if spec.is_cluster()
        && let Some(arm) = study.arms_of(cell).find(at_rest)
    {
        let message = format!(
            "cell {name:?}: arm {:?} encrypts at rest, which is measured on single servers; leave nodes out, or the arm with \
             arms = […]",
            arm.name
        );
        found.add(path.key("arms"), message);
    }
    let is_probe = |arm: &&Arm| arm.probe.is_some();
    if spec.is_cluster()
        && let Some(arm) = study.arms_of(cell).find(is_probe)
    {
        let message = format!(
            "cell {name:?}: the probe of arm {:?} changes one server, and a cluster has several; leave nodes out, or the arm with \
             arms = […]",
            arm.name
        );
        found.add(path.key("arms"), message);
    }
}

/// Between which servers there can be no distance.
fn check_node_link(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let Some(link) = study.node_link(cell) else {
        return;
    };
    let name = &cell.name;
    if study.server_spec(cell).servers() == 1 {
        let message = format!(
            "cell {name:?}: node_link is the distance between servers, and there is one; add nodes = 3 or replica_set = {{ \
             members = 3 }}, or take link, the distance to it"
        );
        found.add(path.key("node_link"), message);
    }
    if link.bandwidth_mbit.is_some() {
        let message = format!(
            "cell {name:?}: all nodes share one line here, so no bandwidth between two of them can be kept; leave bandwidth_mbit \
             out of node_link"
        );
        found.add(path.key("node_link").key("bandwidth_mbit"), message);
    }
}

fn check_reading(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let replica_set = study.server_spec(cell).replica_set;
    let resumes = |arm: &&Arm| arm.tls.resumption != Resumption::Off;
    if let (Some(_), Some(arm)) = (replica_set, study.arms_of(cell).find(resumes)) {
        let message = format!(
            "cell {:?}: arm {:?} resumes sessions, which a member of a replica set knows only of itself; leave the arm out with \
             arms = […]",
            cell.name, arm.name
        );
        found.add(path.key("replica_set"), message);
    }
    let has_secondaries = replica_set.is_some_and(ReplicaSet::has_secondaries);
    if study.read_preference(cell) == ReadPreference::Primary {
        return;
    }
    let name = &cell.name;
    if !has_secondaries && cell.read_preference.is_some() {
        let message = format!(
            "cell {name:?}: a single server has no secondaries to read from; add replica_set = {{ members = 3 }}, or leave \
             read_preference out"
        );
        found.add(path.key("read_preference"), message);
    }
    if writes_records_alone(cell) && cell.read_preference.is_some() {
        let message = format!(
            "cell {name:?}: {} reads nothing, and only the primary takes writes; leave read_preference out",
            cell.workload.name()
        );
        found.add(path.key("read_preference"), message);
    }
}

/// True if nothing of what a cell asks for by its key is read.
fn writes_records_alone(cell: &Cell) -> bool {
    cell.workload.asks_usertable() && !cell.workload.descriptor().reads
}

fn check_mix(cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    match (cell.workload.descriptor().mix, cell.mix) {
        (Mix::OfCell, None) => {
            let message = format!(
                "cell {name:?}: the workload \"ycsb\" needs its shares: mix = {{ read = 0.95, insert = 0.05 }}"
            );
            found.add(path.key("workload"), message);
        }
        (Mix::OfCell, Some(mix)) => {
            let shares = mix.shares();
            let sum: f64 = shares.iter().sum();
            if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || (sum - 1.0).abs() > 1e-6 {
                let message = format!(
                    "cell {name:?}: the shares of a mix lie between 0 and 1 and add up to 1, not {sum}"
                );
                found.add(path.key("mix"), message);
            }
        }
        (Mix::Core(_) | Mix::None, Some(_)) => {
            let message = format!(
                "cell {name:?}: {} has a mix of its own or none; leave mix out or take workload = \"ycsb\"",
                cell.workload.name()
            );
            found.add(path.key("mix"), message);
        }
        (_, None) => {}
    }
}

fn check_arms_of_cell(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let Some(names) = &cell.arms else {
        return;
    };
    let known: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let message = format!("unknown arm {name:?}{}", hint(name, &known));
            found.add(path.entry(index), message);
        } else if !seen.insert(name) {
            found.add(
                path.entry(index),
                format!("cell {:?} names arm {name:?} twice", cell.name),
            );
        }
    }
    let Some(baseline) = known.first() else {
        return;
    };
    if !names.iter().any(|name| name == baseline) {
        let message = format!(
            "cell {:?}: its arms must include {baseline:?}, the baseline they are compared with",
            cell.name
        );
        found.add(path.clone(), message);
    } else if names.len() < 2 {
        let message = format!(
            "cell {:?}: a comparison needs a variant beside the baseline",
            cell.name
        );
        found.add(path.clone(), message);
    }
}

pub(super) fn check_link(link: &Link, path: &Path, found: &mut Found) {
    for (key, message) in link.problems() {
        found.add(path.key(key), message);
    }
}
