//! Published figures beside the measured ones, and what was measured that explains a difference.

use ciphertax_base::Phase;
use ciphertax_base::format::rounded;
use ciphertax_model::{Metric, Placement, Published, PublishedFigure};
use ciphertax_records::{Agreement, EstimateRow, PhaseRow, PublishedRow, Run};

/// One row for every figure that the study brings along, in its order.
pub(crate) fn rows(run: &Run) -> Vec<PublishedRow> {
    run.head
        .study
        .published
        .iter()
        .filter_map(|published| Some(row(run, published, published.figure()?)))
        .collect()
}

fn row(run: &Run, published: &Published, figure: PublishedFigure) -> PublishedRow {
    let measured = match &published.kind {
        None => run
            .results
            .estimate(&published.cell, &published.arm, published.metric),
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
        measured: measured.map(EstimateRow::interval),
        margin: measured.map(|row| row.margin),
        agreement: measured.map_or(Agreement::CannotTell, |row| agreement(figure, row)),
        explanation: connect(run, published).or_else(|| cpu(run, published)),
        note: published.note.clone(),
    }
}

/// A published figure agrees if the whole interval lies within the margin around it, and differs if all of the interval
/// lies outside; where the noise floor is larger than the margin, only what is further than that tells anything. The figure itself
/// has no interval, and comes from other hardware. Compared as logarithms, where a halving and a doubling are equally far.
fn agreement(figure: PublishedFigure, measured: &EstimateRow) -> Agreement {
    let margin = measured.margin.ln_1p();
    let (within, floor) = match (figure, measured.floor) {
        (PublishedFigure::Within(bound), _) => ((-bound.min(1.0)).ln_1p()..=bound.ln_1p(), 0.0),
        (PublishedFigure::Change(change), Some(floor)) if change > -1.0 => {
            (change.ln_1p() - margin..=change.ln_1p() + margin, floor.ln_1p())
        }
        (PublishedFigure::Change(_), _) => return Agreement::CannotTell,
    };
    let more = (floor - margin).max(0.0);
    let (low, high) = (measured.low.ln_1p(), measured.high.ln_1p());
    if within.contains(&low) && within.contains(&high) && floor <= margin {
        Agreement::Agrees
    } else if low > within.end() + more || high < within.start() - more {
        Agreement::Differs
    } else {
        Agreement::CannotTell
    }
}

fn estimate_of_kind<'a>(run: &'a Run, published: &Published, kind: &str) -> Option<&'a EstimateRow> {
    let is_meant = |row: &&EstimateRow| {
        row.cell == published.cell && row.arm == published.arm && row.metric == published.metric
    };
    let of_kind = run.results.by_kind.iter().filter(|row| row.kind == kind);
    of_kind.map(|row| &row.estimate).find(is_meant)
}

/// Where the time of a connect goes that the variant takes longer.
fn connect(run: &Run, published: &Published) -> Option<String> {
    let baseline = &run.head.arms.first()?.name;
    let phase = |arm: &str, phase| run.results.phase(&published.cell, arm, phase);
    let mean_us = |arm: &str, of| phase(arm, of).map_or(0.0, |row: &PhaseRow| row.mean_us);
    let total = |arm: &str| Phase::ALL.into_iter().map(|of| mean_us(arm, of)).sum::<f64>();
    let (before, after) = (total(baseline), total(&published.arm));
    let extra = |of| mean_us(&published.arm, of) - mean_us(baseline, of);
    let most = Phase::ALL
        .into_iter()
        .max_by(|one, other| extra(*one).total_cmp(&extra(*other)))?;
    let row = phase(&published.arm, most).filter(|_| extra(most) > 0.0)?;
    let client = row
        .client_cpu_us
        .map(|us| format!(", {} of it the client's computing", rounded::microseconds(us)))
        .unwrap_or_default();
    let server = run
        .results
        .estimate(&published.cell, &published.arm, Metric::ServerCpuPerOp)
        .map(|row| {
            format!(
                "; the server's CPU per connect is {} instead of {}",
                rounded::microseconds(row.variant),
                rounded::microseconds(row.baseline)
            )
        })
        .unwrap_or_default();
    Some(format!(
        "a connect takes {} instead of {}; the phase {most} adds {} in {:.1} flights{client}{server}",
        rounded::microseconds(after),
        rounded::microseconds(before),
        rounded::microseconds(extra(most)),
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
        let row = run.results.estimate(&published.cell, &published.arm, metric)?;
        Some(format!(
            "{side} CPU {} [{}, {}]",
            rounded::percent(row.change),
            rounded::percent(row.low),
            rounded::percent(row.high)
        ))
    })
    .collect();
    let shared = match run.head.study.placement {
        Placement::Together => "; one CPU serves both sides here, so the rate follows the sum of both",
        Placement::Free => "",
    };
    (!parts.is_empty()).then(|| format!("per operation: {}{shared}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use ciphertax_base::Interval;
    use ciphertax_stats::{LogRatio, Rule, Verdict};

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
            difference: Interval {
                value: 100.0 * f64::midpoint(low, high),
                low: 100.0 * low,
                high: 100.0 * high,
            },
            blocks: 10,
            verdict: Verdict::Costs,
            rule: Rule::BeyondFloor,
            floor: Some(0.02),
            margin: 0.06,
            adjusted_p_value: 0.0,
            more_time_s: None,
            log_ratio: LogRatio {
                mean: f64::midpoint(low, high).ln_1p(),
                standard_error: 0.0,
                degrees_of_freedom: 9.0,
            },
            location: None,
            disturbed: None,
        }
    }

    fn with(figure: PublishedFigure, (low, high): (f64, f64)) -> Agreement {
        agreement(figure, &measured(low, high))
    }

    #[test]
    fn figures_agree_if_the_whole_interval_is_within_the_margin_and_differ_if_none_of_it_is() {
        let published = PublishedFigure::Change(-0.35);
        for (interval, expected) in [
            ((-0.37, -0.33), Agreement::Agrees),
            ((-0.40, -0.33), Agreement::CannotTell),
            ((-0.30, -0.20), Agreement::Differs),
            ((-0.60, -0.10), Agreement::CannotTell),
        ] {
            assert_eq!(with(published, interval), expected, "{interval:?}");
        }
    }

    #[test]
    fn an_interval_that_would_agree_with_anything_cannot_tell() {
        // Both were once said to agree: the interval was widened by a margin of over 80 %.
        let agreement = with(PublishedFigure::Change(1.10), (0.040, 0.197));
        assert_eq!(agreement, Agreement::Differs);
        let agreement = with(PublishedFigure::Change(0.018), (-0.51, 1.06));
        assert_eq!(agreement, Agreement::CannotTell);
    }

    #[test]
    fn a_noise_floor_above_the_margin_agrees_with_nothing_and_differs_from_what_is_further_than_it() {
        let with_floor = |change: f64, floor: Option<f64>| {
            let measured = EstimateRow {
                floor,
                ..measured(-0.37, -0.33)
            };
            agreement(PublishedFigure::Change(change), &measured)
        };
        assert_eq!(with_floor(-0.35, Some(0.06)), Agreement::Agrees);
        assert_eq!(with_floor(-0.35, Some(0.07)), Agreement::CannotTell);
        assert_eq!(with_floor(-0.20, Some(0.07)), Agreement::Differs);
        assert_eq!(with_floor(-0.20, Some(0.9)), Agreement::CannotTell);
        assert_eq!(with_floor(-0.35, None), Agreement::CannotTell);
    }

    #[test]
    fn a_bound_agrees_only_with_an_interval_inside_it() {
        let bound = PublishedFigure::Within(0.05);
        assert_eq!(with(bound, (-0.04, 0.01)), Agreement::Agrees);
        assert_eq!(with(bound, (-0.30, -0.10)), Agreement::Differs);
        assert_eq!(with(bound, (-0.08, 0.01)), Agreement::CannotTell);
    }
}
