//! Protection that seems to make things faster.

use ciphertax_model::Tunnel;
use ciphertax_records::{EstimateRow, Finding, Run, Severity};
use ciphertax_stats::Verdict;
use ciphertax_stats::format::rounded;

use super::finding::finding;

/// Protection that seems to make things faster.
pub(super) fn gains(run: &Run) -> impl Iterator<Item = Finding> {
    let is_impossible =
        |row: &&EstimateRow| row.verdict == Verdict::Gains && run.head.study.adds_protection(&row.arm);
    run.results.estimates.iter().filter(is_impossible).map(|row| {
        let (severity, summary) = match saved_round_trip(run, row) {
            Some(rtt_ms) => (
                Severity::Cause,
                format!(
                    "{}: with {} the {} improves: TCP's handshake ends at the near end of the tunnel, whose connection to the far \
                     end is open already, which saves every new connection a round trip of {rtt_ms} ms.",
                    row.cell, row.arm, row.metric
                ),
            ),
            None => (
                Severity::Suspicion,
                format!(
                    "{}: with {} the {} seems to improve; a protection cannot do that by itself, so suspect the environment: fewer \
                     requests in flight, other threads placed elsewhere, or batching by a slower client.",
                    row.cell, row.arm, row.metric
                ),
            ),
        };
        let evidence = format!("{} over {} blocks", rounded::change(row.interval()), row.blocks);
        finding("impossible-gain", severity, summary, evidence)
    })
}

/// The round trip in milliseconds that a new connection is spared by a tunnel that is open already; `None` if that explains
/// nothing.
fn saved_round_trip(run: &Run, row: &EstimateRow) -> Option<f64> {
    let arm = run.head.study.arms.iter().find(|arm| arm.name == row.arm)?;
    let cell = run.cell(&row.cell)?;
    let stays_open = matches!(arm.tunnel, Some(Tunnel::Ssh(_)));
    let is_explained = stays_open && cell.asked.workload.makes_connections() && !row.metric.is_cpu();
    cell.link.filter(|_| is_explained).map(|link| link.rtt_ms)
}
