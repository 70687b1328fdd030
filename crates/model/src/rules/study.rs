//! What is refused of a study's own values, and of all of it together.

use super::{Located, Place, Rule, arms, cells, of_study, of_values, unknown};
use crate::at_rest::AtRest;
use crate::authentication::Authentication;
use crate::budget::{Budget, PublishedFigure};
use crate::dataset::{Dataset, Pgbench, YcsbTable};
use crate::load::Load;
use crate::metric::Metric;
use crate::network::Link;
use crate::problem::hint;
use crate::refusal::Refusal;
use crate::server_cpu::{AgentAddress, CpuCounter};
use crate::storage::{SqlCipher, Storage};
use crate::study::{BASELINE_AGAIN, Placement, Precision, Study};
use crate::tpcc::Tpcc;
use crate::workload::Workload;

pub(super) const RULES: &[Rule] = &[
    of_values("bounds", "", bounds),
    of_values("names", "name", names),
    of_values("link", "link", links),
    of_values("members", "nodes", members),
    of_values("unwritten-binary-log", "storage.sync_binlog", |study| {
        let is_unwritten = |storage: &Storage| storage.sync_binlog.is_some() && !storage.binary_log;
        let why = "storage.sync_binlog says nothing without a binary log; add binary_log = true";
        let refused = storages(study).filter(|(_, storage)| is_unwritten(storage));
        let refusals = refused.map(|(place, _)| place.at("storage.sync_binlog", Refusal::new(why)));
        refusals.collect()
    }),
    of_values("agent", "agent", |study| {
        let agent = study.agent.as_deref().unwrap_or("ssh://localhost");
        let error = agent.parse::<AgentAddress>().err();
        let why = error.map(|error| format!("agent {agent:?} is no agent: {error}; write ssh://USER@HOST"));
        why.map(|why| of_key("agent", why)).into_iter().collect()
    }),
    of_values("counter", "server_cpu", |study| {
        let Some(counter) = &study.server_cpu else {
            return Vec::new();
        };
        let is_unclear = counter.command.is_empty() == counter.exporter.is_none();
        let why = "server_cpu needs one of two; give either command = [\"PROGRAM\", \"ARGUMENT\"] or exporter = \
                   \"http://host:9100/metrics\"";
        let unclear = is_unclear.then(|| of_key("server_cpu", why));
        let wrong = counter.wrong_exporter();
        let wrong = wrong.map(|why| of_key("server_cpu.exporter", format!("server_cpu.exporter: {why}")));
        unclear.into_iter().chain(wrong).collect()
    }),
    of_study("two-arms", "arm", |study| {
        let why = "a comparison needs at least two arms; give a baseline and a variant";
        let refusal = (study.arms.len() < 2).then(|| of_key("arm", why));
        refusal.into_iter().collect()
    }),
    of_study("a-cell", "cell", |study| {
        let why = "there is no cell, so nothing would be measured; add [[cell]]";
        let refusal = study.cells.is_empty().then(|| of_key("cell", why));
        refusal.into_iter().collect()
    }),
    // A link, and what carries an arm, are processes of their own. On the one CPU of server and load they would be billed to
    // both.
    of_study("placement", "placement", |study| {
        let mut between = study.cells.iter().filter_map(|cell| match study.link(cell) {
            Some(_) => Some(format!("the link of cell {:?}", cell.name)),
            None => study
                .arms_of(cell)
                .find_map(|arm| Some(format!("the {} of arm {:?}", arm.is_carried_by()?, arm.name))),
        });
        let what = between.next().filter(|_| study.placement == Placement::Together);
        let why = what.map(|what| {
            format!(
                "placement = \"together\" puts server and load on one CPU, but {what} needs a CPU of its own; take \
                 placement = \"free\""
            )
        });
        why.map(|why| of_key("placement", why)).into_iter().collect()
    }),
    of_study("agent-and-counter", "server_cpu", |study| {
        let both = study.agent.is_some() && study.server_cpu.is_some();
        let why = "agent and server_cpu both tell the server's CPU time; leave one of them out";
        both.then(|| of_key("server_cpu", why)).into_iter().collect()
    }),
    // SQLCipher does it for the whole process and cannot take it back. An arm without it would have it all the same.
    of_study("memory-security", "at_rest.sqlcipher.memory_security", |study| {
        let (secured, others): (Vec<_>, Vec<_>) = arms(study).partition(|(_, arm)| {
            let sqlcipher = arm.at_rest.sqlcipher;
            sqlcipher.is_some_and(|sqlcipher| sqlcipher.memory_security)
        });
        let refusal = secured.first().zip(others.first()).map(|((place, _), (_, other))| {
            let why = format!(
                "memory_security is for the whole process and cannot be taken back, so that the arm {:?} would have it \
                 too; set it in all arms or in none: what it costs is what the same arm takes more in a run that has it",
                other.name
            );
            place.at("at_rest.sqlcipher.memory_security", Refusal::new(why))
        });
        refusal.into_iter().collect()
    }),
    of_study("probe", "probe", |study| {
        let probed = arms(study).filter_map(|(place, arm)| Some((place, arm, arm.probe.as_ref()?)));
        let refusals = probed.flat_map(|(place, arm, probe)| {
            let of_baseline = arm.name == study.baseline().name;
            let of_few_cpus = probe.cpus.is_some() && study.placement == Placement::Together;
            [
                (
                    of_baseline,
                    "it is the baseline, from which a probe is a deviation; leave probe out, and add an arm with it",
                ),
                (
                    study.differs_at_rest(),
                    "where arms differ in at_rest, what a server does between its slices is billed to its arm, and the \
                     probe holds within slices alone; leave probe out, or take at_rest out of all arms or into all",
                ),
                (
                    of_few_cpus,
                    "placement = \"together\" leaves the server one CPU already; leave the probe's cpus out, or take \
                     placement = \"free\"",
                ),
            ]
            .into_iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, why)| place.at("probe", Refusal::new(why)))
            .collect::<Vec<_>>()
        });
        refusals.collect()
    }),
    of_study("arms-of-cell", "arms", arms_of_cells),
    of_study("budget", "budget", budgets),
    of_study("published", "published", published),
];

/// The refusal of a value of the study.
fn of_key(key: &str, why: impl AsRef<str>) -> Located {
    Place::STUDY.at(key, Refusal::new(why))
}

/// The settings of the study and those of cells.
fn storages(study: &Study) -> impl Iterator<Item = (Place, Storage)> {
    let of_cells = cells(study).filter_map(|(place, cell)| Some((place, cell.storage?)));
    std::iter::once((Place::STUDY, study.storage)).chain(of_cells)
}

fn bounds(study: &Study) -> Vec<Located> {
    let (own, Precision { cpu, throughput, .. }) = (Place::STUDY, study.precision);
    let (dataset, ycsb, tpcc) = (&study.dataset, &study.ycsb, &study.tpcc);
    let (fields, length, loaders) = (u32::from(ycsb.field_count), ycsb.field_length, ycsb.load_threads);
    let lag_s = study.server_cpu.as_ref().and_then(|counter| counter.resolution_s);
    let mut all = vec![
        // Not what a counter of the server's CPU makes of it, which has bounds of its own.
        own.outside("slice_s", study.slice_s, Study::SLICE_S),
        own.outside("time_s", study.time_s, Study::TIME_S),
        own.outside("precision.cpu", cpu, Precision::HALF_WIDTH),
        own.outside("precision.throughput", throughput, Precision::HALF_WIDTH),
        own.outside("chain_length", study.chain_length, Study::CHAIN_LENGTH),
        own.outside("dataset.tables", dataset.tables, 1..=Dataset::MOST_TABLES),
        own.outside("dataset.table_size", dataset.table_size, 1..=Dataset::MOST_ROWS),
        own.outside("ycsb.record_count", ycsb.record_count, 1..=Dataset::MOST_ROWS),
        own.outside("ycsb.field_count", fields, 1..=YcsbTable::MOST_FIELDS),
        own.outside("ycsb.field_length", length, 1..=YcsbTable::LONGEST_FIELD),
        own.outside("ycsb.batch_size", ycsb.batch_size, 1..=YcsbTable::LARGEST_BATCH),
        own.outside("ycsb.load_threads", loaders, 1..=YcsbTable::MOST_LOADERS),
        own.outside("pgbench.scale", study.pgbench.scale, 1..=Pgbench::MOST_BRANCHES),
        own.outside("tpcc.warehouses", tpcc.warehouses, Tpcc::WAREHOUSES),
        own.outside("tpcc.load_workers", tpcc.load_workers, Tpcc::LOAD_WORKERS),
        own.outside("tpcc.pacing", tpcc.pacing, Tpcc::PACING),
        own.outside("server_cpu.resolution_s", lag_s, CpuCounter::RESOLUTION_S),
    ];
    let (bytes, most) = (ycsb.record_bytes(), YcsbTable::LARGEST_RECORD);
    all.push((bytes > most).then(|| {
        let instead = format!("field_count times field_length must be at most {most}");
        of_key(
            "ycsb.field_length",
            format!("records of {bytes} bytes are too large; {instead}"),
        )
    }));
    all.push(tpcc.weights.and_then(|weights| {
        let (shares, sum) = (weights.shares(), weights.shares().iter().sum::<f64>());
        let is_whole =
            shares.iter().all(|share| (0.0..=100.0).contains(share)) && (sum - 100.0).abs() <= 1e-6;
        let instead = "they must be percentages that are together 100";
        (!is_whole).then(|| {
            of_key(
                "tpcc.weights",
                format!("tpcc.weights are together {sum}; {instead}"),
            )
        })
    }));
    for (at, storage) in storages(study) {
        let flushes = storage.flush_log_at_trx_commit;
        let synced = storage.sync_binlog.filter(|_| storage.binary_log);
        all.extend([
            at.outside("storage.memory_mb", storage.memory_mb, Storage::MEMORY_MB),
            at.outside(
                "storage.flush_log_at_trx_commit",
                flushes,
                Storage::FLUSH_LOG_AT_TRX_COMMIT,
            ),
            at.outside("storage.sync_binlog", synced, Storage::SYNC_BINLOG),
        ]);
    }
    for (at, arm) in arms(study) {
        let threads = arm.at_rest.encryption_threads;
        let iterations = arm.authentication.scram_iterations;
        let kdf_iter = arm.at_rest.sqlcipher.map(|sqlcipher| sqlcipher.kdf_iter);
        let page_size = arm.at_rest.sqlcipher.map(|sqlcipher| sqlcipher.page_size);
        all.extend([
            at.outside("at_rest.encryption_threads", threads, AtRest::ENCRYPTION_THREADS),
            at.outside(
                "authentication.scram_iterations",
                iterations,
                Authentication::SCRAM_ITERATIONS,
            ),
            at.outside("at_rest.sqlcipher.kdf_iter", kdf_iter, SqlCipher::KDF_ITER),
            at.outside("at_rest.sqlcipher.page_size", page_size, SqlCipher::PAGE_SIZE),
        ]);
    }
    for (at, cell) in cells(study).filter(|(_, cell)| !cell.load.is_none()) {
        let load = &cell.load;
        all.extend([
            at.outside("load.connections", load.connections, Load::CONNECTIONS),
            at.outside("load.workers", load.workers, 1..=load.connections.max(1)),
            at.outside("load.poll_delay_us", load.poll_delay_us, Load::POLL_DELAY_US),
            at.outside("load.batch", load.batch, Load::BATCH),
            at.outside("load.rate", load.rate, Load::RATE),
        ]);
    }
    all.into_iter().flatten().collect()
}

fn names(study: &Study) -> Vec<Located> {
    let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let mut found = Vec::new();
    for (kind, names) in [("arm", arms), ("cell", cells)] {
        for (index, name) in names.iter().enumerate() {
            let why = if names[..index].contains(name) {
                format!("two {kind}s are named {name:?}; {kind} names must be unique")
            } else if name.trim().is_empty() || name.contains(char::is_control) {
                format!("{name:?} is no name; it must be one line of text")
            } else if kind == "arm" && *name == BASELINE_AGAIN {
                format!("the arm name {name:?} is taken by the noise-floor arm; take another")
            } else {
                continue;
            };
            found.push(of_key(&format!("{kind}.{index}.name"), why));
        }
    }
    found
}

fn links(study: &Study) -> Vec<Located> {
    let own = [(Place::STUDY, study.link, study.node_link)];
    let of_cells = cells(study).map(|(place, cell)| (place, cell.link, cell.node_link));
    let mut found = Vec::new();
    for (place, link, node_link) in own.into_iter().chain(of_cells) {
        for (kind, link) in [("link", link), ("node_link", node_link)] {
            let problems = link.as_ref().map(Link::problems).into_iter().flatten();
            found.extend(problems.map(|(key, why)| place.at(&format!("{kind}.{key}"), Refusal::new(why))));
        }
    }
    found
}

fn members(study: &Study) -> Vec<Located> {
    let own = [(Place::STUDY, study.nodes, study.replica_set)];
    let of_cells = cells(study).map(|(place, cell)| (place, cell.nodes, cell.replica_set));
    let mut found = Vec::new();
    for (place, nodes, replica_set) in own.into_iter().chain(of_cells) {
        if let Some(nodes) = nodes.filter(|nodes| !Study::NODES.contains(nodes)) {
            let instead = "a cluster has 3 or 5 nodes, so that most of them go on without one";
            let why = format!("nodes is {nodes}; {instead}, and a single server is 1");
            found.push(place.at("nodes", Refusal::new(why)));
        }
        if let Some(replica_set) = replica_set.filter(|replica_set| !replica_set.is_electable()) {
            let instead = "a replica set has 1, 3 or 5 members, so that one of them is always elected";
            let why = format!("members is {}; {instead}", replica_set.members);
            found.push(place.at("replica_set.members", Refusal::new(why)));
        }
    }
    found
}

fn arms_of_cells(study: &Study) -> Vec<Located> {
    let known: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let mut found = Vec::new();
    for (place, cell) in cells(study) {
        let Some((names, baseline)) = cell.arms.as_ref().zip(known.first()) else {
            continue;
        };
        for (index, name) in names.iter().enumerate() {
            let refusal = if !known.contains(&name.as_str()) {
                unknown("arm", name, &known)
            } else if names[..index].contains(name) {
                Refusal::new(format!("it names arm {name:?} twice; name it once"))
            } else {
                continue;
            };
            found.push(place.at(&format!("arms.{index}"), refusal));
        }
        if !names.iter().any(|name| name == baseline) {
            let why =
                format!("its arms must include {baseline:?}, the baseline they are compared with; add it");
            found.push(place.at("arms", Refusal::new(why)));
        } else if names.len() < 2 {
            let why = "a comparison needs a variant beside the baseline; add one to arms";
            found.push(place.at("arms", Refusal::new(why)));
        }
    }
    found
}

/// What is wrong with the arm and the cell that a figure is of; `None` means any of them.
fn measured(study: &Study, place: &Place, arm: Option<&str>, cell: Option<&str>) -> Vec<Located> {
    let variants: Vec<&str> = study.variants().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let unknown_arm = arm.filter(|arm| !variants.contains(arm));
    let unknown_cell = cell.filter(|cell| !cells.contains(cell));
    let mut found = Vec::new();
    if let Some(arm) = unknown_arm {
        let why = format!("{arm:?} is no variant of the study{}", hint(arm, &variants));
        found.push(place.at("arm", Refusal::new(why)));
    }
    if let Some(cell) = unknown_cell {
        found.push(place.at("cell", unknown("cell", cell, &cells)));
    }
    if let Some(arm) = arm.filter(|_| found.is_empty() && !cells.is_empty())
        && !study.measures(cell, Some(arm))
    {
        let cannot = match cell {
            Some(cell) => format!("arm {arm:?} is not measured in cell {cell:?}"),
            None => format!("arm {arm:?} is measured in no cell"),
        };
        let why = format!("{cannot}; take another, or add it to the arms of the cell");
        found.push(place.at("arm", Refusal::new(why)));
    }
    found
}

fn budgets(study: &Study) -> Vec<Located> {
    let mut found = Vec::new();
    for (index, budget) in study.budgets.iter().enumerate() {
        let place = Place::unnamed("budget", index);
        let (arm, cell) = (budget.arm.as_deref(), budget.cell.as_deref());
        found.extend(measured(study, &place, arm, cell));
        if Metric::MEASURED_ALONE.contains(&budget.metric) {
            found.push(place.at("metric", Refusal::new(Budget::not_compared(budget.metric))));
        }
        let problem = budget.problem();
        found.extend(problem.map(|why| place.at("at_most", Refusal::new(why))));
    }
    found
}

fn published(study: &Study) -> Vec<Located> {
    let kinds = Workload::Ycsb.descriptor().kinds;
    let mut found = Vec::new();
    for (index, row) in study.published.iter().enumerate() {
        let place = Place::unnamed("published", index);
        let (cell, metric) = (&row.cell, row.metric);
        found.extend(measured(study, &place, Some(&row.arm), Some(cell)));
        match &row.kind {
            Some(kind) if !kinds.contains(&kind.as_str()) => {
                found.push(place.at("kind", unknown("kind", kind, kinds)));
            }
            Some(_) if !Metric::COMPARED_BY_KIND.contains(&metric) => {
                let why = format!("the {metric} of one kind of operation is not compared; leave kind out");
                found.push(place.at("kind", Refusal::new(why)));
            }
            _ => {}
        }
        let named = study.cells.iter().find(|other| other.name == *cell);
        if named.is_some_and(|cell| !cell.workload.makes_connections())
            && Metric::COMPARED_OF_CONNECTS.contains(&metric)
        {
            let why =
                format!("cell {cell:?} makes no connections, which the {metric} is of; take another metric");
            found.push(place.at("metric", Refusal::new(why)));
        }
        let (key, why) = match row.figure() {
            // A ratio must be a positive number; a bound too.
            Some(PublishedFigure::Change(change)) if change > -1.0 && change.is_finite() => continue,
            Some(PublishedFigure::Within(bound)) if bound > 0.0 && bound.is_finite() => continue,
            None => (
                "",
                "a published figure is one thing; give change, or baseline and variant, or within",
            ),
            Some(PublishedFigure::Change(_)) => (
                "",
                "change must be a fraction above -1, and baseline and variant must be positive; -0.25 is a quarter less",
            ),
            Some(PublishedFigure::Within(_)) => (
                "within",
                "within must be a positive fraction; 0.05 is five percent",
            ),
        };
        found.push(place.at(key, Refusal::new(why)));
    }
    found
}
