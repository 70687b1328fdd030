//! The verdict in one sentence a manager can read.

use ciphertax_model::record::{ArmRole, CellRecord, EstimateRow, Run, Verdict};
use ciphertax_model::{Metric, Workload};

/// One sentence about every variant: what the server pays, else the client, for a query and for a new connection.
pub(crate) fn verdict(run: &Run) -> String {
    let parts: Vec<String> = run
        .arms
        .iter()
        .filter(|arm| arm.role == ArmRole::Variant)
        .filter_map(|arm| about(run, &arm.name))
        .collect();
    if parts.is_empty() {
        return match run.cells.iter().any(|cell| cell.blocks > 0) {
            true => {
                "Nothing can be said yet: an interval needs two blocks of a cell; give it more time.".into()
            }
            false => "Nothing can be said: no block was measured completely.".into(),
        };
    }
    format!("{}.", parts.join("; "))
}

fn about(run: &Run, arm: &str) -> Option<String> {
    type IsMeant = fn(Workload) -> bool;
    const OF_A_SHORT_STUDY: [(IsMeant, &str); 2] = [
        (Workload::is_key_lookup, "query"),
        (|workload| workload == Workload::Connect, "new connection"),
    ];
    let of = |is_meant: IsMeant| run.cells.iter().filter(move |cell| is_meant(cell.workload));
    let is_of_quick = |cell: &CellRecord| {
        cell.workload == Workload::BulkRead
            || OF_A_SHORT_STUDY
                .iter()
                .any(|(is_meant, _)| is_meant(cell.workload))
    };
    let is_short = run.cells.iter().all(is_of_quick)
        && OF_A_SHORT_STUDY
            .iter()
            .any(|(is_meant, _)| of(*is_meant).count() > 0)
        && OF_A_SHORT_STUDY
            .iter()
            .all(|(is_meant, _)| of(*is_meant).count() < 2);
    if !is_short {
        return across_cells(run, arm);
    }
    let clauses: Vec<String> = OF_A_SHORT_STUDY
        .into_iter()
        .filter_map(|(is_meant, what)| Some(clause(run, primary(run, arm, of(is_meant).next()?)?, what)))
        .collect();
    (!clauses.is_empty()).then(|| format!("{arm} costs {}", clauses.join(" and ")))
}

/// From the cell where an arm costs least to that where it costs most, among those where it is sure to cost anything.
fn across_cells(run: &Run, arm: &str) -> Option<String> {
    let mut rows: Vec<&EstimateRow> = run
        .cells
        .iter()
        .filter_map(|cell| primary(run, arm, cell))
        .collect();
    rows.sort_by(|one, other| one.change.total_cmp(&other.change));
    let describe = |row: &EstimateRow| format!("{}: {}", row.cell, clause(run, row, "operation"));
    if let [only] = rows.as_slice() {
        return Some(format!("{arm} costs, {}", describe(only)));
    }
    let all = rows.len();
    rows.retain(|row| matches!(row.verdict, Verdict::Costs | Verdict::Gains));
    let others = match all - rows.len() {
        0 => String::new(),
        others => format!(" (in {others} of {all} cells no cost is sure)"),
    };
    match rows.as_slice() {
        [] if all == 0 => None,
        [] => Some(format!("{arm} has no sure cost in any of {all} cells")),
        [only] => Some(format!("{arm} costs, {}{others}", describe(only))),
        [least, .., most] => Some(format!(
            "{arm} costs least in {}, and most in {}{others}",
            describe(least),
            describe(most)
        )),
    }
}

/// The row that says most: what the server pays, else what the client pays.
fn primary<'a>(run: &'a Run, arm: &str, cell: &CellRecord) -> Option<&'a EstimateRow> {
    [Metric::ServerCpuPerOp, Metric::ClientCpuPerOp]
        .into_iter()
        .find_map(|metric| {
            run.estimates
                .iter()
                .find(|row| row.cell == cell.name && row.arm == arm && row.metric == metric)
        })
}

fn clause(run: &Run, row: &EstimateRow, what: &str) -> String {
    let cpu = if row.metric == Metric::ServerCpuPerOp {
        "server CPU"
    } else {
        "client CPU"
    };
    let interval = format!("[{}, {}]", percent(row.low), percent(row.high));
    match row.verdict {
        Verdict::Costs if row.change >= 2.0 => format!(
            "{:.1} times the {cpu} a {what} [{:.1}, {:.1}]",
            1.0 + row.change,
            1.0 + row.low,
            1.0 + row.high
        ),
        Verdict::Costs => format!("{} {cpu} a {what} {interval}", percent(row.change)),
        Verdict::NoCost => format!("no more than {} {cpu} a {what}", magnitude(row.margin)),
        Verdict::Gains if run.study.adds_protection(&row.arm) => {
            format!("a suspicious {} {cpu} a {what} {interval}", percent(row.change))
        }
        Verdict::Gains => format!("{} less {cpu} a {what} {interval}", magnitude(-row.change)),
        Verdict::CannotTell => format!("an unknown amount of {cpu} a {what}, somewhere in {interval}"),
    }
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
        format!("{percent:.0} %")
    }
}

/// Microseconds in the unit a reader expects.
pub(crate) fn micros(us: f64) -> String {
    match us.abs() {
        us_abs if us_abs < 10.0 => format!("{us:.1} µs"),
        us_abs if us_abs < 10_000.0 => format!("{us:.0} µs"),
        _ => format!("{:.1} ms", us / 1e3),
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
        assert_eq!(micros(22_000.0), "22.0 ms");
    }
}
