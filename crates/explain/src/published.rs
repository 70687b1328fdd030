//! Published figures beside the measured ones, and what was measured that explains a difference.

use ciphertax_model::record::{Agreement, EstimateRow, Interval, Phase, PhaseRow, PublishedRow, Run};
use ciphertax_model::{Metric, Placement, Published, PublishedFigure};

use crate::sentence::{micros, percent};

/// One row for every figure that the study brings along, in its order.
pub(crate) fn rows(run: &Run) -> Vec<PublishedRow> {
    run.study
        .published
        .iter()
        .filter_map(|published| Some(row(run, published, published.figure()?)))
        .collect()
}

fn row(run: &Run, published: &Published, figure: PublishedFigure) -> PublishedRow {
    let measured = match &published.kind {
        None => estimate(run, published, published.metric),
        Some(kind) => estimate_of_kind(run, published, kind),
    };
    let (change, within) = match figure {
        PublishedFigure::Change(change) => (Some(change), None),
        PublishedFigure::Within(bound) => (None, Some(bound)),
    };
    PublishedRow {
        source: published.source.clone(),
        cell: published.cell.clone(),
        arm: published.arm.clone(),
        metric: published.metric,
        kind: published.kind.clone(),
        change,
        within,
        measured: measured.map(|row| Interval {
            value: row.change,
            low: row.low,
            high: row.high,
        }),
        agreement: measured.map_or(Agreement::CannotTell, |row| agreement(figure, row)),
        explanation: connect(run, published).or_else(|| cpu(run, published)),
        note: published.note.clone(),
    }
}

/// A published figure agrees if the measured interval, widened by what does not count as a difference, holds it. The
/// figure itself has no interval, and comes from other hardware: so agreement is the strong statement, not its absence.
fn agreement(figure: PublishedFigure, measured: &EstimateRow) -> Agreement {
    let (low, high) = (measured.low - measured.margin, measured.high + measured.margin);
    match figure {
        PublishedFigure::Change(change) if (low..=high).contains(&change) => Agreement::Agrees,
        PublishedFigure::Change(_) => Agreement::Differs,
        PublishedFigure::Within(bound) if measured.low >= -bound && measured.high <= bound => {
            Agreement::Agrees
        }
        PublishedFigure::Within(bound) if measured.low > bound || measured.high < -bound => {
            Agreement::Differs
        }
        PublishedFigure::Within(_) => Agreement::CannotTell,
    }
}

fn estimate<'a>(run: &'a Run, published: &Published, metric: Metric) -> Option<&'a EstimateRow> {
    run.estimates
        .iter()
        .find(|row| row.cell == published.cell && row.arm == published.arm && row.metric == metric)
}

fn estimate_of_kind<'a>(run: &'a Run, published: &Published, kind: &str) -> Option<&'a EstimateRow> {
    let is_meant = |row: &&EstimateRow| {
        row.cell == published.cell && row.arm == published.arm && row.metric == published.metric
    };
    let of_kind = run.by_kind.iter().filter(|row| row.kind == kind);
    of_kind.map(|row| &row.estimate).find(is_meant)
}

/// Where the time of a connect goes that the variant takes longer.
fn connect(run: &Run, published: &Published) -> Option<String> {
    let baseline = &run.arms.first()?.name;
    let phase = |arm: &str, phase| {
        run.connect_phases
            .iter()
            .find(|row| row.cell == published.cell && row.arm == arm && row.phase == phase)
    };
    let mean_us = |arm: &str, of| phase(arm, of).map_or(0.0, |row: &PhaseRow| row.mean_us);
    let total = |arm: &str| Phase::ALL.into_iter().map(|of| mean_us(arm, of)).sum::<f64>();
    let (before, after) = (total(baseline), total(&published.arm));
    let extra = |of| mean_us(&published.arm, of) - mean_us(baseline, of);
    let most = Phase::ALL
        .into_iter()
        .max_by(|one, other| extra(*one).total_cmp(&extra(*other)))?;
    let row = phase(&published.arm, most)?;
    let client = row
        .client_cpu_us
        .map(|us| format!(", {} of it the client's computing", micros(us)))
        .unwrap_or_default();
    let server = estimate(run, published, Metric::ServerCpuPerOp)
        .map(|row| {
            format!(
                "; the server's CPU per connect is {} instead of {}",
                micros(row.variant),
                micros(row.baseline)
            )
        })
        .unwrap_or_default();
    Some(format!(
        "a connect takes {} instead of {}; the phase {most} adds {} in {:.1} flights{client}{server}",
        micros(after),
        micros(before),
        micros(extra(most)),
        row.flights
    ))
}

/// Who pays, for a workload that keeps its connections.
fn cpu(run: &Run, published: &Published) -> Option<String> {
    let parts: Vec<String> = [
        (Metric::ServerCpuPerOp, "server"),
        (Metric::ClientCpuPerOp, "client"),
    ]
    .into_iter()
    .filter_map(|(metric, side)| {
        let row = estimate(run, published, metric)?;
        Some(format!(
            "{side} CPU {} [{}, {}]",
            percent(row.change),
            percent(row.low),
            percent(row.high)
        ))
    })
    .collect();
    let shared = match run.study.placement {
        Placement::Together => "; one CPU serves both sides here, so the rate follows the sum of both",
        Placement::Free => "",
    };
    (!parts.is_empty()).then(|| format!("per operation: {}{shared}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use ciphertax_model::record::Verdict;

    use super::*;

    fn measured(low: f64, high: f64) -> EstimateRow {
        EstimateRow {
            cell: "connect".into(),
            arm: "tls".into(),
            metric: Metric::Throughput,
            unit: "op/s".into(),
            baseline: 100.0,
            variant: 100.0 * (1.0 + f64::midpoint(low, high)),
            change: f64::midpoint(low, high),
            low,
            high,
            difference: None,
            blocks: 10,
            verdict: Verdict::Costs,
            margin: 0.02,
            floor: None,
            more_time_s: None,
            caveat: None,
        }
    }

    #[test]
    fn a_figure_agrees_within_the_interval_and_what_does_not_count() {
        let row = measured(-0.40, -0.30);
        for (published, expected) in [
            (-0.35, Agreement::Agrees),
            (-0.29, Agreement::Agrees),
            (-0.27, Agreement::Differs),
            (-0.50, Agreement::Differs),
        ] {
            assert_eq!(
                agreement(PublishedFigure::Change(published), &row),
                expected,
                "{published}"
            );
        }
    }

    #[test]
    fn a_bound_agrees_only_with_an_interval_inside_it() {
        let bound = PublishedFigure::Within(0.05);
        assert_eq!(agreement(bound, &measured(-0.04, 0.01)), Agreement::Agrees);
        assert_eq!(agreement(bound, &measured(-0.30, -0.10)), Agreement::Differs);
        assert_eq!(agreement(bound, &measured(-0.08, 0.01)), Agreement::CannotTell);
    }
}
