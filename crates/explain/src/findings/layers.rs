//! At which layer data at rest are encrypted, and what else differs from the baseline there.

use ciphertax_base::Interval;
use ciphertax_base::format::rounded;
use ciphertax_base::joined;
use ciphertax_model::{Arm, FileSystem, Metric};
use ciphertax_records::{DiskRecord, EstimateRow, Finding, MeasuredCell, Readability, Run, Severity};
use ciphertax_stats::Verdict;

use super::{cause, finding};

/// Who encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Server,
    Kernel,
    UserSpace,
}

impl Layer {
    /// The one at which an arm encrypts alone; `None` for one that encrypts at none, at several, or in statements.
    fn of(arm: &Arm) -> Option<Self> {
        let at_rest = arm.at_rest;
        let below = at_rest
            .file_system
            .filter(|file_system| file_system.is_encrypted());
        match (at_rest.parts().next(), below) {
            (None, Some(FileSystem::Fscrypt)) => Some(Self::Kernel),
            (None, Some(_)) => Some(Self::UserSpace),
            (Some(_), None) => Some(Self::Server),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Server => "the server itself",
            Self::Kernel => "the kernel's file system",
            Self::UserSpace => "a file system in user space",
        }
    }
}

/// What one layer costs in a cell.
struct Cost<'a> {
    arm: &'a str,
    layer: Layer,
    own: &'a EstimateRow,
    workers: Option<&'a EstimateRow>,
    throughput: Option<&'a EstimateRow>,
    /// CPU time more than the baseline's in microseconds per operation, whoever takes it.
    more_us: Interval,
}

/// Which layer takes least, and what each leaves readable.
pub(super) fn which_layer(run: &Run, cell: MeasuredCell<'_>) -> Option<Finding> {
    let mut costs: Vec<Cost<'_>> = run
        .head
        .variants()
        .filter_map(|arm| cost(run, cell, &arm.name))
        .collect();
    let first = costs.first()?.layer;
    if costs.iter().all(|cost| cost.layer == first) {
        return None;
    }
    costs.sort_by(|one, other| one.more_us.value.total_cmp(&other.more_us.value));
    let (least, others) = costs.split_first()?;
    let floor_us = least
        .own
        .floor
        .map_or(f64::INFINITY, |floor| floor * least.own.baseline);
    let is_like_it = |other: &&Cost<'_>| {
        other.more_us.low <= least.more_us.high || other.more_us.value - least.more_us.value <= floor_us
    };
    let like_it: Vec<&str> = others.iter().filter(is_like_it).map(|other| other.arm).collect();
    let name = &cell.asked.name;
    let (severity, answer) = match like_it.as_slice() {
        [] => (
            Severity::Advice,
            format!(
                "{name}: encrypt in {} ({}), which takes least CPU",
                least.layer.in_words(),
                least.arm
            ),
        ),
        _ => (
            Severity::Cause,
            format!(
                "{name}: {} seems to take least CPU, but this run cannot tell it from {}",
                least.arm,
                like_it.join(", ")
            ),
        ),
    };
    let servers = costs.iter().filter(|cost| cost.layer == Layer::Server);
    let readable: String = servers.filter_map(|cost| readable(run, cell, cost.arm)).collect();
    Some(finding(
        severity,
        "which-layer",
        format!(
            "{answer}.{readable} An encrypted file system protects a stolen disk, not files on the running machine."
        ),
        joined(costs.iter().map(in_words), "; "),
    ))
}

/// What differs besides encryption: a file system in user space has no twin that does not encrypt.
pub(super) fn not_encryption_alone(run: &Run, arm: &str) -> Option<Finding> {
    let study = &run.head.study;
    let asked = study.arm(arm)?;
    let baseline = study.baseline();
    if !is_in_user_space(asked) || is_in_user_space(baseline) {
        return None;
    }
    let folder = match baseline.at_rest.file_system {
        Some(FileSystem::Ext4 | FileSystem::Fscrypt) => {
            ", and its files are in a folder of the machine's file system, not in an image"
        }
        _ => "",
    };
    let daemons = run.cells().filter_map(|cell| {
        let daemon = run
            .results
            .measured(&cell.asked.name, arm, Metric::FileSystemCpuPerOp)?;
        Some(format!(
            "{}: its daemon takes {} of CPU per operation",
            cell.asked.name,
            rounded::microseconds(daemon.value)
        ))
    });
    let evidence = joined(daemons, "; ");
    Some(cause(
        "not-encryption-alone",
        format!(
            "{arm} differs from {} in more than encryption: each read and write goes through a daemon (FUSE){folder}. Its cost includes \
             that. A file system in user space without encryption was not measured (a bind mount is not one).",
            baseline.name
        ),
        match evidence.is_empty() {
            true => "the file systems of the arms".to_owned(),
            false => evidence,
        },
    ))
}

fn is_in_user_space(arm: &Arm) -> bool {
    arm.at_rest.file_system.is_some_and(FileSystem::is_in_user_space)
}

fn cost<'a>(run: &'a Run, cell: MeasuredCell<'_>, arm: &'a str) -> Option<Cost<'a>> {
    let asked = run.head.study.arm(arm)?;
    let name = &cell.asked.name;
    let own = run.results.estimate(name, arm, run.results.server_cpu(name))?;
    let workers = run.results.estimate(name, arm, Metric::KernelWorkersCpuPerOp);
    let more = |row: &EstimateRow| [row.change, row.low, row.high].map(|change| change * row.baseline);
    let workers_more = workers.map_or([0.0; 3], more);
    let [value, low, high] = std::array::from_fn(|index| more(own)[index] + workers_more[index]);
    Some(Cost {
        arm,
        layer: Layer::of(asked)?,
        own,
        workers,
        throughput: run.results.estimate(name, arm, Metric::Throughput),
        more_us: Interval { value, low, high },
    })
}

fn in_words(cost: &Cost<'_>) -> String {
    let change = |row: &EstimateRow| {
        let undecided = match row.verdict {
            Verdict::CannotTell => " (not decided)",
            Verdict::CostsPerhaps | Verdict::GainsPerhaps => " (perhaps)",
            _ => "",
        };
        format!("{}{undecided}", rounded::change(row.interval()))
    };
    let workers = cost.workers.map(|row| {
        format!(
            ", kernel workers' CPU {} of {}",
            change(row),
            rounded::microseconds(row.baseline)
        )
    });
    let throughput = cost.throughput.map(|row| format!(", throughput {}", change(row)));
    format!(
        "{}: server and file system CPU {} of {}{}{}",
        cost.arm,
        change(cost.own),
        rounded::microseconds(cost.own.baseline),
        workers.unwrap_or_default(),
        throughput.unwrap_or_default()
    )
}

/// What stays readable of an arm that encrypts by itself; empty where that is nothing.
fn readable(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<String> {
    let record = run.head.arm(arm)?;
    let is_of_cell = |disk: &&DiskRecord| disk.kinds(Readability::Encrypted).next().is_some();
    let mut sessions = record.sessions.iter().filter(|session| {
        let mut servers = run.head.servers.iter();
        servers.any(|server| server.id == session.server_id && server.cells.contains(&cell.asked.name))
    });
    let disk = sessions.find_map(|session| session.disk.as_ref().filter(is_of_cell))?;
    let kinds: Vec<&str> = [Readability::Readable, Readability::Unencrypted]
        .into_iter()
        .flat_map(|readability| disk.kinds(readability))
        .filter(|kind| !is_of_all_files(kind))
        .collect();
    (!kinds.is_empty()).then(|| format!(" {arm} does not encrypt {}.", kinds.join(", ")))
}

/// True for what is said of the disk as a whole, beneath a file system of the server's own.
fn is_of_all_files(kind: &str) -> bool {
    ["files on the disk", "names of files"].contains(&kind)
}
