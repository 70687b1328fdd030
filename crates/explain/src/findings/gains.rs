//! Protection that seems to make things faster.

use ciphertax_model::Tunnel;
use ciphertax_records::{EstimateRow, Finding, Run, Severity};
use ciphertax_stats::Verdict;
use ciphertax_stats::format::{plain, rounded};

use super::finding::finding;

/// Protection that seems to make things faster.
pub(super) fn gains(run: &Run) -> impl Iterator<Item = Finding> {
    let is_impossible =
        |row: &&EstimateRow| row.verdict == Verdict::Gains && run.head.study.adds_protection(&row.arm);
    // Said once of a cell and an arm, whatever gains by it.
    let mut fewer_waits: Vec<(&str, &str)> = Vec::new();
    run.results.estimates.iter().filter(is_impossible).filter_map(move |row| {
        let evidence = format!("{} over {} blocks", rounded::change(row.interval()), row.blocks);
        if let Some(summary) = waits_less(run, row) {
            let place = (row.cell.as_str(), row.arm.as_str());
            if fewer_waits.contains(&place) {
                return None;
            }
            fewer_waits.push(place);
            let evidence = format!("{}: {evidence}", row.metric);
            return Some(finding("impossible-gain", Severity::Cause, summary, evidence));
        }
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
        Some(finding("impossible-gain", severity, summary, evidence))
    })
}

/// Of a connect at a distance that takes fewer round trips than the baseline's, for example because its login does: why it is
/// faster, although it is protected.
fn waits_less(run: &Run, row: &EstimateRow) -> Option<String> {
    let link = run.cell(&row.cell)?.link.filter(|link| link.rtt_ms > 0.0)?;
    let baseline = &run.head.study.baseline().name;
    let flights = |arm: &str| -> Option<f64> {
        let rows = run.results.connect_phases.iter();
        let of_arm = rows.filter(|phase| phase.cell == row.cell && phase.arm == arm);
        of_arm
            .map(|phase| phase.flights)
            .reduce(|sum, flights| sum + flights)
    };
    let (before, after) = (flights(baseline)?, flights(&row.arm)?);
    let is_explained = !row.metric.is_work() && before - after >= 0.5;
    is_explained.then(|| {
        format!(
            "{}: over {} a connect is faster than over {baseline}, because it waits for the server {} times instead of {}, each \
             time for {} ms.",
            row.cell,
            row.arm,
            plain(after),
            plain(before),
            link.rtt_ms
        )
    })
}

/// The round trip in milliseconds that a new connection is spared by a tunnel that is open already; `None` if that explains
/// nothing.
fn saved_round_trip(run: &Run, row: &EstimateRow) -> Option<f64> {
    let arm = run.head.study.arms.iter().find(|arm| arm.name == row.arm)?;
    let cell = run.cell(&row.cell)?;
    let stays_open = matches!(arm.tunnel, Some(Tunnel::Ssh(_)));
    let is_explained = stays_open && cell.asked.workload.makes_connections() && !row.metric.is_work();
    cell.link.filter(|_| is_explained).map(|link| link.rtt_ms)
}
