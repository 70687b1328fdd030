//! What follows from a run, one comparison a line.

use std::io::{self, Write};

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::{Rule, Verdict};
use csv::Writer;
use serde::Serialize;

/// A line, whose fields are the columns.
#[derive(Serialize)]
struct Line<'a> {
    study: &'a str,
    cell: &'a str,
    arm: &'a str,
    /// Empty for all operations of a cell together.
    kind: &'a str,
    metric: Metric,
    unit: &'a str,
    baseline: f64,
    variant: f64,
    /// Fractions: 0.05 is five percent more than the baseline.
    change: f64,
    change_low: f64,
    change_high: f64,
    /// In `unit`.
    difference: f64,
    difference_low: f64,
    difference_high: f64,
    blocks: u32,
    verdict: Verdict,
    rule: Rule,
    floor: Option<f64>,
    margin: f64,
    adjusted_p_value: f64,
}

/// A line of column names, then one for every comparison: each variant with the baseline, the baseline with itself (the arm
/// `baseline again`), and each kind of operation where a cell has several. Of a run in which nothing was compared there are the
/// names alone.
///
/// # Errors
/// When nothing can be written.
pub fn estimates(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let results = &run.results;
    let mut lines = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    lines.write_record(COLUMNS)?;
    for row in results.estimates.iter().chain(&results.noise_floor) {
        write(&mut lines, run, row, "")?;
    }
    for row in &results.by_kind {
        write(&mut lines, run, &row.estimate, &row.kind)?;
    }
    lines.flush()
}

/// The fields of a line: they stand there also where no line follows.
const COLUMNS: [&str; 20] = [
    "study",
    "cell",
    "arm",
    "kind",
    "metric",
    "unit",
    "baseline",
    "variant",
    "change",
    "change_low",
    "change_high",
    "difference",
    "difference_low",
    "difference_high",
    "blocks",
    "verdict",
    "rule",
    "floor",
    "margin",
    "adjusted_p_value",
];

fn write(lines: &mut Writer<&mut dyn Write>, run: &Run, row: &EstimateRow, kind: &str) -> io::Result<()> {
    let line = Line {
        study: &run.head.study.name,
        cell: &row.cell,
        arm: &row.arm,
        kind,
        metric: row.metric,
        unit: &row.unit,
        baseline: row.baseline,
        variant: row.variant,
        change: row.change,
        change_low: row.low,
        change_high: row.high,
        difference: row.difference.value,
        difference_low: row.difference.low,
        difference_high: row.difference.high,
        blocks: row.blocks,
        verdict: row.verdict,
        rule: row.rule,
        floor: row.floor,
        margin: row.margin,
        adjusted_p_value: row.adjusted_p_value,
    };
    lines.serialize(line).map_err(io::Error::from)
}
