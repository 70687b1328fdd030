//! The verdict in one sentence a manager can read.

use ciphertax_model::record::{ArmRole, EstimateRow, Run, Verdict};
use ciphertax_model::{Metric, Workload};

/// One sentence about every variant's cost for queries and for connects.
pub(crate) fn verdict(run: &Run) -> String {
    let parts: Vec<String> = run
        .arms
        .iter()
        .filter(|arm| arm.role == ArmRole::Variant)
        .filter_map(|arm| about(run, &arm.name))
        .collect();
    if parts.is_empty() {
        return "Nothing can be said: no block was measured completely.".into();
    }
    format!("{}.", parts.join("; "))
}

fn about(run: &Run, arm: &str) -> Option<String> {
    let clauses: Vec<String> = [
        (Workload::OltpPointSelect, "a query"),
        (Workload::Connect, "a new connection"),
    ]
    .into_iter()
    .filter_map(|(workload, what)| {
        let row = primary(run, arm, workload)?;
        let payer = match row.metric {
            Metric::ServerCpuPerOp => "server CPU",
            Metric::ClientCpuPerOp => "client CPU",
            _ => "throughput",
        };
        Some(clause(row, payer, what))
    })
    .collect();
    (!clauses.is_empty()).then(|| {
        format!(
            "{arm} against {}: {}",
            run.study.baseline().name,
            clauses.join(", and ")
        )
    })
}

/// The row that says most: what the server pays, else what the client pays.
fn primary<'a>(run: &'a Run, arm: &str, workload: Workload) -> Option<&'a EstimateRow> {
    let cell = run.cells.iter().find(|cell| cell.workload == workload)?;
    [Metric::ServerCpuPerOp, Metric::ClientCpuPerOp, Metric::Throughput]
        .into_iter()
        .find_map(|metric| {
            run.estimates
                .iter()
                .find(|row| row.cell == cell.name && row.arm == arm && row.metric == metric)
        })
}

fn clause(row: &EstimateRow, payer: &str, what: &str) -> String {
    let interval = format!("[{}, {}]", percent(row.low), percent(row.high));
    match row.verdict {
        Verdict::Costs if row.change >= 2.0 => format!(
            "{what} costs {:.1} times the {payer} [{:.1}, {:.1}]",
            1.0 + row.change,
            1.0 + row.low,
            1.0 + row.high
        ),
        Verdict::Costs => format!("{what} costs {} {payer} {interval}", percent(row.change)),
        Verdict::NoCost => format!("{what} costs no more than {} of {payer}", magnitude(row.margin)),
        Verdict::Gains => format!(
            "{what} seems to need {} {payer} {interval}, which is suspicious",
            percent(row.change)
        ),
        Verdict::CannotTell => format!(
            "for {what} it cannot be told yet ({payer} {} {interval})",
            percent(row.change)
        ),
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
    fn durations_are_given_in_the_unit_a_reader_expects() {
        assert_eq!(micros(1.26), "1.3 µs");
        assert_eq!(micros(652.4), "652 µs");
        assert_eq!(micros(22_000.0), "22.0 ms");
    }
}
