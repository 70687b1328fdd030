//! Published figures beside the measured ones, and what was measured that explains a difference.

use ciphertax_base::Phase;
use ciphertax_base::format::rounded;
use ciphertax_model::{Metric, Placement, Published, PublishedFigure, Study};
use ciphertax_records::{Agreement, EstimateRow, PhaseRow, PublishedRow, Run};
use ciphertax_stats::verdict::WIDEST_FLOOR;

use ciphertax_estimate::estimates::margin;

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
        margin: measured
            .and_then(|row| agreement_margin(&run.head.study, row))
            .map(f64::exp_m1),
        agreement: measured.map_or(Agreement::CannotTell, |row| {
            agreement(figure, row, agreement_margin(&run.head.study, row))
        }),
        explanation: connect(run, published).or_else(|| cpu(run, published)),
        note: published.note.clone(),
    }
}

/// By how much figures may differ and still agree, as the logarithm of a ratio: what counts as no cost. `None` where the
/// noise floor is so large that agreeing within it would mean nothing.
fn agreement_margin(study: &Study, measured: &EstimateRow) -> Option<f64> {
    let (floor, margin) = (measured.floor?.ln_1p(), margin(study, measured.metric).ln_1p());
    (floor <= WIDEST_FLOOR * margin).then(|| floor.max(margin))
}

/// A published figure agrees if the whole interval lies within the margin around it, and differs if all of the interval
/// lies outside. The figure itself has no interval, and comes from other hardware. Compared as logarithms, where a halving
/// and a doubling are equally far.
fn agreement(figure: PublishedFigure, measured: &EstimateRow, margin: Option<f64>) -> Agreement {
    let within = match (figure, margin) {
        (PublishedFigure::Within(bound), _) => (-bound.min(1.0)).ln_1p()..=bound.ln_1p(),
        (PublishedFigure::Change(change), Some(margin)) if change > -1.0 => {
            change.ln_1p() - margin..=change.ln_1p() + margin
        }
        (PublishedFigure::Change(_), _) => return Agreement::CannotTell,
    };
    let (low, high) = (measured.low.ln_1p(), measured.high.ln_1p());
    if within.contains(&low) && within.contains(&high) {
        Agreement::Agrees
    } else if low > *within.end() || high < *within.start() {
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

    fn with(figure: PublishedFigure, (low, high): (f64, f64), margin: f64) -> Agreement {
        agreement(figure, &measured(low, high), Some(f64::ln_1p(margin)))
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
            assert_eq!(with(published, interval, 0.06), expected, "{interval:?}");
        }
    }

    #[test]
    fn an_interval_that_would_agree_with_anything_cannot_tell() {
        // Both were once said to agree: the interval was widened by a margin of over 80 %.
        let agreement = with(PublishedFigure::Change(1.10), (0.040, 0.197), 0.06);
        assert_eq!(agreement, Agreement::Differs);
        let agreement = with(PublishedFigure::Change(0.018), (-0.51, 1.06), 0.06);
        assert_eq!(agreement, Agreement::CannotTell);
    }

    #[test]
    fn a_noise_floor_far_above_the_margin_agrees_with_nothing() {
        let study = Study::from_toml(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 9\n[[arm]]\nname = \"a\"\ntransport = \"plain\"\n[[arm]]\nname = \"b\"\n\
             transport = \"tls1.3\"\n[[cell]]\nname = \"c\"\nworkload = \"connect\"\nload = { connections = 1 }\n",
        )
        .unwrap();
        let narrow = margin(&study, Metric::Throughput).ln_1p();
        let with_floor = |floor: Option<f64>| {
            agreement_margin(
                &study,
                &EstimateRow {
                    floor,
                    ..measured(-0.37, -0.33)
                },
            )
        };
        assert_eq!(with_floor(Some(0.001)), Some(narrow));
        assert_eq!(with_floor(Some(0.9)), None);
        assert_eq!(with_floor(None), None);
        let agrees = agreement(PublishedFigure::Change(-0.35), &measured(-0.37, -0.33), None);
        assert_eq!(agrees, Agreement::CannotTell);
    }

    #[test]
    fn a_bound_agrees_only_with_an_interval_inside_it() {
        let bound = PublishedFigure::Within(0.05);
        assert_eq!(with(bound, (-0.04, 0.01), 0.06), Agreement::Agrees);
        assert_eq!(with(bound, (-0.30, -0.10), 0.06), Agreement::Differs);
        assert_eq!(with(bound, (-0.08, 0.01), 0.06), Agreement::CannotTell);
    }
}
