//! The verdict in one sentence a manager can read.

use ciphertax_model::Metric;
use ciphertax_model::workload::Unit;
use ciphertax_records::{ArmRole, EstimateRow, MeasuredCell, Run};
use ciphertax_stats::format::rounded;
use ciphertax_stats::{FEWEST_BLOCKS, Verdict};

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
    let change = rounded::change(row.interval());
    let micros = row.difference.map_or_else(
        || rounded::percent(row.change),
        |difference| rounded::microseconds(difference.value.abs()),
    );
    let (verb, object) = match row.verdict {
        Verdict::Costs => ("costs", format!("{micros} more CPU per {what} ({change})")),
        Verdict::NoCost => (
            "costs",
            format!("less than {} more CPU per {what}", rounded::share(row.margin)),
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
