//! Which phase makes a connect slower.

use ciphertax_model::Metric;
use ciphertax_records::{Finding, MeasuredCell, Phase, Run, Severity};
use ciphertax_stats::Interval;
use ciphertax_stats::format::rounded;

use super::finding::{finding, is_sure, share};

pub(super) fn slowest_phase(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let baseline = &run.head.arms.first()?.name;
    let row = |arm: &str, phase| {
        run.results
            .connect_phases
            .iter()
            .find(|row| row.cell == cell.asked.name && row.arm == arm && row.phase == phase)
    };
    let longer = longer(run, cell, arm)?;
    let mean_us = |arm: &str, phase| row(arm, phase).map(|row| row.mean_us);
    // Whoever asks for TLS waits there for what an unencrypted login waits for: a process of the server's.
    let asks = |arm| row(arm, Phase::Preface).is_some_and(|row| row.is_request_for_tls());
    let begins_otherwise = asks(arm) || asks(baseline);
    let together = |arm: &str, phase| match phase {
        Phase::Preface if begins_otherwise => None,
        Phase::Auth if begins_otherwise => {
            Some(mean_us(arm, phase)? + mean_us(arm, Phase::Preface).unwrap_or(0.0))
        }
        _ => mean_us(arm, phase),
    };
    let extra = |phase| together(arm, phase).map(|us| us - together(baseline, phase).unwrap_or(0.0));
    let (phase, most) = Phase::ALL
        .into_iter()
        .filter_map(|phase| Some((phase, extra(phase)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    if most < 0.25 * longer.value {
        return None;
    }
    let phases = match phase {
        Phase::Auth if begins_otherwise => "phases TLS request and authentication".to_owned(),
        _ => format!("phase {phase}"),
    };
    let in_the_phase = if most <= longer.value {
        format!("{} of it in the {phases}", share(most, longer.value))
    } else {
        format!(
            "{} more in the {phases} and {} less in the others",
            rounded::microseconds(most),
            rounded::microseconds(most - longer.value)
        )
    };
    let row = row(arm, phase)?;
    let cpu = row.client_cpu_us.map(|us| {
        format!(
            ", of which the client's cryptography computes {}",
            rounded::microseconds(us)
        )
    });
    let (connect, over, travelled) = match run.head.is_embedded() {
        true => ("opening the database", "with", String::new()),
        false => (
            "a connect",
            "over",
            format!(
                ", {:.1} flights, {:.0} bytes sent and {:.0} received",
                row.flights, row.bytes_sent, row.bytes_received
            ),
        ),
    };
    Some(finding(
        "slowest-phase",
        Severity::Cause,
        format!(
            "{}: {connect} {over} {arm} takes {} longer than {over} {baseline}, {in_the_phase}.",
            cell.asked.name,
            rounded::microseconds_between(longer)
        ),
        format!(
            "{phase}: {} on average{}{travelled}",
            rounded::microseconds(row.mean_us),
            cpu.unwrap_or_default()
        ),
    ))
}

/// By how much a whole connect takes longer, in microseconds; `None` if that is not sure. In a closed loop that is the
/// latency, which the phases add up to.
pub(super) fn longer(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Interval> {
    let row = [
        Metric::LatencyMean,
        Metric::TimeToFirstQueryMean,
        Metric::ConnectMean,
    ]
    .into_iter()
    .find_map(|metric| run.results.estimate(&cell.asked.name, arm, metric))?;
    let is_longer = cell.asked.workload.makes_connections() && is_sure(row) && row.difference.low > 0.0;
    is_longer.then_some(row.difference)
}
