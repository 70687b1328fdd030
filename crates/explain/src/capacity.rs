//! The capacity model: extra cores = rate · Δ(CPU per operation).

use ciphertax_model::record::{CapacityRow, Interval};
use ciphertax_model::{Metric, Workload};
use ciphertax_stats::MeanEstimate;
use ciphertax_stats::paired::differences;

use crate::ExplainError;
use crate::cell::{AGAIN, BASELINE, CellSamples};

/// Of what cores are given, and for which rate per second; `None` where nobody asks for a workload's rate.
fn rate_of(workload: Workload) -> Option<(&'static str, f64)> {
    match workload {
        Workload::Connect => Some(("connections", 100.0)),
        workload if workload.is_key_lookup() => Some(("queries", 10_000.0)),
        _ => None,
    }
}

const SIDES: [(Metric, &str); 2] = [
    (Metric::ServerCpuPerOp, "server"),
    (Metric::ClientCpuPerOp, "client"),
];

pub(crate) fn rows(cells: &[CellSamples<'_>]) -> Result<Vec<CapacityRow>, ExplainError> {
    let mut rows = Vec::new();
    for cell in cells {
        if let Some((of, rate)) = rate_of(cell.cell.workload) {
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
