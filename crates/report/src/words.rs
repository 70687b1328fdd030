//! Sentences that all outputs share, of what follows from figures. What is not decided says so.

use ciphertax_base::Direction;
use ciphertax_base::format;
use ciphertax_model::Metric;
use ciphertax_records::{CapacityRow, ChurnBreakEven, ChurnRow, EstimateRow, Run, Side};
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

/// `210 queries`
fn queries_of(count: &str) -> String {
    let noun = if count == "1" { "query" } else { "queries" };
    format!("{count} {noun}")
}

/// `server CPU: less than 10 % from 210 queries per connection on [180, 260]; never less than 5 %, …`
pub(crate) fn churn(row: &ChurnRow) -> String {
    let side = match row.side {
        Side::Both => "both sides' CPU".to_owned(),
        side => format!("{side} CPU"),
    };
    let query = format!(
        "a query alone costs {}",
        format::change_with_interval(row.query_overhead)
    );
    let single = row.points.first().map(|point| point.overhead);
    let mut points: Vec<&ChurnBreakEven> = row.break_even.iter().collect();
    points.sort_by(|a, b| b.budget.total_cmp(&a.budget));
    let mut parts = Vec::new();
    for point in points {
        let budget = format::share(point.budget);
        let [queries, low, high] =
            [point.queries, point.queries_low, point.queries_high].map(|queries| queries.map(format::count));
        match (queries, low, high) {
            (Some(_), _, Some(_))
                if row.is_within(point) && point.queries_high.is_some_and(|queries| queries <= 1.0) =>
            {
                parts.push(format!(
                    "less than {budget} at any number of queries per connection"
                ));
            }
            (Some(queries), Some(low), Some(high)) if row.is_within(point) => {
                parts.push(format!(
                    "less than {budget} with at least {} per connection [{low}, {high}]",
                    queries_of(&queries)
                ));
            }
            (_, low, _) => {
                let single = single.filter(|single| single.high <= point.budget);
                let is_never = row.is_never_within(point);
                if let Some(single) = single {
                    parts.push(format!(
                        "{} with one query per connection; {}: {query}",
                        format::change_with_interval(single),
                        match is_never {
                            true => format!("less than {budget} only with few"),
                            false => format!("cannot tell whether it is less than {budget} with many"),
                        }
                    ));
                    break;
                }
                if is_never {
                    parts.push(format!("never less than {budget}, because {query}"));
                    break;
                }
                let earliest = low
                    .filter(|_| point.queries_low.is_some_and(|queries| queries > 1.0))
                    .map_or(String::new(), |low| {
                        format!(" (not before {} per connection)", queries_of(&low))
                    });
                parts.push(format!(
                    "cannot tell whether it ever falls below {budget}{earliest}: {query}"
                ));
                break;
            }
        }
    }
    format!("{side}: {}", parts.join("; "))
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
        Verdict::CannotTell => format!("cannot tell: {low_text} to {high_text} more {rate}"),
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
    use ciphertax_records::{ChurnPoint, Rated};
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

    fn with(query: [f64; 3], queries: [Option<f64>; 3]) -> String {
        churn(&row_of(query, queries))
    }

    fn row_of(query: [f64; 3], [queries, low, high]: [Option<f64>; 3]) -> ChurnRow {
        ChurnRow {
            cell: "connect".into(),
            query_cell: "select".into(),
            arm: "tls".into(),
            side: Side::Server,
            connect_baseline_us: 80.0,
            connect_variant_us: 640.0,
            query_baseline_us: 20.0,
            query_variant_us: 20.0 * (1.0 + query[0]),
            query_overhead: Interval {
                value: query[0],
                low: query[1],
                high: query[2],
            },
            query_verdict: match query[1] > 0.0 {
                true => Verdict::Costs,
                false => Verdict::CannotTell,
            },
            query_floor: Some(0.02),
            points: Vec::new(),
            break_even: vec![ChurnBreakEven {
                budget: 0.1,
                queries,
                queries_low: low,
                queries_high: high,
            }],
            saves_below: None,
        }
    }

    #[test]
    fn what_a_query_costs_must_be_sure_before_never_is_said() {
        assert_eq!(
            with([0.181, -0.028, 0.434], [None, Some(310.0), None]),
            "server CPU: cannot tell whether it ever falls below 10 % (not before 310 queries per connection): a query alone costs \
             +18.1 % [−2.8, 43.4]"
        );
        let expected = "server CPU: never less than 10 %, because a query alone costs +18.1 % [16.0, 20.0]";
        assert_eq!(with([0.181, 0.16, 0.2], [None, None, None]), expected);
        assert_eq!(
            with([0.02, 0.01, 0.03], [Some(521.0), Some(379.0), Some(834.0)]),
            "server CPU: less than 10 % with at least 521 queries per connection [379, 834]"
        );
        assert!(with([0.08, 0.01, 0.15], [Some(521.0), Some(379.0), None]).contains("cannot tell whether"));
    }

    #[test]
    fn a_query_within_the_noise_is_never_called_sure_to_cost() {
        let row = ChurnRow {
            query_verdict: Verdict::CannotTell,
            ..row_of([0.181, 0.16, 0.2], [None, None, None])
        };
        let words = "cannot tell whether it ever";
        assert!(churn(&row).contains(words), "{}", churn(&row));
    }

    #[test]
    fn one_query_a_connection_is_said_where_many_cannot_be_told() {
        let row = ChurnRow {
            points: vec![ChurnPoint {
                queries: 1.0,
                overhead: Interval {
                    value: -0.97,
                    low: -0.98,
                    high: -0.96,
                },
            }],
            ..row_of([0.05, -0.1, 0.2], [None, Some(1.0), None])
        };
        assert_eq!(
            churn(&row),
            "server CPU: −97.0 % [−98.0, −96.0] with one query per connection; cannot tell whether it is less than 10 % with many: a query \
             alone costs +5.0 % [−10.0, 20.0]"
        );
    }

    #[test]
    fn a_query_that_exceeds_a_budget_by_less_than_the_noise_floor_is_not_never_within_it() {
        let row = ChurnRow {
            query_floor: Some(0.1),
            ..row_of([0.181, 0.16, 0.2], [None, None, None])
        };
        assert!(
            churn(&row).contains("cannot tell whether it ever"),
            "{}",
            churn(&row)
        );
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
        let expected = "cannot tell: −1.0 to 3.3 more server cores per 10,000 queries/s";
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
