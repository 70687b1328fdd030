//! What encrypted columns cost, and what of it is the cells' bytes, their encoding, their cipher, or a driver's eagerness; arms that
//! only look protected, and cells that can be guessed without a key.

mod steps;

use ciphertax_base::format::{fine, rounded};
use ciphertax_base::{Interval, joined};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{BASELINE, CellSamples};
use ciphertax_model::tpcc::COLUMNS;
use ciphertax_model::{
    Arm, CellAlgorithm, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection, Metric,
    Study, Workload,
};
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::jackknife::interval_of;

use super::{cause, finding, is_sure, share};

/// Who pays for a cell: whoever makes it, and whoever reads it.
const PAID: [Metric; 2] = [Metric::ClientCpuPerOp, Metric::ServerCpuPerOp];

/// Of all arms of a cell.
pub(super) fn in_cell(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    let costs = costs(run, samples, cell)?;
    findings.extend(costs.iter().map(CostPerCell::finding));
    findings.extend(linear(&costs));
    findings.extend(relay_in_server(run, cell));
    findings.extend(steps::steps(run, samples, cell)?);
    Ok(findings)
}

/// The arms of a cell with encrypted columns, in the study's order.
fn arms<'a>(run: &'a Run, cell: MeasuredCell<'a>) -> impl Iterator<Item = (&'a Arm, &'a ColumnEncryption)> {
    let arms = run.head.study.arms_of(cell.asked);
    arms.filter_map(|arm| Some((arm, arm.columns.as_ref()?)))
}

/// The part of the server's CPU from which on it is said that it is the relay's.
const WORTH_A_WORD: f64 = 0.05;

/// What of the baseline's server is ciphertax's own relay: the whole that changes in percent are of is larger by that.
fn relay_in_server(run: &Run, cell: MeasuredCell<'_>) -> Option<Finding> {
    let baseline = &run.head.study.baseline().name;
    let of = |metric| run.results.measured(&cell.asked.name, baseline, metric);
    let relay = of(Metric::ColumnRelayCpuPerOp)?;
    let server = of(Metric::ServerCpuPerOp)?;
    (relay.value >= WORTH_A_WORD * server.value).then(|| {
        cause(
            "relay-in-server",
            format!(
                "{}: {} of the server's CPU of {baseline} is ciphertax's own relay, which carries the answers of every arm. Changes in \
                 percent refer to both together.",
                cell.asked.name,
                share(relay.value, server.value)
            ),
            format!(
                "{} of {} per operation",
                rounded::microseconds(relay.value),
                rounded::microseconds(server.value)
            ),
        )
    })
}

/// Cells per operation from which on there is something to divide by.
const ENOUGH: f64 = 0.1;

/// What one side pays for an arm's cells.
struct CostPerCell {
    cell: String,
    arm: String,
    columns: ColumnEncryption,
    metric: Metric,
    /// Cells that were encrypted and decrypted, per operation.
    cells: f64,
    /// More CPU time per operation than the baseline's, in microseconds.
    per_operation: Interval,
    /// The same for each cell.
    per_cell: Interval,
}

/// Of all arms of a cell with encrypted columns that surely cost something.
fn costs(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<CostPerCell>, EstimateError> {
    let mut costs = Vec::new();
    for (arm, columns) in arms(run, cell) {
        let Some(place) = samples.index_of(&arm.name) else {
            continue;
        };
        for metric in PAID {
            let cost = run.results.estimate(&cell.asked.name, &arm.name, metric);
            let Some(cost) = cost.filter(|cost| is_sure(cost) && cost.low > 0.0) else {
                continue;
            };
            let taken = samples.taken([BASELINE, place], metric);
            let rows: Vec<[f64; 5]> = taken
                .map(|([a, of_a, b, of_b], slice)| [a, of_a, b, of_b, slice.cells as f64])
                .collect();
            let sum = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>();
            let cells = sum(4) / sum(3);
            if rows.len() < cost.blocks.max(2) as usize || !cells.is_finite() || cells < ENOUGH {
                continue;
            }
            let more = |[baseline_cpu, baseline_operations, cpu, operations, _]: &[f64; 5]| {
                cpu / operations - baseline_cpu / baseline_operations
            };
            costs.push(CostPerCell {
                cell: cell.asked.name.clone(),
                arm: arm.name.clone(),
                columns: columns.clone(),
                metric,
                cells,
                per_operation: interval_of(&rows, &[[0.0], [0.0]], |means, _| more(means))?,
                per_cell: interval_of(&rows, &[[0.0], [0.0]], |means, _| {
                    more(means) * means[3] / means[4]
                })?,
            });
        }
    }
    Ok(costs)
}

impl CostPerCell {
    fn finding(&self) -> Finding {
        let Self { cell, arm, .. } = self;
        cause(
            "cost-per-cell",
            format!(
                "{cell}: {arm} costs the {} {} for each of {} cells per operation.",
                payer(self.metric),
                rounded::microseconds_between(self.per_cell),
                fine(self.cells),
            ),
            format!(
                "{} per operation more than the baseline, {}",
                rounded::microseconds_between(self.per_operation),
                self.columns
            ),
        )
    }
}

/// Whose CPU a metric is.
fn payer(metric: Metric) -> &'static str {
    match metric {
        Metric::ClientCpuPerOp => "client",
        _ => "server",
    }
}

/// A part of the largest cost that a straight line may leave unexplained.
const STRAIGHT: f64 = 0.15;

/// For arms that differ in nothing but which columns they encrypt: the line through the origin that comes nearest to their costs,
/// and what it leaves.
fn linear(costs: &[CostPerCell]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut done: Vec<&CostPerCell> = Vec::new();
    for cost in costs {
        if done.iter().any(|other| is_alike(cost, other)) {
            continue;
        }
        done.push(cost);
        let alike: Vec<&CostPerCell> = costs.iter().filter(|other| is_alike(cost, other)).collect();
        findings.extend(of_alike(&alike));
    }
    findings
}

fn is_alike(one: &CostPerCell, other: &CostPerCell) -> bool {
    let of_none = |columns: &ColumnEncryption| ColumnEncryption {
        columns: ColumnSelection::None,
        ..columns.clone()
    };
    one.metric == other.metric && of_none(&one.columns) == of_none(&other.columns)
}

fn of_alike(costs: &[&CostPerCell]) -> Option<Finding> {
    let first = costs.first().filter(|_| costs.len() > 1)?;
    let sum = |of: &dyn Fn(&CostPerCell) -> f64| costs.iter().map(|cost| of(cost)).sum::<f64>();
    // Least squares through the origin.
    let slope = sum(&|cost| cost.cells * cost.per_operation.value) / sum(&|cost| cost.cells * cost.cells);
    let left = |cost: &CostPerCell| (cost.per_operation.value - slope * cost.cells).abs();
    let most = costs
        .iter()
        .map(|cost| cost.per_operation.value)
        .fold(0.0, f64::max);
    let worst = costs.iter().map(|cost| left(cost)).fold(0.0, f64::max);
    let is_straight = worst <= STRAIGHT * most
        || costs.iter().all(|cost| {
            let on_line = slope * cost.cells;
            cost.per_operation.low <= on_line && on_line <= cost.per_operation.high
        });
    let answer = match is_straight {
        true => "the cost is proportional to the cells",
        false => "the cost is not proportional to the cells",
    };
    let points = costs.iter().map(|cost| {
        format!(
            "{} cells cost {}",
            fine(cost.cells),
            rounded::microseconds_between(cost.per_operation)
        )
    });
    Some(cause(
        "cells-linear",
        format!(
            "{}, {} CPU: {answer}: {} per cell explain all but {} of the largest cost.",
            first.cell,
            payer(first.metric),
            rounded::microseconds(slope),
            share(worst, most)
        ),
        joined(points, "; "),
    ))
}

/// One for each arm that hides less than it seems to.
pub(super) fn unprotected(run: &Run) -> Vec<Finding> {
    let arms = run.head.study.arms.iter();
    let columns = arms.filter_map(|arm| Some((arm.name.as_str(), arm.columns.as_ref()?)));
    columns
        .flat_map(|(arm, columns)| {
            let told = |(id, severity, why): Told| {
                finding(severity, id, format!("{arm}: {why}."), columns.to_string())
            };
            let readable = readable(&run.head.study, columns);
            let readable =
                readable.map(|why| cause("readable-columns", format!("{arm}: {why}."), columns.to_string()));
            let told = [wrapped(columns), guessable(columns), in_the_clear(columns)]
                .into_iter()
                .flatten()
                .map(told);
            told.chain(readable).collect::<Vec<Finding>>()
        })
        .collect()
}

/// Of TPC-C's tables, the columns that stay readable beside those that are stored as cells, by name.
fn readable(study: &Study, columns: &ColumnEncryption) -> Option<String> {
    let is_tpcc = study.cells.iter().any(|cell| cell.workload == Workload::Tpcc);
    let readable = COLUMNS.iter().filter(|column| !column.is_in(&columns.columns));
    let mut by_table: Vec<(&str, Vec<&str>)> = Vec::new();
    for column in readable {
        match by_table.last_mut() {
            Some((table, names)) if *table == column.table => names.push(column.column),
            _ => by_table.push((column.table, vec![column.column])),
        }
    }
    let told = by_table
        .iter()
        .map(|(table, names)| format!("{table}: {}", names.join(", ")));
    (is_tpcc && columns.stores() && !by_table.is_empty()).then(|| {
        format!(
            "readable in the server, its files and logs: {}",
            joined(told, "; ")
        )
    })
}

/// An identifier, what it is, and the sentence.
type Told = (&'static str, Severity, &'static str);

fn wrapped(columns: &ColumnEncryption) -> Option<Told> {
    (columns.algorithm == CellAlgorithm::Wrapped).then(|| {
        let why = "unprotected: its cells hold plaintext, to show what a cell costs without its cipher";
        ("wrapped-cells", Severity::Suspicion, why)
    })
}

/// EncDB's deterministic vector is a hash of the plaintext without any key, in clear.
fn guessable(columns: &ColumnEncryption) -> Option<Told> {
    let is_hashed = columns.format == CellFormat::Encdb
        && columns.mode == CellMode::Deterministic
        && columns.algorithm != CellAlgorithm::Wrapped;
    is_hashed.then(|| {
        let why = "its vectors are unkeyed hashes of the plaintext, so anybody can guess numbers and names; use aead_cbc_hmac or csfle, \
                   whose deterministic vectors are keyed";
        ("guessable-cells", Severity::Advice, why)
    })
}

/// What the feature is not, which its name suggests.
fn in_the_clear(columns: &ColumnEncryption) -> Option<Told> {
    (columns.feature == ColumnFeature::InResults && columns.protects()).then(|| {
        let why = "tables and parameters are plaintext; only the server's answers are encrypted, with a key that the client gives it";
        ("encrypted-in-results", Severity::Cause, why)
    })
}
