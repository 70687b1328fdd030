//! What a study contradicts itself in as a whole: its place, its storage, its budgets, what others published.

use std::collections::HashSet;

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::authentication::{Authentication, AuthenticationMethod};
use crate::budget::{Budget, Published, PublishedFigure};
use crate::dataset::{Dataset, YcsbTable};
use crate::metric::Metric;
use crate::problem::hint;
use crate::server_cpu::{AgentAddress, CpuCounter};
use crate::storage::Storage;
use crate::study::{BASELINE_AGAIN, Cell, Placement, Precision, Study};
use crate::tls::Resumption;
use crate::workload::Workload;

/// A study needs two arms and a cell, and names that are unique.
pub(super) fn check_names(study: &Study, found: &mut Found) {
    if study.arms.len() < 2 {
        let message = "a comparison needs at least two arms: a baseline and a variant";
        found.add(Path::of("arm"), message);
    }
    if study.cells.is_empty() {
        found.add(Path::of("cell"), "there is no cell: nothing would be measured");
    }
    let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    for (kind, names) in [("arm", arms), ("cell", cells)] {
        let mut seen = HashSet::new();
        for (index, name) in names.into_iter().enumerate() {
            let path = Path::of(kind).entry(index).key("name");
            if !seen.insert(name) {
                let message = format!("two {kind}s are named {name:?}; {kind} names must be unique");
                found.add(path, message);
            } else if name.trim().is_empty() || name.contains(char::is_control) {
                let message = format!("{name:?} is no name: it must be one line of text");
                found.add(path, message);
            } else if kind == "arm" && name == BASELINE_AGAIN {
                found.add(
                    path,
                    format!("the arm name {name:?} is taken by the noise-floor arm"),
                );
            }
        }
    }
}

pub(super) fn check_measuring(study: &Study, found: &mut Found) {
    // Not what a counter of the server's CPU makes of it, which has bounds of its own.
    let slice_s = study.slice_s.unwrap_or(Study::SHORT_SLICE_S);
    if !Study::SLICE_S.contains(&slice_s) {
        let (least, most) = Study::SLICE_S.into_inner();
        let message = format!("slice_s is {slice_s}; it must lie between {least} and {most} seconds");
        found.add(Path::of("slice_s"), message);
    }
    if !Study::TIME_S.contains(&study.time_s) {
        let message = format!(
            "time_s is {}; it must lie between 1 second and one day",
            study.time_s
        );
        found.add(Path::of("time_s"), message);
    }
    let precision = &study.precision;
    for (key, value) in [("cpu", precision.cpu), ("throughput", precision.throughput)] {
        if !Precision::HALF_WIDTH.contains(&value) {
            let (least, most) = Precision::HALF_WIDTH.into_inner();
            let message = format!("precision.{key} is {value}; it must lie between {least} and {most}");
            found.add(Path::of("precision").key(key), message);
        }
    }
    let dataset = &study.dataset;
    for (key, value, most) in [
        ("tables", dataset.tables, Dataset::MOST_TABLES),
        ("table_size", dataset.table_size, Dataset::MOST_ROWS),
    ] {
        if !(1..=most).contains(&value) {
            let message = format!("dataset.{key} is {value}; it must lie between 1 and {most}");
            found.add(Path::of("dataset").key(key), message);
        }
    }
    let table = &study.ycsb;
    for (key, value, most) in [
        ("record_count", table.record_count, Dataset::MOST_ROWS),
        ("field_count", table.field_count.into(), YcsbTable::MOST_FIELDS),
        ("field_length", table.field_length, YcsbTable::LONGEST_FIELD),
        ("batch_size", table.batch_size, YcsbTable::LARGEST_BATCH),
        ("load_threads", table.load_threads, YcsbTable::MOST_LOADERS),
    ] {
        if !(1..=most).contains(&value) {
            let message = format!("ycsb.{key} is {value}; it must lie between 1 and {most}");
            found.add(Path::of("ycsb").key(key), message);
        }
    }
    if table.record_bytes() > YcsbTable::LARGEST_RECORD {
        let message = format!(
            "records of {} bytes are too large; field_count times field_length must be at most {}",
            table.record_bytes(),
            YcsbTable::LARGEST_RECORD
        );
        found.add(Path::of("ycsb").key("field_length"), message);
    }
    if !Study::CHAIN_LENGTH.contains(&study.chain_length) {
        let (least, most) = Study::CHAIN_LENGTH.into_inner();
        let message = format!(
            "chain_length is {}; it must lie between {least} and {most}",
            study.chain_length
        );
        found.add(Path::of("chain_length"), message);
    }
}

/// A link, and what carries an arm, are processes of their own. On the one CPU of server and load they would be billed to
/// both.
pub(super) fn check_placement(study: &Study, found: &mut Found) {
    let of_arm = |arm: &Arm| Some(format!("the {} of arm {:?}", arm.is_carried_by()?, arm.name));
    let in_the_way = |cell: &Cell| match study.link(cell) {
        Some(_) => Some(format!("the link of cell {:?}", cell.name)),
        None => study.arms_of(cell).find_map(of_arm),
    };
    let what = study.cells.iter().find_map(in_the_way);
    if let (Placement::Together, Some(what)) = (study.placement, what) {
        let message = format!(
            "placement = \"together\" puts server and load on one CPU, but {what} needs a CPU of its own; take \
             placement = \"free\""
        );
        found.add(Path::of("placement"), message);
    }
}

/// Of an arm and a cell of the study; `None` means any of them.
pub(super) fn check_place(
    study: &Study,
    arm: Option<&str>,
    cell: Option<&str>,
    path: &Path,
    found: &mut Found,
) {
    let variants: Vec<&str> = study.variants().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    if let Some(arm) = arm.filter(|arm| !variants.contains(arm)) {
        let message = format!("{arm:?} is no variant of the study{}", hint(arm, &variants));
        found.add(path.key("arm"), message);
    }
    if let Some(cell) = cell.filter(|cell| !cells.contains(cell)) {
        let message = format!("unknown cell {cell:?}{}", hint(cell, &cells));
        found.add(path.key("cell"), message);
    }
    let is_there = match cell {
        Some(cell) => cells.contains(&cell),
        None => !cells.is_empty(),
    };
    if let Some(arm) = arm.filter(|arm| variants.contains(arm))
        && is_there
        && !study.measures(cell, Some(arm))
    {
        let message = match cell {
            Some(cell) => format!("arm {arm:?} is not measured in cell {cell:?}"),
            None => format!("arm {arm:?} is measured in no cell"),
        };
        found.add(path.key("arm"), message);
    }
}

/// `path` is that of the settings.
pub(super) fn check_storage(storage: &Storage, path: &Path, found: &mut Found) {
    if let Some(mb) = storage.memory_mb
        && !Storage::MEMORY_MB.contains(&mb)
    {
        let (least, most) = Storage::MEMORY_MB.into_inner();
        let message = format!("storage.memory_mb is {mb}; it must lie between {least} and {most}");
        found.add(path.key("memory_mb"), message);
    }
    if let Some(when) = storage.flush_log_at_trx_commit
        && !Storage::FLUSH_LOG_AT_TRX_COMMIT.contains(&when)
    {
        let message = format!("storage.flush_log_at_trx_commit is {when}; it must be 0, 1 or 2");
        found.add(path.key("flush_log_at_trx_commit"), message);
    }
    let Some(commits) = storage.sync_binlog else {
        return;
    };
    if !storage.binary_log {
        let message = "storage.sync_binlog says nothing without a binary log; add binary_log = true";
        found.add(path.key("sync_binlog"), message);
    } else if !Storage::SYNC_BINLOG.contains(&commits) {
        let (least, most) = Storage::SYNC_BINLOG.into_inner();
        let message = format!("storage.sync_binlog is {commits}; it must lie between {least} and {most}");
        found.add(path.key("sync_binlog"), message);
    }
}

/// What cannot tell a server's CPU time.
pub(super) fn check_server_cpu(study: &Study, found: &mut Found) {
    if let Some(agent) = &study.agent
        && let Err(error) = agent.parse::<AgentAddress>()
    {
        found.add(Path::of("agent"), format!("agent {agent:?} is no agent: {error}"));
    }
    let Some(counter) = &study.server_cpu else {
        return;
    };
    let path = || Path::of("server_cpu");
    if study.agent.is_some() {
        let message = "agent and server_cpu both tell the server's CPU time; leave one of them out";
        found.add(path(), message);
    }
    if counter.command.is_empty() == counter.exporter.is_none() {
        let message = "server_cpu needs either command = [\"PROGRAM\", \"ARGUMENT\"] or exporter = \"http://host:9100/metrics\"";
        found.add(path(), message);
    }
    if let Some(problem) = counter.wrong_exporter() {
        found.add(path().key("exporter"), format!("server_cpu.exporter: {problem}"));
    }
    if let Some(seconds) = counter.resolution_s
        && !CpuCounter::RESOLUTION_S.contains(&seconds)
    {
        let (least, most) = CpuCounter::RESOLUTION_S.into_inner();
        let message =
            format!("server_cpu.resolution_s is {seconds}; it must lie between {least} and {most} seconds");
        found.add(path().key("resolution_s"), message);
    }
}

/// What a budget cannot be of.
pub(super) fn check_budget(study: &Study, budget: &Budget, path: &Path, found: &mut Found) {
    check_place(study, budget.arm.as_deref(), budget.cell.as_deref(), path, found);
    if Metric::MEASURED_ALONE.contains(&budget.metric) {
        found.add(path.key("metric"), Budget::not_compared(budget.metric));
    }
    if let Some(problem) = budget.problem() {
        found.add(path.key("at_most"), problem);
    }
}

/// What a published figure cannot be of.
pub(super) fn check_published(study: &Study, row: &Published, path: &Path, found: &mut Found) {
    check_place(study, Some(&row.arm), Some(&row.cell), path, found);
    if let Some(kind) = &row.kind {
        let kinds = Workload::Ycsb.descriptor().kinds;
        if !kinds.contains(&kind.as_str()) {
            found.add(
                path.key("kind"),
                format!("unknown kind {kind:?}{}", hint(kind, kinds)),
            );
        } else if !Metric::COMPARED_BY_KIND.contains(&row.metric) {
            let message = format!(
                "the {} of one kind of operation is not compared; leave kind out",
                row.metric
            );
            found.add(path.key("kind"), message);
        }
    }
    let cell = study.cells.iter().find(|cell| cell.name == row.cell);
    if cell.is_some_and(|cell| !cell.workload.makes_connections())
        && Metric::COMPARED_OF_CONNECTS.contains(&row.metric)
    {
        let message = format!(
            "cell {:?} makes no connections, which the {} is of",
            row.cell, row.metric
        );
        found.add(path.key("metric"), message);
    }
    match row.figure() {
        None => {
            let message = "a published figure is either change, or baseline and variant, or within";
            found.add(path.clone(), message);
        }
        // A ratio must be a positive number; a bound too.
        Some(PublishedFigure::Change(change)) if change > -1.0 && change.is_finite() => {}
        Some(PublishedFigure::Within(bound)) if bound > 0.0 && bound.is_finite() => {}
        Some(PublishedFigure::Change(_)) => {
            let message = "change must be a fraction above -1: -0.25 is a quarter less; baseline and variant must \
                           be positive";
            found.add(path.clone(), message);
        }
        Some(PublishedFigure::Within(_)) => {
            found.add(
                path.key("within"),
                "within must be a positive fraction: 0.05 is five percent",
            );
        }
    }
}

/// What an arm of PostgreSQL's cannot be.
pub(super) fn check_postgresql(arm: &Arm, path: &Path, found: &mut Found) {
    let is_resumed = arm.transport.is_encrypted() && arm.tls.resumption != Resumption::Off;
    if is_resumed && is_of_postgresql(arm) {
        let message = format!(
            "arm {:?}: PostgreSQL resumes no TLS sessions; leave resumption out",
            arm.name
        );
        found.add(path.key("tls").key("resumption"), message);
    }
    check_scram(arm, &path.key("authentication"), found);
}

fn check_scram(arm: &Arm, path: &Path, found: &mut Found) {
    let name = &arm.name;
    let method = arm.authentication.method;
    if method == Some(AuthenticationMethod::ScramSha256Plus) && !arm.transport.is_encrypted() {
        let message = format!(
            "arm {name:?}: SCRAM-SHA-256-PLUS binds the login to the TLS session; give it a TLS transport, or take \
             SCRAM-SHA-256"
        );
        found.add(path.key("method"), message);
    }
    let Some(iterations) = arm.authentication.scram_iterations else {
        return;
    };
    let path = path.key("scram_iterations");
    let is_of_postgresql = |method: AuthenticationMethod| method.is_scram() && method.is_of_postgresql();
    if !method.is_some_and(is_of_postgresql) {
        let message = format!(
            "arm {name:?}: only SCRAM-SHA-256 and SCRAM-SHA-256-PLUS on PostgreSQL have iterations to choose; leave \
             scram_iterations out or set method"
        );
        found.add(path, message);
    } else if !Authentication::SCRAM_ITERATIONS.contains(&iterations) {
        let (least, most) = Authentication::SCRAM_ITERATIONS.into_inner();
        let message = format!("arm {name:?}: scram_iterations must lie between {least} and {most}");
        found.add(path, message);
    }
}

/// True if an arm has what only PostgreSQL has.
fn is_of_postgresql(arm: &Arm) -> bool {
    let is_only_there = |method: AuthenticationMethod| method.is_of_postgresql() && !method.is_of_mongodb();
    arm.setting_of_postgresql().is_some() || arm.authentication.method.is_some_and(is_only_there)
}
