//! Figures as comma-separated values (RFC 4180), for spreadsheets, R and pandas. Numbers have a decimal point and no unit, which
//! has a column or is in the column's name; what was not measured is empty.

use std::io::{self, Write};

use ciphertax_base::CpuTime;
use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run, Sample, Samples};
use ciphertax_stats::histogram::empty;
use ciphertax_stats::{LatencyCounts, Rule, Verdict};
use csv::Writer;
use serde::Serialize;

/// A line, whose fields are the columns.
#[derive(Serialize)]
struct EstimateLine<'a> {
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
    lines.write_record(ESTIMATE_COLUMNS)?;
    for row in results.estimates.iter().chain(&results.noise_floor) {
        write(&mut lines, run, row, "")?;
    }
    for row in &results.by_kind {
        write(&mut lines, run, &row.estimate, &row.kind)?;
    }
    lines.flush()
}

/// The fields of a line: they stand there also where no line follows.
const ESTIMATE_COLUMNS: [&str; 20] = [
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
    let line = EstimateLine {
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

/// A line, whose fields are the columns.
#[derive(Serialize)]
struct SampleLine<'a> {
    cell: &'a str,
    block: u32,
    position: u32,
    arm: &'a str,
    /// From the beginning of the run.
    start_s: f64,
    duration_s: f64,
    operations: u64,
    errors: u64,
    latency_mean_us: Option<f64>,
    latency_p50_us: Option<f64>,
    latency_p95_us: Option<f64>,
    latency_p99_us: Option<f64>,
    /// CPU times of the whole slice; divided by `operations` they are what the report shows.
    client_cpu_us: f64,
    server_cpu_us: Option<f64>,
    tunnel_cpu_us: Option<f64>,
    pooler_cpu_us: Option<f64>,
    bytes_sent: u64,
    bytes_received: u64,
    client_context_switches: u64,
    /// Empty where the CPU shows no counters.
    client_instructions: Option<u64>,
    client_cycles: Option<u64>,
    server_instructions: Option<u64>,
    server_cycles: Option<u64>,
    /// True for a slice that says why: its figures are in no comparison.
    looked_into: bool,
    /// Why the slice does not count; empty for one that does.
    void: Option<String>,
}

const SAMPLE_COLUMNS: [&str; 25] = [
    "cell",
    "block",
    "position",
    "arm",
    "start_s",
    "duration_s",
    "operations",
    "errors",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p95_us",
    "latency_p99_us",
    "client_cpu_us",
    "server_cpu_us",
    "tunnel_cpu_us",
    "pooler_cpu_us",
    "bytes_sent",
    "bytes_received",
    "client_context_switches",
    "client_instructions",
    "client_cycles",
    "server_instructions",
    "server_cycles",
    "looked_into",
    "void",
];

/// A line of column names, then one for every slice in the order they were measured, void ones too. Slices are read one by one:
/// those of a long run need no memory.
///
/// # Errors
/// When a sample cannot be read, or nothing be written.
pub fn samples(samples: &dyn Samples, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    lines.write_record(SAMPLE_COLUMNS)?;
    for index in 0..samples.count() {
        lines.serialize(line(samples.get(index)?.as_ref())?)?;
    }
    lines.flush()
}

fn line(sample: &Sample) -> io::Result<SampleLine<'_>> {
    let Sample {
        slice, load, server, ..
    } = sample;
    let [mean, p50, p95, p99] = latencies(sample)?;
    let us = |cpu: Option<CpuTime>| cpu.map(|cpu| microseconds(cpu.total_ns));
    Ok(SampleLine {
        cell: &slice.cell,
        block: slice.block,
        position: slice.position,
        arm: &slice.arm,
        start_s: seconds(sample.start_ns),
        duration_s: seconds(load.duration_ns),
        operations: load.operation_count(),
        errors: load.error_count(),
        latency_mean_us: mean,
        latency_p50_us: p50,
        latency_p95_us: p95,
        latency_p99_us: p99,
        client_cpu_us: microseconds(load.client_cpu.total_ns),
        server_cpu_us: us(server.server_cpu),
        tunnel_cpu_us: us(server.tunnel_cpu),
        pooler_cpu_us: us(server.pooler_cpu),
        bytes_sent: load.bytes_sent,
        bytes_received: load.bytes_received,
        client_context_switches: load.client_context_switches,
        client_instructions: load.client_hardware.map(|counts| counts.instructions),
        client_cycles: load.client_hardware.map(|counts| counts.cycles),
        server_instructions: server.server_hardware.map(|counts| counts.instructions),
        server_cycles: server.server_hardware.map(|counts| counts.cycles),
        looked_into: sample.look.is_some(),
        void: sample.void.as_ref().map(ToString::to_string),
    })
}

/// Mean, median and percentiles of all operations together, in microseconds; none where no latency was recorded.
fn latencies(sample: &Sample) -> io::Result<[Option<f64>; 4]> {
    let mut all = empty();
    let mut sum_ns = 0.0;
    for operations in &sample.load.operations {
        let counts = LatencyCounts::try_from(&operations.latency).map_err(io::Error::other)?;
        counts.add_to(&mut all);
        sum_ns += operations.latency_sum_ns as f64;
    }
    if all.is_empty() {
        return Ok([None; 4]);
    }
    let mean = sum_ns / all.len() as f64 / 1e3;
    let quantile = |quantile| Some(microseconds(all.value_at_quantile(quantile)));
    Ok([Some(mean), quantile(0.5), quantile(0.95), quantile(0.99)])
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}
