//! Figures as comma-separated values (RFC 4180), for spreadsheets, R and pandas. Numbers have a decimal point and no unit, which
//! has a column or is in the column's name; what was not measured is empty.

use std::io::{self, Write};

use ciphertax_base::CpuTime;
use ciphertax_records::{EstimateRow, Run, Sample, Samples};
use ciphertax_stats::LatencyCounts;
use ciphertax_stats::histogram::empty;
use csv::{Writer, WriterBuilder};
use serde_json::{Value, json};

/// A column's name, and what a line has there.
type EstimateColumn = (&'static str, fn(&str, &EstimateRow, &str) -> Value);

/// The columns of a comparison, each with what a line has there, by the study, the comparison, and the kind of operation, which is
/// empty for all operations of a cell together. Changes are fractions: 0.05 is five percent more than the baseline. Differences are
/// in `unit`.
const ESTIMATE_COLUMNS: [EstimateColumn; 20] = [
    ("study", |study, _, _| json!(study)),
    ("cell", |_, row, _| json!(row.cell)),
    ("arm", |_, row, _| json!(row.arm)),
    ("kind", |_, _, kind| json!(kind)),
    ("metric", |_, row, _| json!(row.metric)),
    ("unit", |_, row, _| json!(row.unit)),
    ("baseline", |_, row, _| json!(row.baseline)),
    ("variant", |_, row, _| json!(row.variant)),
    ("change", |_, row, _| json!(row.change)),
    ("change_low", |_, row, _| json!(row.low)),
    ("change_high", |_, row, _| json!(row.high)),
    ("difference", |_, row, _| json!(row.difference.value)),
    ("difference_low", |_, row, _| json!(row.difference.low)),
    ("difference_high", |_, row, _| json!(row.difference.high)),
    ("blocks", |_, row, _| json!(row.blocks)),
    ("verdict", |_, row, _| json!(row.verdict)),
    ("rule", |_, row, _| json!(row.rule)),
    ("floor", |_, row, _| json!(row.floor)),
    ("margin", |_, row, _| json!(row.margin)),
    ("adjusted_p_value", |_, row, _| json!(row.adjusted_p_value)),
];

/// A line of column names, then one for every comparison: each variant with the baseline, the baseline with itself (the arm
/// `baseline again`), and each kind of operation where a cell has several. Of a run in which nothing was compared there are the
/// names alone.
///
/// # Errors
/// When nothing can be written.
pub fn estimates(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let results = &run.results;
    let study = run.head.study.name.as_str();
    let of_all = results.estimates.iter().chain(&results.noise_floor);
    let of_kinds = results.by_kind.iter();
    let rows = of_all
        .map(|row| (row, ""))
        .chain(of_kinds.map(|row| (&row.estimate, row.kind.as_str())));
    let mut lines = begun(out, ESTIMATE_COLUMNS.map(|(name, _)| name))?;
    for (row, kind) in rows {
        lines.serialize(
            ESTIMATE_COLUMNS
                .map(|(_, value)| value(study, row, kind))
                .as_slice(),
        )?;
    }
    lines.flush()
}

/// The file with its line of column names, which stands there also where no line follows.
fn begun<'a, const N: usize>(
    out: &'a mut dyn Write,
    names: [&str; N],
) -> io::Result<Writer<&'a mut dyn Write>> {
    let mut lines = WriterBuilder::new().has_headers(false).from_writer(out);
    lines.write_record(names)?;
    Ok(lines)
}

/// A column's name, and what a line has there.
type SampleColumn = (&'static str, fn(&Sample, &[Option<f64>; 4]) -> Value);

/// The columns of a slice, by its sample, and by mean, median and percentiles of its latencies in microseconds. Times begin with the
/// run. CPU times are of the whole slice; divided by `operations` they are what the report shows. Instructions and cycles are empty
/// where the CPU shows no counters. A slice that was looked into is in no comparison; one that is void says why.
const SAMPLE_COLUMNS: [SampleColumn; 25] = [
    ("cell", |sample, _| json!(sample.slice.cell)),
    ("block", |sample, _| json!(sample.slice.block)),
    ("position", |sample, _| json!(sample.slice.position)),
    ("arm", |sample, _| json!(sample.slice.arm)),
    ("start_s", |sample, _| json!(seconds(sample.start_ns))),
    ("duration_s", |sample, _| json!(seconds(sample.load.duration_ns))),
    ("operations", |sample, _| json!(sample.load.operation_count())),
    ("errors", |sample, _| json!(sample.load.error_count())),
    ("latency_mean_us", |_, latencies| json!(latencies[0])),
    ("latency_p50_us", |_, latencies| json!(latencies[1])),
    ("latency_p95_us", |_, latencies| json!(latencies[2])),
    ("latency_p99_us", |_, latencies| json!(latencies[3])),
    ("client_cpu_us", |sample, _| cpu_us(Some(sample.load.client_cpu))),
    ("server_cpu_us", |sample, _| cpu_us(sample.server.server_cpu)),
    ("tunnel_cpu_us", |sample, _| cpu_us(sample.server.tunnel_cpu)),
    ("pooler_cpu_us", |sample, _| cpu_us(sample.server.pooler_cpu)),
    ("bytes_sent", |sample, _| json!(sample.load.bytes_sent)),
    ("bytes_received", |sample, _| json!(sample.load.bytes_received)),
    ("client_context_switches", |sample, _| {
        json!(sample.load.client_context_switches)
    }),
    ("client_instructions", |sample, _| {
        json!(sample.load.client_hardware.map(|counts| counts.instructions))
    }),
    ("client_cycles", |sample, _| {
        json!(sample.load.client_hardware.map(|counts| counts.cycles))
    }),
    ("server_instructions", |sample, _| {
        json!(sample.server.server_hardware.map(|counts| counts.instructions))
    }),
    ("server_cycles", |sample, _| {
        json!(sample.server.server_hardware.map(|counts| counts.cycles))
    }),
    ("looked_into", |sample, _| json!(sample.look.is_some())),
    ("void", |sample, _| {
        json!(sample.void.as_ref().map(ToString::to_string))
    }),
];

/// A line of column names, then one for every slice in the order they were measured, void ones too. Slices are read one by one:
/// those of a long run need no memory.
///
/// # Errors
/// When a sample cannot be read, or nothing be written.
pub fn samples(samples: &dyn Samples, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = begun(out, SAMPLE_COLUMNS.map(|(name, _)| name))?;
    for index in 0..samples.count() {
        let sample = samples.get(index)?;
        let latencies = latencies(&sample)?;
        lines.serialize(
            SAMPLE_COLUMNS
                .map(|(_, value)| value(&sample, &latencies))
                .as_slice(),
        )?;
    }
    lines.flush()
}

fn cpu_us(cpu: Option<CpuTime>) -> Value {
    json!(cpu.map(|cpu| microseconds(cpu.total_ns)))
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
