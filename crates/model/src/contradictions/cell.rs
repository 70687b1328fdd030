//! What a cell contradicts itself in: its workload, its probes.

use std::collections::HashSet;

use super::arm::{check_binary_log, check_columns};
use super::found::{Found, Path};
use super::load::{check_command, check_engine_load};
use super::study::check_storage;
use crate::arm::Arm;
use crate::authentication::AuthenticationMethod;
use crate::dataset::Pgbench;
use crate::network::Link;
use crate::probe::{Perturbation, Probe, ProbeValue};
use crate::problem::hint;
use crate::server::{ReadPreference, ReplicaSet};
use crate::study::{Cell, Placement, Study};
use crate::tls::Resumption;
use crate::tpcc::Tpcc;
use crate::workload::Mix;

/// What a cell cannot be.
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

/// What TPC-C's tables and mix cannot be.
pub(super) fn check_tpcc(tables: &Tpcc, found: &mut Found) {
    let path = Path::of("tpcc");
    let mut check = |key, value: u32, range: std::ops::RangeInclusive<u32>| {
        if !range.contains(&value) {
            let (least, most) = range.into_inner();
            let message = format!("tpcc.{key} is {value}; it must lie between {least} and {most}");
            found.add(path.key(key), message);
        }
    };
    check("warehouses", tables.warehouses, Tpcc::WAREHOUSES);
    check("load_workers", tables.load_workers, Tpcc::LOAD_WORKERS);
    if !Tpcc::PACING.contains(&tables.pacing) {
        let message = format!("tpcc.pacing is {}; it must lie between 0 and 10", tables.pacing);
        found.add(path.key("pacing"), message);
    }
    if let Some(weights) = tables.weights {
        let shares = weights.shares();
        let sum: f64 = shares.iter().sum();
        if shares.iter().any(|share| !(0.0..=100.0).contains(share)) || (sum - 100.0).abs() > 1e-6 {
            let message =
                format!("tpcc.weights are together {sum}; they must be percentages that are together 100");
            found.add(path.key("weights"), message);
        }
    }
}

/// What pgbench's tables cannot be.
pub(super) fn check_pgbench(tables: &Pgbench, found: &mut Found) {
    let (scale, most) = (tables.scale, Pgbench::MOST_BRANCHES);
    if !(1..=most).contains(&scale) {
        let message = format!("pgbench.scale is {scale}; it must lie between 1 and {most}");
        found.add(Path::of("pgbench").key("scale"), message);
    }
}

/// `path` is that of the arm.
pub(super) fn check_probe(arm: &Arm, path: &Path, found: &mut Found) {
    let Some(probe) = &arm.probe else { return };
    let name = &arm.name;
    let path = path.key("probe");
    match probe.perturbation() {
        None => {
            let message = format!(
                "arm {name:?}: a probe says one thing, either variable and value, such as {{ variable = \"sync_binlog\", value = 0 \
                 }}, or cpus"
            );
            found.add(path, message);
        }
        Some(Perturbation::Cpus(0)) => {
            let message = format!("arm {name:?}: a server needs a CPU; take probe = {{ cpus = 1 }}");
            found.add(path.key("cpus"), message);
        }
        Some(Perturbation::Cpus(_)) => {}
        Some(Perturbation::Variable(variable, value)) => {
            if !Probe::is_name(variable) {
                let message = format!(
                    "arm {name:?}: {variable:?} is no name of a variable: it must be letters, digits and underscores, beginning with \
                     a letter, {} at most",
                    Probe::LONGEST
                );
                found.add(path.key("variable"), message);
            }
            if let ProbeValue::Text(text) = value
                && !Probe::is_plain(text)
            {
                let message = format!(
                    "arm {name:?}: {text:?} is no value for a probe: it must be letters, digits, spaces and _-+=.,:/, {} at most",
                    Probe::LONGEST
                );
                found.add(path.key("value"), message);
            }
        }
    }
}

/// What probes cannot go with.
pub(super) fn check_probes(study: &Study, found: &mut Found) {
    let probed = study.arms.iter().enumerate().filter_map(|(index, arm)| {
        let probe = arm.probe.as_ref()?;
        Some((arm, probe, Path::of("arm").entry(index).key("probe")))
    });
    for (arm, probe, path) in probed {
        let name = &arm.name;
        if name == &study.baseline().name {
            let message = format!(
                "arm {name:?} is the baseline, from which a probe is a deviation; leave probe out, and add an arm with it"
            );
            found.add(path.clone(), message);
        }
        if study.differs_at_rest() {
            let message = format!(
                "arm {name:?}: where arms differ in at_rest, what a server does between its slices is billed to its arm, and the \
                 probe holds within slices alone; leave probe out, or take at_rest out of all arms or into all"
            );
            found.add(path.clone(), message);
        }
        if probe.cpus.is_some() && study.placement == Placement::Together {
            let message = format!(
                "arm {name:?}: placement = \"together\" leaves the server one CPU already; leave the probe's cpus out, or take \
                 placement = \"free\""
            );
            found.add(path.key("cpus"), message);
        }
    }
}
