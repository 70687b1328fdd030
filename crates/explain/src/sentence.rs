//! The verdict in one sentence a manager can read, and the words of figures.

use ciphertax_model::Metric;
use ciphertax_model::workload::Unit;
use ciphertax_records::{ArmRole, EstimateRow, MeasuredCell, Run};
use ciphertax_stats::{FEWEST_BLOCKS, Interval, Verdict};

/// One sentence about the arm that the study names first: what it costs the server, or else the client. The tables say the
/// same of the others.
pub(crate) fn verdict(run: &Run) -> String {
    let Some(baseline) = run.head.arms.iter().find(|arm| arm.role == ArmRole::Baseline) else {
        return nothing(run);
    };
    let variants = run.head.arms.iter().filter(|arm| arm.role == ArmRole::Variant);
    let mut told = variants.filter_map(|arm| about(run, &arm.name));
    match told.next() {
        Some(sentence) => format!("Against {}, {sentence}.", baseline.name),
        None => nothing(run),
    }
}

fn nothing(run: &Run) -> String {
    match run.results.cells.iter().map(|cell| cell.blocks).max() {
        None | Some(0) => "Nothing can be said: no block was measured completely.".into(),
        Some(blocks) => format!(
            "Nothing can be said yet: an interval needs {FEWEST_BLOCKS} blocks of a cell, and there are {blocks}; give it \
             more time."
        ),
    }
}

fn about(run: &Run, arm: &str) -> Option<String> {
    const OF_A_SHORT_STUDY: [(Unit, &str); 2] = [
        (Unit::Lookup, "query"),
        (Unit::ConnectionWithLookup, "new connection"),
    ];
    let unit = |cell: MeasuredCell<'_>| cell.asked.workload.descriptor().operation;
    let of = |meant: Unit| run.cells().filter(move |cell| unit(*cell) == meant);
    let is_short = run.cells().all(|cell| unit(cell) != Unit::Operation)
        && OF_A_SHORT_STUDY.iter().any(|(meant, _)| of(*meant).count() > 0)
        && OF_A_SHORT_STUDY.iter().all(|(meant, _)| of(*meant).count() < 2);
    if !is_short {
        return across_cells(run, arm);
    }
    let clauses: Vec<Clause> = OF_A_SHORT_STUDY
        .into_iter()
        .filter_map(|(meant, what)| Some(clause(run, primary(run, arm, of(meant).next()?)?, what)))
        .collect();
    (!clauses.is_empty()).then(|| format!("{arm} {}", joined(&clauses)))
}

/// Where an arm costs most and least, among the cells where it is sure to cost anything, and what is known of the others.
fn across_cells(run: &Run, arm: &str) -> Option<String> {
    let rows: Vec<&EstimateRow> = run.cells().filter_map(|cell| primary(run, arm, cell)).collect();
    let describe = |row: &EstimateRow| {
        let clause = clause(run, row, "operation");
        format!("{}{} in {}", clause.verb, clause.object, row.cell)
    };
    if let [only] = rows.as_slice() {
        return Some(format!("{arm} {}", describe(only)));
    }
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let all = rows.len();
    let measured = if all < run.results.cells.len() {
        " measured"
    } else {
        ""
    };
    let mut others: Vec<String> = Vec::new();
    let saves = match run.head.study.adds_protection(arm) {
        true => "it seems to save something, which is suspicious",
        false => "it saves something",
    };
    for (verdict, words) in [
        (Verdict::NoCost, "neither side pays more than the margin"),
        (Verdict::Gains, saves),
        (Verdict::CannotTell, "it cannot be told yet"),
    ] {
        match count(verdict) {
            0 => {}
            n if n == all => others.push(format!("in all {all} cells{measured} {words}")),
            n => others.push(format!("in {n} of {all} cells{measured} {words}")),
        }
    }
    let mut sure: Vec<&EstimateRow> = rows
        .into_iter()
        .filter(|row| row.verdict == Verdict::Costs)
        .collect();
    sure.sort_by(|one, other| other.change.total_cmp(&one.change));
    let costs = match sure.as_slice() {
        [] if all == 0 => return None,
        [] => return Some(format!("{arm}: {}", others.join("; "))),
        [only] => format!("{arm} {}", describe(only)),
        [most, .., least] => format!(
            "{arm} costs something in {} of {all} cells{measured}: it {}, and {}",
            sure.len(),
            describe(most),
            describe(least)
        ),
    };
    Some(
        std::iter::once(costs)
            .chain(others)
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// The row that says most: a cost, of the server before the client; else what is undecided, else what is sure.
fn primary<'a>(run: &'a Run, arm: &str, cell: MeasuredCell<'_>) -> Option<&'a EstimateRow> {
    let rows = [Metric::ServerCpuPerOp, Metric::ClientCpuPerOp]
        .into_iter()
        .filter_map(|metric| run.results.estimate(&cell.found.name, arm, metric));
    let rows: Vec<&EstimateRow> = rows.collect();
    [
        Verdict::Costs,
        Verdict::CannotTell,
        Verdict::Gains,
        Verdict::NoCost,
    ]
    .into_iter()
    .find_map(|verdict| rows.iter().find(|row| row.verdict == verdict))
    .copied()
}

/// What an arm does to one side, as the rest of a sentence that begins with the arm.
struct Clause {
    verb: String,
    object: String,
}

/// `costs the server 1.1 µs more CPU per query (…) and 186 µs more CPU per new connection (…)`
fn joined(clauses: &[Clause]) -> String {
    let mut text = String::new();
    let mut verb = "";
    for clause in clauses {
        if !text.is_empty() {
            text.push_str(" and ");
        }
        if clause.verb != verb {
            text.push_str(&clause.verb);
        }
        text.push_str(&clause.object);
        verb = &clause.verb;
    }
    text
}

fn clause(run: &Run, row: &EstimateRow, what: &str) -> Clause {
    let side = match row.metric {
        Metric::ServerCpuPerOp => "server",
        _ => "client",
    };
    let change = change(row);
    let micros = row.difference.map_or_else(
        || percent(row.change),
        |difference| micros(difference.value.abs()),
    );
    let (verb, object) = match row.verdict {
        Verdict::Costs => ("costs", format!("{micros} more CPU per {what} ({change})")),
        Verdict::NoCost => (
            "costs",
            format!("less than {} more CPU per {what}", magnitude(row.margin)),
        ),
        Verdict::Gains if run.head.study.adds_protection(&row.arm) => (
            "seems to save",
            format!("{micros} CPU per {what} ({change}: suspicious)"),
        ),
        Verdict::Gains => ("saves", format!("{micros} CPU per {what} ({change})")),
        Verdict::CannotTell => (
            "may or may not cost",
            format!("CPU per {what} (cannot tell: {change})"),
        ),
    };
    Clause {
        verb: format!("{verb} the {side} "),
        object,
    }
}

/// `+16 % [15, 17]`
pub(crate) fn change(row: &EstimateRow) -> String {
    change_of(Interval {
        value: row.change,
        low: row.low,
        high: row.high,
    })
}

/// `+16 % [15, 17]`
pub(crate) fn change_of(Interval { value, low, high }: Interval) -> String {
    format!("{} {}", percent(value), bounds(low, high))
}

/// A bound beyond this, as a fraction, says only that nothing is known: a thousand times the baseline.
const BEYOND_REASON: f64 = 1_000.0;

/// `[15, 17]`, in percent.
fn bounds(low: f64, high: f64) -> String {
    let bound = |fraction: f64| {
        if fraction > BEYOND_REASON {
            return format!("> {}", count(BEYOND_REASON * 100.0));
        }
        let digits = magnitude(fraction.abs());
        let is_zero = !digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        let sign = if fraction < 0.0 && !is_zero { "−" } else { "" };
        format!("{sign}{}", digits.trim_end_matches(" %"))
    };
    format!("[{}, {}]", bound(low), bound(high))
}

/// A fraction as signed percent, with as many digits as it can bear.
pub(crate) fn percent(fraction: f64) -> String {
    format!(
        "{}{}",
        if fraction < 0.0 { "−" } else { "+" },
        magnitude(fraction.abs())
    )
}

/// How much more something takes: as percent, or as a multiple where percents become hard to read.
pub(crate) fn more(fraction: f64) -> String {
    if fraction >= 2.0 {
        format!("{:.1} times as much", 1.0 + fraction)
    } else {
        format!("{} more", magnitude(fraction))
    }
}

fn magnitude(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{} %", count(percent))
    }
}

/// A whole number with its thousands set apart.
pub(crate) fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Microseconds in the unit a reader expects, the unit that tables give it in.
pub(crate) fn micros(us: f64) -> String {
    let (size, decimals, unit) = scale(us);
    format!("{:.decimals$} {unit}", us / size)
}

/// `5.5 µs [4.9, 6.1]`, all in the unit of the value.
pub(crate) fn micros_between(Interval { value, low, high }: Interval) -> String {
    let (size, decimals, _) = scale(value);
    let bound = |us: f64| {
        let text = format!("{:.decimals$}", us.abs() / size);
        let is_negative = us < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        format!("{}{text}", if is_negative { "−" } else { "" })
    };
    format!("{} [{}, {}]", micros(value), bound(low), bound(high))
}

/// Microseconds in the unit of a time, its decimals, and its name.
fn scale(us: f64) -> (f64, usize, &'static str) {
    match us.abs() {
        below if below < 9.95 => (1.0, 1, "µs"),
        below if below < 999.5 => (1.0, 0, "µs"),
        below if below < 9_995.0 => (1e3, 2, "ms"),
        below if below < 999_500.0 => (1e3, 1, "ms"),
        _ => (1e6, 2, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_carry_their_sign_and_no_more_digits_than_they_can_bear() {
        assert_eq!(percent(0.0123), "+1.2 %");
        assert_eq!(percent(-0.256), "−26 %");
        assert_eq!(percent(7.5), "+750 %");
        assert_eq!(percent(12.34), "+1,234 %");
    }

    #[test]
    fn large_increases_are_told_as_multiples() {
        assert_eq!(more(0.31), "31 % more");
        assert_eq!(more(10.8), "11.8 times as much");
    }

    #[test]
    fn durations_are_given_in_the_unit_a_reader_expects() {
        assert_eq!(micros(1.26), "1.3 µs");
        assert_eq!(micros(652.4), "652 µs");
        assert_eq!(micros(5_458.0), "5.46 ms");
        assert_eq!(micros(22_000.0), "22.0 ms");
    }

    #[test]
    fn an_interval_of_time_has_the_unit_and_the_decimals_of_its_value() {
        let between = |value, low, high| micros_between(Interval { value, low, high });
        assert_eq!(between(5.54, 4.26, 6.9), "5.5 µs [4.3, 6.9]");
        assert_eq!(between(620.4, -3.2, 700.0), "620 µs [−3, 700]");
        assert_eq!(between(40_263.0, 39_900.0, 40_600.0), "40.3 ms [39.9, 40.6]");
    }
}
