//! The load generator was the bottleneck.

use ciphertax_records::{Finding, Run, Severity};

use super::finding::finding;

pub(super) fn client_bound(run: &Run) -> impl Iterator<Item = Finding> {
    run.results
        .cells
        .iter()
        .filter(|cell| cell.client_bound)
        .map(|cell| {
            finding(
                "client-bound",
                Severity::Suspicion,
                format!(
                    "{}: the load generator was the bottleneck; throughput and latency get no verdict.",
                    cell.name
                ),
                format!(
                    "its {} threads used more than 85 % of the CPUs they may use",
                    cell.workers
                ),
            )
        })
}
