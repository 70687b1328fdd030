//! The capacity model: extra cores = rate · Δ(CPU per operation).

use ciphertax_model::record::{CapacityRow, Interval};
use ciphertax_model::{Metric, Workload};
use ciphertax_stats::MeanEstimate;
use ciphertax_stats::paired::differences;

use crate::ExplainError;
use crate::cell::{AGAIN, BASELINE, CellSamples};

/// Rates per second that cores are given for, by workload.
const RATES: [(Workload, &str, f64); 2] = [
    (Workload::OltpPointSelect, "queries", 10_000.0),
    (Workload::Connect, "connections", 100.0),
];
const SIDES: [(Metric, &str); 2] = [
    (Metric::ServerCpuPerOp, "server"),
    (Metric::ClientCpuPerOp, "client"),
];

pub(crate) fn rows(cells: &[CellSamples<'_>]) -> Result<Vec<CapacityRow>, ExplainError> {
    let mut rows = Vec::new();
    for (workload, of, rate) in RATES {
        for cell in cells.iter().filter(|cell| cell.cell.workload == workload) {
            for arm in AGAIN + 1..cell.arms.len() {
                for (metric, side) in SIDES {
                    let (baseline, variant) = cell.paired(BASELINE, arm, metric);
                    if baseline.len() < 2 {
                        continue;
                    }
                    let extra_us = MeanEstimate::of(&differences(&baseline, &variant)?)?;
                    let cores = |micros: f64| micros / 1e6 * rate;
                    rows.push(CapacityRow {
                        arm: cell.arms[arm].clone(),
                        side: side.to_owned(),
                        of: of.to_owned(),
                        cell: cell.cell.name.clone(),
                        rate,
                        extra_cores: Interval {
                            value: cores(extra_us.mean),
                            low: cores(extra_us.low),
                            high: cores(extra_us.high),
                        },
                    });
                }
            }
        }
    }
    Ok(rows)
}
