//! Where the time of a connect goes.

use ciphertax_model::Metric;
use ciphertax_records::{Measurement, Phase, PhaseRow, PhaseSample};
use ciphertax_stats::histogram::{self, HistogramError, decode};

use crate::ExplainError;
use crate::cell::CellSamples;

/// The phases of every arm add up to its mean latency among the `measurements`, which is the baseline's times the paired
/// ratio: so what a table of phases says of a connect is what every other figure says.
pub(crate) fn rows(
    cells: &[CellSamples<'_>],
    measurements: &[Measurement],
) -> Result<Vec<PhaseRow>, ExplainError> {
    let mut rows = Vec::new();
    for cell in cells {
        for arm in 0..cell.arms.len() {
            let of_arm = rows.len();
            for phase in Phase::ALL {
                let samples: Vec<&PhaseSample> = cell
                    .valid(arm)
                    .flat_map(|sample| &sample.phases)
                    .filter(|sample| sample.phase == phase)
                    .collect();
                rows.extend(row(cell, arm, phase, &samples)?);
            }
            let latency = measurements.iter().find(|row| {
                row.cell == cell.cell.name && row.arm == cell.arms[arm] && row.metric == Metric::LatencyMean
            });
            if let Some(latency) = latency {
                add_up_to(latency.value, &mut rows[of_arm..]);
            }
        }
    }
    Ok(rows)
}

/// Scales all means alike. A connect is its phases, so what is scaled away is only that slices count otherwise.
fn add_up_to(total_us: f64, rows: &mut [PhaseRow]) {
    let sum: f64 = rows.iter().map(|row| row.mean_us).sum();
    let factor = total_us / sum;
    if !factor.is_finite() {
        return;
    }
    for row in rows {
        row.mean_us *= factor;
        row.client_cpu_us = row.client_cpu_us.map(|us| us * factor);
    }
}

fn row(
    cell: &CellSamples<'_>,
    arm: usize,
    phase: Phase,
    samples: &[&PhaseSample],
) -> Result<Option<PhaseRow>, ExplainError> {
    let count: u64 = samples.iter().map(|sample| sample.count).sum();
    if count == 0 {
        return Ok(None);
    }
    let mut wall = histogram::empty();
    for sample in samples {
        wall.add(decode(&sample.wall)?)
            .map_err(|error| HistogramError::Format(error.to_string()))?;
    }
    let per_connect = |field: fn(&PhaseSample) -> u64| {
        samples.iter().map(|sample| field(sample)).sum::<u64>() as f64 / count as f64
    };
    let percentile_us = |quantile| wall.value_at_quantile(quantile) as f64 / 1e3;
    let has_cpu = samples.iter().any(|sample| sample.client_cpu_sum_ns.is_some());
    Ok(Some(PhaseRow {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        phase,
        mean_us: per_connect(|sample| sample.wall_sum_ns) / 1e3,
        p50_us: percentile_us(0.50),
        p95_us: percentile_us(0.95),
        p99_us: percentile_us(0.99),
        client_cpu_us: has_cpu.then(|| per_connect(|sample| sample.client_cpu_sum_ns.unwrap_or(0)) / 1e3),
        bytes_sent: per_connect(|sample| sample.bytes_sent),
        bytes_received: per_connect(|sample| sample.bytes_received),
        flights: per_connect(|sample| sample.flights),
    }))
}
