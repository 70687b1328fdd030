//! What the first arm that can be told of costs: of a short study per query, per new connection and per large result, and both
//! sides; of others where it costs most and least.

use ciphertax_base::format::rounded;
use ciphertax_base::joined;
use ciphertax_model::workload::Unit;
use ciphertax_model::{Arm, Metric};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use super::clause::{Clause, clause, operation, payer, primary, said};
use crate::findings::which_server_pays_most;

/// The tables say the same of the other arms. Where a study asks several servers the same, which of them pays most.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let of_several = which_server_pays_most(&run.results.findings);
    if !of_several.is_empty() {
        return of_several.iter().map(|sentence| format!("{sentence}.")).collect();
    }
    let mut arms = run.head.variants().map(|arm| of_arm(run, &arm.name));
    arms.find(|sentences| !sentences.is_empty()).unwrap_or_default()
}

/// Of no more cells than this the sentence says what queries and connections cost, whatever else is measured.
const FEW_CELLS: usize = 4;

const OF_A_SHORT_STUDY: [Unit; 3] = [Unit::Lookup, Unit::ConnectionWithLookup, Unit::BulkResult];

fn of_arm(run: &Run, arm: &str) -> Vec<String> {
    let unit = |cell: MeasuredCell<'_>| match cell.asked.workload.makes_connections() {
        true => Unit::ConnectionWithLookup,
        false => cell.asked.workload.descriptor().operation,
    };
    let count = |meant: Unit| run.cells().filter(|cell| unit(*cell) == meant).count();
    let is_short = (run.cells().all(|cell| unit(cell) != Unit::Operation)
        || run.cells().count() <= FEW_CELLS)
        && [Unit::Lookup, Unit::ConnectionWithLookup]
            .iter()
            .any(|meant| count(*meant) > 0)
        && OF_A_SHORT_STUDY.iter().all(|meant| count(*meant) < 2);
    let cells: Vec<MeasuredCell<'_>> = match run.cells().count() {
        1 => run.cells().collect(),
        _ if !is_short || is_about_commits(run, arm) => {
            return across_cells(run, arm).into_iter().collect();
        }
        _ => {
            let of = |meant: &Unit| run.cells().find(|cell| unit(*cell) == *meant);
            OF_A_SHORT_STUDY.iter().filter_map(of).collect()
        }
    };
    let rows: Vec<&EstimateRow> = cells.iter().filter_map(|cell| primary(run, arm, *cell)).collect();
    let clauses = |rows: &[&EstimateRow]| -> Vec<Clause> {
        rows.iter()
            .map(|row| clause(run, row, operation(run, &row.cell)))
            .collect()
    };
    let of_clients = rows.iter().filter_map(|row| {
        let client = run.results.estimate(&row.cell, arm, Metric::ClientCpuPerOp)?;
        (row.metric != Metric::ClientCpuPerOp && client.verdict.is_decided_difference()).then_some(client)
    });
    let of_clients: Vec<&EstimateRow> = of_clients.collect();
    [(arm, rows), ("It", of_clients)]
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(subject, rows)| format!("{}.", said(subject, &clauses(&rows))))
        .collect()
}

/// True if an arm differs from the baseline in what servers tell each other, of which a query and a connection are no part.
fn is_about_commits(run: &Run, arm: &str) -> bool {
    let study = &run.head.study;
    let differs = |asked: &Arm| asked.cluster_tls != study.baseline().cluster_tls;
    study.arm(arm).is_some_and(differs)
}

/// From where an arm costs least to where it costs most, of the side that surely pays in most cells, and what is known of its others.
fn across_cells(run: &Run, arm: &str) -> Option<String> {
    let of_side = |metric: Option<Metric>| -> Vec<&EstimateRow> {
        let row = |cell: MeasuredCell<'_>| {
            let server = run.results.server_cpu(&cell.found.name);
            match cell.connects_from_afar() {
                true => run.results.estimate(&cell.found.name, arm, Metric::LatencyMean),
                false => run
                    .results
                    .estimate(&cell.found.name, arm, metric.unwrap_or(server)),
            }
        };
        run.cells().filter_map(row).collect()
    };
    let has = |rows: &[&EstimateRow], verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let [server, client] = [None, Some(Metric::ClientCpuPerOp)].map(of_side);
    let decided = |rows: &[&EstimateRow]| (has(rows, Verdict::Costs), rows.len());
    let rows = match decided(&client) > decided(&server) {
        true => client,
        false => server,
    };
    let all = rows.len();
    let mut sure: Vec<&EstimateRow> = rows
        .iter()
        .copied()
        .filter(|row| row.verdict == Verdict::Costs)
        .collect();
    sure.sort_by(|one, other| one.change.total_cmp(&other.change));
    let (whom, what) = payer(run, rows.first()?.metric);
    let placed = |row: &EstimateRow| format!("{} in {}", rounded::change(row.interval()), row.cell);
    let costs = match sure.as_slice() {
        [] => None,
        [only] => Some(format!(
            "{arm} costs {whom}{what} in {}: {} more, {}",
            in_cells(1, all),
            rounded::microseconds(only.difference.value),
            placed(only)
        )),
        [least, .., most] => Some(format!(
            "{arm} costs {whom}{what} in {}, from {} to {}",
            in_cells(sure.len(), all),
            placed(least),
            placed(most)
        )),
    };
    let margins = rows
        .iter()
        .filter(|row| row.verdict == Verdict::NoCost)
        .map(|row| row.margin);
    let no_cost = format!("no cost above {}", rounded::share(margins.fold(0.0, f64::max)));
    let saves = match run.head.study.adds_protection(arm) {
        true => "it seems to save something, which is suspicious",
        false => "it saves something",
    };
    let open = all - sure.len() - has(&rows, Verdict::NoCost) - has(&rows, Verdict::Gains);
    let others = [
        (has(&rows, Verdict::NoCost), no_cost.as_str()),
        (has(&rows, Verdict::Gains), saves),
        (open, "it is not decided"),
    ];
    let others = others
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("in {} {words}", in_cells(count, all)));
    let told = match costs {
        Some(costs) => joined(std::iter::once(costs).chain(others), "; "),
        None => format!("{arm}, {whom}{what}: {}", joined(others, "; ")),
    };
    Some(format!("{told}."))
}

/// `3 of 11 cells`, `both cells`
fn in_cells(count: usize, all: usize) -> String {
    match (count == all, all) {
        (true, 1) => "the only cell".into(),
        (true, 2) => "both cells".into(),
        (true, _) => format!("all {all} cells"),
        (false, _) => format!("{count} of {all} cells"),
    }
}
