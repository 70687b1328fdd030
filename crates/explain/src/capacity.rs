//! The capacity model: extra cores = rate · Δ(CPU per operation), with the differences that the tables print.

use ciphertax_model::workload::Unit;
use ciphertax_model::{Cell, Metric};
use ciphertax_records::{CapacityRow, Head, Rated, Results, Side};
use ciphertax_stats::Interval;

/// Of what cores are given, and for which rate per second; `None` where nobody asks for a workload's rate. What is encrypted
/// at rest costs those who write.
fn rate_of(cell: &Cell, at_rest: bool) -> Option<(Rated, f64)> {
    let descriptor = cell.workload.descriptor();
    // What a cell of YCSB does is for its mix to say.
    let writes = cell.ycsb_mix().map_or(descriptor.writes, |mix| mix.writes());
    match descriptor.operation {
        Unit::ConnectionWithLookup => Some((Rated::Connections, 100.0)),
        Unit::Lookup => Some((Rated::Queries, 10_000.0)),
        Unit::Operation if at_rest && writes && !descriptor.makes_connections => {
            Some((Rated::Writes, 1_000.0))
        }
        Unit::BulkResult | Unit::Operation => None,
    }
}

pub(crate) fn rows(head: &Head, results: &Results) -> Vec<CapacityRow> {
    let mut rows = Vec::new();
    for cell in &head.study.cells {
        let sides = [
            (results.server_cpu(&cell.name), Side::Server),
            (Metric::ClientCpuPerOp, Side::Client),
        ];
        for arm in head.variants() {
            let at_rest = head.asked(arm).is_some_and(|asked| asked.at_rest.is_encrypted());
            let Some((of, rate)) = rate_of(cell, at_rest) else {
                continue;
            };
            for (metric, side) in sides {
                let Some(estimate) = results.estimate(&cell.name, &arm.name, metric) else {
                    continue;
                };
                let extra_us = estimate.difference;
                let cores = |micros: f64| micros / 1e6 * rate;
                rows.push(CapacityRow {
                    arm: arm.name.clone(),
                    side,
                    of,
                    cell: cell.name.clone(),
                    rate,
                    extra_cores: Interval {
                        value: cores(extra_us.value),
                        low: cores(extra_us.low),
                        high: cores(extra_us.high),
                    },
                    verdict: estimate.verdict,
                });
            }
        }
    }
    rows
}
