//! What the first arm that can be told of costs: of a short study per query, per new connection and per large result, and both
//! sides; of others where it costs most and least.

use ciphertax_base::format::rounded;
use ciphertax_base::joined;
use ciphertax_model::workload::Unit;
use ciphertax_model::{Arm, Metric};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use super::clause::{Clause, UNDECIDED, clause, operation, primary, said};
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

/// Where an arm costs most and least, among the cells where it is sure to cost anything, and what is known of the others.
fn across_cells(run: &Run, arm: &str) -> Option<String> {
    let rows: Vec<&EstimateRow> = run.cells().filter_map(|cell| primary(run, arm, cell)).collect();
    let describe = |subject: &str, row: &EstimateRow| match clause(run, row, operation(run, &row.cell)) {
        Clause::Undecided(mut undecided) => {
            undecided.what += &format!(" in {}", row.cell);
            undecided.of(subject)
        }
        decided @ Clause::Decided { .. } => format!("{} in {}", said(subject, &[decided]), row.cell),
    };
    if let [only] = rows.as_slice() {
        return Some(format!("{}.", describe(arm, only)));
    }
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
    let without = rows.iter().filter(|row| row.verdict == Verdict::NoCost);
    let margins = without.map(|row| row.margin);
    let no_cost = format!("no cost above {}", rounded::share(margins.fold(0.0, f64::max)));
    for (verdicts, words) in [
        (&[Verdict::NoCost][..], no_cost.as_str()),
        (&[Verdict::Gains], saves),
        (&UNDECIDED, "it cannot be told yet"),
    ] {
        match rows.iter().filter(|row| verdicts.contains(&row.verdict)).count() {
            0 => {}
            2 if all == 2 => others.push(format!("in both cells{measured} {words}")),
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
        [] => return Some(format!("{arm}: {}.", others.join("; "))),
        [only] => describe(arm, only),
        [most, .., least] => format!(
            "{arm} costs something in {} of {all} cells{measured}: {}, and {}",
            sure.len(),
            describe("it", most),
            describe("", least).trim_start()
        ),
    };
    Some(format!("{}.", joined(std::iter::once(costs).chain(others), "; ")))
}
