//! Pool connections, if the connect is what costs.

use ciphertax_model::Metric;
use ciphertax_records::{ChurnRow, Finding, Run, Severity, Side};
use ciphertax_stats::Verdict;
use ciphertax_stats::format::rounded;

use super::finding::finding;

/// The cost with one query a connection from which on, for sure, it is worth keeping connections.
const WORTH_KEEPING: f64 = 0.20;

pub(super) fn keep_connections(run: &Run, row: &ChurnRow) -> Option<Finding> {
    let arm = &row.arm;
    let connect = run.results.estimate(&row.cell, arm, Metric::ServerCpuPerOp)?;
    let single = row.points.first()?.overhead;
    let budget = row.break_even.iter().find(|budget| budget.budget == 0.05)?;
    if row.side != Side::Server || single.low < WORTH_KEEPING || connect.verdict != Verdict::Costs {
        return None;
    }
    let query = rounded::change(row.query_overhead);
    let later = match (budget.queries, budget.queries_low, budget.queries_high) {
        (Some(queries), _, Some(high)) => {
            format!("from about {queries:.0} queries on less than 5 % more (at most {high:.0})")
        }
        (Some(queries), _, None) => format!(
            "from about {queries:.0} queries on less than 5 % more, if at all: what a query itself costs is {query}"
        ),
        (None, Some(_), _) => {
            format!("and whether it is ever below 5 % cannot be told: what a query itself costs is {query}")
        }
        (None, None, _) => format!("with many queries what a query itself costs: {query}"),
    };
    Some(finding(
        "keep-connections",
        Severity::Advice,
        format!(
            "{}: keep connections open: with one query a connection {arm} takes {} server CPU, {later}.",
            row.cell,
            rounded::more(single.value)
        ),
        format!(
            "server CPU of a connect without its query {} instead of {}, of a query {} instead of {}",
            rounded::microseconds(row.connect_variant_us),
            rounded::microseconds(row.connect_baseline_us),
            rounded::microseconds(row.query_variant_us),
            rounded::microseconds(row.query_baseline_us)
        ),
    ))
}
