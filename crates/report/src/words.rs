//! Sentences that all outputs share, of what follows from figures. What is not decided says so.

use ciphertax_base::Direction;
use ciphertax_base::format;
use ciphertax_model::Metric;
use ciphertax_records::{CapacityRow, EstimateRow, Run};
use ciphertax_stats::stopping::MINIMUM_BLOCKS;
use ciphertax_stats::{Rule, Verdict};

use crate::describe;

/// Why the load generator's figure gets no verdict.
pub(crate) const CLIENT_BOUND: &str = "the load generator was the bottleneck, so the figure is the client's";
/// Why nothing is compared with the noise floor.
pub(crate) const NO_FLOOR: &str = "there is no noise floor: the baseline against itself was not measured";
/// Why a change in percent is none of the arm's.
pub(crate) const ONLY_IN_PERCENT: &str = "only the baseline changed, which percentages refer to";

/// Why a verdict is what it is: the rule and the figures it was applied to, in a sentence.
pub(crate) fn rule(row: &EstimateRow) -> String {
    let floor = row
        .floor
        .map_or(format::ABSENT.into(), |floor| bound(floor, row.metric));
    let margin = bound(row.margin, row.metric);
    let p_value = p_value(row.adjusted_p_value);
    let blocks = row.blocks;
    let more = row.more_time_s.map_or(String::new(), |seconds| {
        format!("; about {} more would decide", format::span(seconds))
    });
    match row.rule {
        Rule::BeyondFloor => format!(
            "the interval excludes zero, the change exceeds the noise floor of {floor}, and it is significant after correcting for many \
             comparisons (Benjamini and Hochberg, {p_value})"
        ),
        Rule::WithinMargin => {
            format!("the interval ends below the margin of {margin} (twice the precision asked for)")
        }
        Rule::IntervalTooWide => format!(
            "the interval includes both zero and changes above the margin of {margin} (twice the precision asked for){more}"
        ),
        Rule::WithinFloor => format!(
            "the interval excludes zero, but the change is within the noise floor of {floor}, by which the baseline differs from \
             itself{more}"
        ),
        Rule::ManyComparisons if blocks < MINIMUM_BLOCKS => {
            format!("the interval excludes zero, but {blocks} blocks are few ({p_value}){more}")
        }
        Rule::ManyComparisons => format!(
            "the interval excludes zero and the change exceeds the noise floor of {floor}, but it is not significant after correcting \
             for many comparisons (Benjamini and Hochberg, {p_value}){more}"
        ),
        Rule::FloorTooWide => format!(
            "the interval ends below the margin of {margin}, but the baseline differs from itself by more than that ({floor}){more}"
        ),
        Rule::NoFloor => NO_FLOOR.into(),
        Rule::OnlyInPercent => ONLY_IN_PERCENT.into(),
        Rule::ClientBound => CLIENT_BOUND.into(),
    }
}

/// `p = 0.070`
pub(crate) fn p_value(adjusted: f64) -> String {
    match adjusted {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p = {p:.3}"),
    }
}

/// The verdicts that only a reader of the rule would not wonder at: undecided although the interval excludes zero.
pub(crate) fn is_surprising(row: &EstimateRow) -> bool {
    let excludes_no_change = row.low > 0.0 || row.high < 0.0;
    excludes_no_change && !row.verdict.is_decided_difference() && row.rule != Rule::ClientBound
}

/// A verdict that its interval does not explain, with its rule.
pub(crate) fn explained(run: &Run, row: &EstimateRow) -> String {
    let place = format!("{}, {}, {}", row.arm, row.cell, row.metric);
    format!(
        "{place}: {}, because {}.",
        describe::verdict_word(run, row),
        rule(row)
    )
}

/// A floor or margin on the side of cost, as percent: of a factor of two throughput loses 50 %, CPU gains 100 %.
pub(crate) fn bound(factor_less_one: f64, metric: Metric) -> String {
    let fraction = match metric.direction() {
        Direction::HigherCosts => factor_less_one,
        Direction::LowerCosts => factor_less_one / (1.0 + factor_less_one),
    };
    format::change(fraction).trim_start_matches('+').to_owned()
}

/// A noise floor: `±2.0 %`; of the throughput, which cannot fall by more than all of it, `−33.3 %` of a factor of 1.5.
pub(crate) fn floor(factor_less_one: f64, metric: Metric) -> String {
    match metric.direction() {
        Direction::HigherCosts => format!("±{}", bound(factor_less_one, metric)),
        Direction::LowerCosts => format!("−{}", bound(factor_less_one, metric)),
    }
}

/// What a metric is called where there is little room.
pub(crate) fn short_metric(metric: Metric) -> &'static str {
    match metric {
        server if Metric::SERVER_CPU.contains(&server) => "server CPU",
        Metric::ClientCpuPerOp => "client CPU",
        Metric::ResponseMean => "response",
        other => other.label(),
    }
}

/// `0.16 more server cores per 10,000 queries/s [0.15, 0.17]`
pub(crate) fn capacity(row: &CapacityRow) -> String {
    let [text, low_text, high_text] = format::cores(row.extra_cores);
    let rate = format!("{} cores per {} {}/s", row.side, format::count(row.rate), row.of);
    let perhaps = match row.verdict.is_decided_difference() {
        true => "",
        false => "perhaps ",
    };
    match row.verdict {
        Verdict::CannotTell => format!("not decided: {low_text} to {high_text} more {rate}"),
        Verdict::NoCost => format!("at most {high_text} more {rate}"),
        _ if row.extra_cores.value < 0.0 => {
            let [fewer, least, most] = format::cores(row.extra_cores.negated());
            format!("{perhaps}{fewer} fewer {rate} [{least}, {most}]")
        }
        _ => format!("{perhaps}{text} more {rate} [{low_text}, {high_text}]"),
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_base::Interval;
    use ciphertax_records::{Rated, Side};
    use ciphertax_stats::LogRatio;

    use super::*;

    fn row(change: [f64; 3], verdict: Verdict, rule: Rule) -> EstimateRow {
        EstimateRow {
            cell: "select".into(),
            arm: "tls".into(),
            metric: Metric::Throughput,
            unit: "op/s".into(),
            baseline: 100.0,
            variant: 100.0 * (1.0 + change[0]),
            change: change[0],
            low: change[1],
            high: change[2],
            difference: Interval {
                value: 100.0 * change[0],
                low: 100.0 * change[1],
                high: 100.0 * change[2],
            },
            blocks: 20,
            verdict,
            rule,
            floor: Some(0.058),
            margin: 0.06,
            adjusted_p_value: 0.07,
            more_time_s: None,
            log_ratio: LogRatio {
                mean: change[0].ln_1p(),
                standard_error: 0.02,
                degrees_of_freedom: 19.0,
            },
            location: None,
            disturbed: None,
        }
    }

    #[test]
    fn a_verdict_that_its_interval_does_not_explain_is_explained() {
        let of_many = row(
            [-0.143, -0.215, -0.064],
            Verdict::CannotTell,
            Rule::ManyComparisons,
        );
        assert!(is_surprising(&of_many));
        let words = super::rule(&of_many);
        assert!(words.contains("5.5 %") && words.contains("p = 0.070"), "{words}");
        let wide = row([0.1, -0.1, 0.3], Verdict::CannotTell, Rule::IntervalTooWide);
        assert!(!is_surprising(&wide));
        assert!(super::rule(&wide).contains("twice the precision"));
    }

    #[test]
    fn a_margin_is_told_on_the_side_of_cost() {
        assert_eq!(bound(1.0, Metric::Throughput), "50.0 %");
        assert_eq!(bound(1.0, Metric::ServerCpuPerOp), "100 %");
    }

    #[test]
    fn few_blocks_are_called_that_and_how_many_would_decide_is_said() {
        let few = EstimateRow {
            blocks: 5,
            more_time_s: Some(240.0),
            ..row([0.62, 0.34, 0.97], Verdict::CostsPerhaps, Rule::ManyComparisons)
        };
        assert_eq!(
            super::rule(&few),
            "the interval excludes zero, but 5 blocks are few (p = 0.070); about 4 min more would decide"
        );
    }

    #[test]
    fn cores_that_are_not_sure_are_called_that() {
        let cores = |verdict, value, low, high| {
            capacity(&CapacityRow {
                arm: "tls".into(),
                side: Side::Server,
                of: Rated::Queries,
                cell: "select".into(),
                rate: 10_000.0,
                extra_cores: Interval { value, low, high },
                verdict,
            })
        };
        let expected = "not decided: −1.0 to 3.3 more server cores per 10,000 queries/s";
        assert_eq!(cores(Verdict::CannotTell, 1.1, -1.0, 3.3), expected);
        let expected = "0.50 fewer server cores per 10,000 queries/s [0.40, 0.60]";
        assert_eq!(cores(Verdict::Gains, -0.5, -0.6, -0.4), expected);
        let expected = "perhaps 1.1 more server cores per 10,000 queries/s [0.4, 3.3]";
        assert_eq!(cores(Verdict::CostsPerhaps, 1.1, 0.4, 3.3), expected);
        let expected = "perhaps 0.50 fewer server cores per 10,000 queries/s [0.40, 0.60]";
        assert_eq!(cores(Verdict::GainsPerhaps, -0.5, -0.6, -0.4), expected);
        let expected = "0.21 more server cores per 10,000 queries/s [0.19, 0.23]";
        assert_eq!(cores(Verdict::Costs, 0.21, 0.19, 0.23), expected);
        let expected = "at most 0.0030 more server cores per 10,000 queries/s";
        assert_eq!(cores(Verdict::NoCost, 0.001, -0.001, 0.003), expected);
    }
}
