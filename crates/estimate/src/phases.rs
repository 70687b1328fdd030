//! The phases of connects.

use ciphertax_base::Phase;
use ciphertax_model::Metric;
use ciphertax_records::{ConnectRow, Measurement, PhaseRow, PhaseSample, Samples};
use ciphertax_stats::{LatencyCounts, histogram};
use hdrhistogram::Histogram;

use crate::EstimateError;
use crate::cell::CellSamples;

/// The phases of every arm add up to its mean latency among the `measurements`, which is the baseline's times the paired
/// ratio: so what a table of phases says of a connect is what every other figure says.
pub(crate) fn phases(
    cells: &[CellSamples<'_>],
    samples: &(impl Samples + ?Sized),
    measurements: &[Measurement],
) -> Result<Vec<PhaseRow>, EstimateError> {
    let mut rows = Vec::new();
    for cell in cells.iter().filter(|cell| cell.cell.workload.makes_connections()) {
        for arm in 0..cell.arms.len() {
            let of_arm = rows.len();
            let mut sums: Vec<PhaseSum> = Vec::new();
            for slice in cell.valid(arm) {
                for phase in &samples.load(slice.index)?.phases {
                    match sums.iter_mut().find(|sum| sum.phase == phase.phase) {
                        Some(sum) => sum.add(phase)?,
                        None => {
                            let mut sum = PhaseSum::new(phase.phase);
                            sum.add(phase)?;
                            sums.push(sum);
                        }
                    }
                }
            }
            sums.sort_by_key(|sum| sum.phase);
            rows.extend(
                sums.iter()
                    .filter(|sum| sum.count > 0)
                    .map(|sum| sum.row(cell, arm)),
            );
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

/// One phase over all slices of an arm.
struct PhaseSum {
    phase: Phase,
    count: u64,
    wall_ns: u64,
    client_cpu_ns: Option<u64>,
    bytes_sent: u64,
    bytes_received: u64,
    flights: u64,
    wall: Histogram<u64>,
}

impl PhaseSum {
    fn new(phase: Phase) -> Self {
        Self {
            phase,
            count: 0,
            wall_ns: 0,
            client_cpu_ns: None,
            bytes_sent: 0,
            bytes_received: 0,
            flights: 0,
            wall: histogram::empty(),
        }
    }

    fn add(&mut self, sample: &PhaseSample) -> Result<(), EstimateError> {
        self.count += sample.count;
        self.wall_ns += sample.wall_sum_ns;
        if let Some(more) = sample.client_cpu_sum_ns {
            *self.client_cpu_ns.get_or_insert_default() += more;
        }
        self.bytes_sent += sample.bytes_sent;
        self.bytes_received += sample.bytes_received;
        self.flights += sample.flights;
        LatencyCounts::try_from(&sample.wall)?.add_to(&mut self.wall);
        Ok(())
    }

    fn row(&self, cell: &CellSamples<'_>, arm: usize) -> PhaseRow {
        let per_connect = |sum: u64| sum as f64 / self.count as f64;
        let percentile_us = |quantile| self.wall.value_at_quantile(quantile) as f64 / 1e3;
        PhaseRow {
            cell: cell.cell.name.clone(),
            arm: cell.arms[arm].clone(),
            phase: self.phase,
            mean_us: per_connect(self.wall_ns) / 1e3,
            p50_us: percentile_us(0.50),
            p95_us: percentile_us(0.95),
            p99_us: percentile_us(0.99),
            client_cpu_us: self.client_cpu_ns.map(|ns| per_connect(ns) / 1e3),
            bytes_sent: per_connect(self.bytes_sent),
            bytes_received: per_connect(self.bytes_received),
            flights: per_connect(self.flights),
        }
    }
}

/// How the connects of a cell logged in, and whether they took up earlier TLS sessions.
pub(crate) fn connects(cells: &[CellSamples<'_>]) -> Vec<ConnectRow> {
    cells
        .iter()
        .flat_map(|cell| (0..cell.arms.len()).filter_map(|arm| row(cell, arm)))
        .collect()
}

fn row(cell: &CellSamples<'_>, arm: usize) -> Option<ConnectRow> {
    let totals = cell.totals(arm);
    (!totals.counted_logins.is_empty()).then(|| ConnectRow {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        logins: totals.counted_logins.clone(),
        handshakes: totals.handshakes,
    })
}
