//! A run held to budgets, in words that the outputs share, and as JUnit's XML.

use std::io;

use ciphertax_model::{Direction, Metric};
use ciphertax_records::{Gate, GateRow, HeldTo};
use ciphertax_stats::{BoundVerdict, Rule, format};

use crate::junit::{self, Case, Outcome, Suite};
use crate::words;

/// The gate as JUnit's XML: a case for every cost, which fails if it is over; what cannot be told is an error.
///
/// # Errors
/// None that memory does not run into.
pub fn junit(gate: &Gate) -> io::Result<String> {
    let mut cases: Vec<Case> = gate.rows.iter().map(case).collect();
    cases.extend(gate.not_comparable.iter().map(|refused| Case {
        class: "not compared".into(),
        name: refused.what.clone(),
        outcome: Outcome::Undecided(refused.why.clone()),
        output: String::new(),
    }));
    cases.extend(gate.not_held.iter().map(|cost| Case {
        class: cost.cell.clone(),
        name: format!("{}: {}, against the earlier run", cost.arm, cost.metric),
        outcome: Outcome::Skipped(cost.why.clone()),
        output: String::new(),
    }));
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut properties = vec![named("run", &gate.run)];
    properties.extend(gate.cut_off.iter().map(|why| named("run cut off", why)));
    properties.extend(gate.baseline.iter().map(|earlier| named("earlier run", earlier)));
    properties.extend(
        gate.baseline_cut_off
            .iter()
            .map(|why| named("earlier run cut off", why)),
    );
    let suite = Suite {
        name: "ciphertax gate".into(),
        timestamp: gate.started.clone(),
        properties,
        cases,
    };
    junit::render("ciphertax", &suite)
}

fn case(row: &GateRow) -> Case {
    let why = || format!("{}: {}", in_words(row), reason(row));
    Case {
        class: row.cell.clone(),
        name: name(row),
        outcome: match row.verdict {
            BoundVerdict::Within => Outcome::Passed,
            BoundVerdict::Over => Outcome::Failed(why()),
            BoundVerdict::CannotTell => Outcome::Undecided(why()),
        },
        output: in_words(row),
    }
}

/// The answer in a sentence.
pub(crate) fn answer(gate: &Gate) -> String {
    let count = |verdict| gate.rows.iter().filter(|row| row.verdict == verdict).count();
    let all = gate.rows.len();
    let of_all = |count: usize| match (count, all) {
        (_, 1) => "the cost".to_owned(),
        (count, all) if count == all => format!("all {all} costs"),
        (count, all) => format!("{count} of {all} costs"),
    };
    let not_held = match gate.not_held.len() {
        0 => String::new(),
        1 => " 1 more is not held to the earlier run: the load generator was its bottleneck.".into(),
        more => {
            format!(" {more} more are not held to the earlier run: the load generator was their bottleneck.")
        }
    };
    let answer = match gate.verdict {
        BoundVerdict::Within if all == 1 => "Within: the cost stayed within its limit.".into(),
        BoundVerdict::Within => format!("Within: {} stayed within their limits.", of_all(all)),
        BoundVerdict::Over => format!("Over: {} exceeded the limit.", of_all(count(BoundVerdict::Over))),
        BoundVerdict::CannotTell if count(BoundVerdict::CannotTell) == 0 => {
            let open = gate.not_comparable.len();
            format!("Cannot tell: {open} of what the earlier run has is not in this one.")
        }
        BoundVerdict::CannotTell => format!(
            "Cannot tell: of {} it is not known whether the limit was kept.",
            of_all(count(BoundVerdict::CannotTell))
        ),
    };
    format!("{answer}{not_held}")
}

/// Which runs were cut off, and why, in a sentence each.
pub(crate) fn cut_off(gate: &Gate) -> impl Iterator<Item = String> {
    let run = gate
        .cut_off
        .iter()
        .map(|why| format!("The run was cut off: {why}."));
    let earlier = gate.baseline_cut_off.iter();
    run.chain(earlier.map(|why| format!("The earlier run was cut off: {why}.")))
}

/// `tls1.3: server CPU per operation <= +35.0 %`
fn name(row: &GateRow) -> String {
    let sign = match row.metric.direction() {
        Direction::HigherCosts => "<=",
        Direction::LowerCosts => ">=",
    };
    let than = match row.held_to {
        HeldTo::Budget => "",
        HeldTo::EarlierRun => ", against the earlier run",
    };
    format!("{}: {} {sign} {}{than}", row.arm, row.metric, limit(row))
}

/// `+35.0 %`
pub(crate) fn limit(row: &GateRow) -> String {
    format::change(row.limit)
}

/// `+41.2 % [40.1, 42.3]`
pub(crate) fn measured(row: &GateRow) -> String {
    row.measured
        .map_or(format::ABSENT.into(), format::change_with_interval)
}

fn in_words(row: &GateRow) -> String {
    format!(
        "{}, limit {}, measured {}",
        row.verdict,
        limit(row),
        measured(row)
    )
}

/// Why rows are not within, each reason once with the rows that have it.
pub(crate) fn reasons<'a>(rows: impl Iterator<Item = &'a GateRow>) -> Vec<(String, Vec<&'a GateRow>)> {
    let mut found: Vec<(String, Vec<&GateRow>)> = Vec::new();
    for row in rows.filter(|row| row.verdict != BoundVerdict::Within) {
        let why = format!("{}, because {}", row.verdict, reason(row).trim_end_matches('.'));
        match found.iter_mut().find(|(known, _)| *known == why) {
            Some((_, rows)) => rows.push(row),
            None => found.push((why, vec![row])),
        }
    }
    found
}

/// Why a limit of speed is not the margin itself, where there is one.
pub(crate) fn limit_of_speed<'a>(mut rows: impl Iterator<Item = &'a GateRow>) -> Option<String> {
    let is_of_speed =
        |row: &&GateRow| row.held_to == HeldTo::EarlierRun && row.metric.direction() == Direction::LowerCosts;
    let row = rows.find(is_of_speed)?;
    let margin = format::share_of(1.0 / (1.0 + row.limit) - 1.0);
    Some(format!(
        "The limit of {} is {} for a margin of {margin}: with so much less of it an operation takes {margin} longer.",
        row.metric,
        limit(row)
    ))
}

/// Why the verdict is what it is, and what would decide it.
fn reason(row: &GateRow) -> String {
    let Some(rule) = row.rule else {
        return row.unmeasured.clone().unwrap_or_default();
    };
    let floor = row.floor.map_or(format::ABSENT.into(), |floor| {
        format!("±{}", format::share_of(floor))
    });
    let why = match rule {
        Rule::WithinMargin => format!(
            "the whole interval lies on the good side of the limit, further from it than the noise floor of {floor}"
        ),
        Rule::BeyondFloor => format!(
            "the whole interval lies beyond the limit, further from it than the noise floor of {floor}, and that is significant \
             among all limits (Holm, {})",
            words::p_value(row.adjusted_p_value)
        ),
        Rule::IntervalTooWide => "the limit lies within the interval".into(),
        Rule::WithinFloor | Rule::FloorTooWide => {
            format!("the cost is nearer to the limit than the noise floor of {floor}")
        }
        Rule::ManyComparisons => format!(
            "among so many limits one may well be exceeded like this by chance (Holm, {})",
            words::p_value(row.adjusted_p_value)
        ),
        Rule::NoFloor => "there is no noise floor: the baseline against itself was not measured".into(),
        Rule::ClientBound => "the load generator was the bottleneck, so the figure is the client's".into(),
    };
    let remedy = match (row.precision_needed, row.verdict, row.held_to, rule) {
        (_, _, _, Rule::NoFloor | Rule::ClientBound) => String::new(),
        (Some(precision), BoundVerdict::CannotTell, ..) => format!(
            "; measure again with intervals of ±{} ({}) and time enough",
            format::share_of(precision),
            how(row.metric, precision)
        ),
        (None, BoundVerdict::CannotTell, HeldTo::Budget, _) => {
            "; it is so near to the limit that no measuring will decide it: change the limit, or the cost"
                .into()
        }
        (None, BoundVerdict::CannotTell, HeldTo::EarlierRun, _) => {
            "; measure again, longer, or allow more with --margin".into()
        }
        _ => String::new(),
    };
    format!("{why}{remedy}")
}

/// The option that asks for a precision; of what no precision can be asked for, more time.
fn how(metric: Metric, precision: f64) -> String {
    match metric {
        metric if metric.is_cpu() => format!("--precision {}", rounded_down(precision)),
        Metric::Throughput | Metric::ResponseMean => {
            format!("--set precision.throughput={}", rounded_down(precision))
        }
        _ => "--time".to_owned(),
    }
}

/// One significant digit, rounded down so that it suffices, within what a study may ask for.
fn rounded_down(precision: f64) -> f64 {
    let digit = 10_f64.powf(precision.log10().floor());
    // Beside 10⁻³ the quotient may be a hair below a whole number.
    let rounded = (precision / digit + 1e-9).floor() * digit;
    let text = format!("{:.4}", rounded.clamp(0.0005, 0.5));
    text.parse().unwrap_or(precision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_to_ask_for_is_short_and_suffices() {
        for (needed, asked) in [
            (0.0123, 0.01),
            (0.0299, 0.02),
            (0.001, 0.001),
            (0.7, 0.5),
            (0.000_51, 0.0005),
        ] {
            assert_eq!(rounded_down(needed), asked);
        }
    }
}
