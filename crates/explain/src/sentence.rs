//! The verdict in one sentence a manager can read.

use ciphertax_base::format::rounded;
use ciphertax_base::joined;
use ciphertax_model::workload::Unit;
use ciphertax_model::{Arm, Metric};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::{FEWEST_BLOCKS, Verdict};

use crate::findings::which_server_pays_most;

/// One sentence about the arm that the study names first: what it costs the server, or else the client. The tables say the
/// same of the others.
pub(crate) fn verdict(run: &Run) -> String {
    let Some(baseline) = run.head.baseline() else {
        return nothing(run);
    };
    // Where a study asks several servers the same.
    let of_several = which_server_pays_most(&run.results.findings);
    if !of_several.is_empty() {
        return format!("Against {}: {}.", baseline.name, of_several.join("; "));
    }
    let mut told = run.head.variants().filter_map(|arm| about(run, &arm.name));
    match told.next() {
        Some(sentence) => format!("Against {}, {sentence}.", baseline.name),
        None => nothing(run),
    }
}

fn nothing(run: &Run) -> String {
    // More time gives more of what does not count.
    let slices: u32 = run
        .results
        .cells
        .iter()
        .map(|cell| cell.blocks * run.head.arms.len() as u32)
        .sum();
    let void = &run.results.void;
    if let Some(last) = void.last().filter(|_| void.len() > slices as usize) {
        return format!(
            "Nothing can be said: {} slices did not count, the last since {}.",
            void.len(),
            last.reason
        );
    }
    match run.results.cells.iter().map(|cell| cell.blocks).max() {
        None | Some(0) => "Nothing can be said: no block was measured completely.".into(),
        Some(blocks) => format!(
            "Nothing can be said yet: an interval needs {FEWEST_BLOCKS} blocks of a cell, and there are {blocks}; give it \
             more time."
        ),
    }
}

/// Of no more cells than this the sentence says what queries and connections cost, whatever else is measured.
const FEW_CELLS: usize = 4;

fn about(run: &Run, arm: &str) -> Option<String> {
    const OF_A_SHORT_STUDY: [(Unit, &str); 2] = [
        (Unit::Lookup, "query"),
        (Unit::ConnectionWithLookup, "new connection"),
    ];
    let unit = |cell: MeasuredCell<'_>| cell.asked.workload.descriptor().operation;
    let of = |meant: Unit| run.cells().filter(move |cell| unit(*cell) == meant);
    let is_short = (run.cells().all(|cell| unit(cell) != Unit::Operation)
        || run.cells().count() <= FEW_CELLS)
        && OF_A_SHORT_STUDY.iter().any(|(meant, _)| of(*meant).count() > 0)
        && OF_A_SHORT_STUDY.iter().all(|(meant, _)| of(*meant).count() < 2);
    if !is_short || is_about_commits(run, arm) {
        return across_cells(run, arm);
    }
    let clauses: Vec<Clause> = OF_A_SHORT_STUDY
        .into_iter()
        .filter_map(|(meant, what)| Some(clause(run, primary(run, arm, of(meant).next()?)?, what)))
        .collect();
    (!clauses.is_empty()).then(|| said(arm, &clauses))
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
        return Some(both_sides(run, only).unwrap_or_else(|| describe(arm, only)));
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
        [] => return Some(format!("{arm}: {}", others.join("; "))),
        [only] => describe(arm, only),
        [most, .., least] => format!(
            "{arm} costs something in {} of {all} cells{measured}: {}, and {}",
            sure.len(),
            describe("it", most),
            describe("", least).trim_start()
        ),
    };
    Some(joined(std::iter::once(costs).chain(others), "; "))
}

/// What a cell's operation is called in a sentence.
fn operation(run: &Run, cell: &str) -> &'static str {
    let workload = run.cell(cell).map(|cell| cell.asked.workload);
    match workload {
        Some(workload) if workload.makes_connections() => "new connection",
        Some(workload) if workload.is_key_lookup() => "query",
        _ => "operation",
    }
}

/// Both sides of the only cell, if both pay.
fn both_sides(run: &Run, row: &EstimateRow) -> Option<String> {
    if !row.metric.is_cpu() {
        return None;
    }
    let [server, client] = [run.results.server_cpu(&row.cell), Metric::ClientCpuPerOp].map(|metric| {
        run.results
            .estimate(&row.cell, &row.arm, metric)
            .filter(|row| row.verdict == Verdict::Costs)
    });
    let what = operation(run, &row.cell);
    Some(said(
        &row.arm,
        &[clause(run, server?, what), clause(run, client?, what)],
    ))
}

/// What is not decided, the nearest to a cost first.
const UNDECIDED: [Verdict; 3] = [Verdict::CostsPerhaps, Verdict::CannotTell, Verdict::GainsPerhaps];

/// The row that says most: a cost, of the server before the client; else what is undecided, else what is sure. Of connects at a
/// distance it is the time they take.
fn primary<'a>(run: &'a Run, arm: &str, cell: MeasuredCell<'_>) -> Option<&'a EstimateRow> {
    let is_far = cell.link.is_some_and(|link| link.rtt_ms > 0.0);
    let time = run.results.estimate(&cell.found.name, arm, Metric::LatencyMean);
    if let Some(time) = time.filter(|_| is_far && cell.asked.workload.makes_connections()) {
        return Some(time);
    }
    let rows = [run.results.server_cpu(&cell.found.name), Metric::ClientCpuPerOp]
        .into_iter()
        .filter_map(|metric| run.results.estimate(&cell.found.name, arm, metric));
    let rows: Vec<&EstimateRow> = rows.collect();
    [Verdict::Costs]
        .into_iter()
        .chain(UNDECIDED)
        .chain([Verdict::Gains, Verdict::NoCost])
        .find_map(|verdict| rows.iter().find(|row| row.verdict == verdict))
        .copied()
}

/// What an arm does to one side.
enum Clause {
    /// The rest of a sentence that begins with the arm.
    Decided {
        verb: String,
        object: String,
    },
    Undecided(Undecided),
}

/// What it may cost, and the change with its interval.
struct Undecided {
    what: String,
    change: String,
}

impl Undecided {
    fn of(&self, subject: &str) -> String {
        format!(
            "whether {subject} costs {} cannot be told yet: {}",
            self.what, self.change
        )
    }
}

/// `tls costs the server 1.1 µs more CPU per query (…) and 186 µs more CPU per new connection (…)`, and then what is undecided.
fn said(subject: &str, clauses: &[Clause]) -> String {
    let mut text = String::new();
    let mut former = "";
    for clause in clauses {
        let Clause::Decided { verb, object } = clause else {
            continue;
        };
        text.push_str(if text.is_empty() { subject } else { " and" });
        text.push(' ');
        if verb != former {
            text.push_str(verb);
        }
        text.push_str(object);
        former = verb;
    }
    for clause in clauses {
        let Clause::Undecided(undecided) = clause else {
            continue;
        };
        let subject = if text.is_empty() { subject } else { "it" };
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&undecided.of(subject));
    }
    text
}

/// What the tunnel and the pooler of an arm take beside the server.
fn between(run: &Run, row: &EstimateRow) -> String {
    let of = |arm: &str, metric| {
        let row = run.results.measured(&row.cell, arm, metric);
        row.map(|row| row.value)
    };
    let baseline = &run.head.study.baseline().name;
    let each = Metric::OF_WHAT_IS_BETWEEN.into_iter().filter_map(|metric| {
        let program = match metric {
            Metric::PoolerCpuPerOp => "pooler",
            _ => "tunnel",
        };
        let more = of(&row.arm, metric)? - of(baseline, metric).unwrap_or(0.0);
        Some(format!(
            ", and the {program} takes {} more",
            rounded::microseconds(more)
        ))
    });
    each.collect()
}

fn clause(run: &Run, row: &EstimateRow, what: &str) -> Clause {
    let (of_whom, what_of) = match row.metric {
        server if Metric::SERVER_CPU.contains(&server) => ("the server ", "CPU"),
        Metric::LatencyMean => ("", "time"),
        _ if run.head.is_embedded() => ("the application ", "CPU"),
        _ => ("the client ", "CPU"),
    };
    let change = rounded::change(row.interval());
    let micros = rounded::microseconds(row.difference.value.abs());
    let between = match Metric::SERVER_CPU.contains(&row.metric) {
        true => between(run, row),
        false => String::new(),
    };
    let costs = || format!("{micros} more {what_of} per {what} ({change}){between}");
    let saves = || format!("{micros} {what_of} per {what} ({change}){between}");
    let (verb, object) = match row.verdict {
        Verdict::Costs => ("costs", costs()),
        Verdict::CostsPerhaps => ("perhaps costs", costs()),
        Verdict::NoCost => (
            "costs",
            format!(
                "less than {} more {what_of} per {what}{between}",
                rounded::share(row.margin)
            ),
        ),
        Verdict::Gains if run.head.study.adds_protection(&row.arm) => (
            "seems to save",
            format!("{micros} {what_of} per {what} ({change}: suspicious){between}"),
        ),
        Verdict::Gains => ("saves", saves()),
        Verdict::GainsPerhaps => ("perhaps saves", saves()),
        Verdict::CannotTell => {
            return Clause::Undecided(Undecided {
                what: format!("{of_whom}{what_of} per {what}"),
                change,
            });
        }
    };
    Clause::Decided {
        verb: format!("{verb} {of_whom}"),
        object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_stands_after_what_is_known_as_a_sentence_of_its_own() {
        let costs = || Clause::Decided {
            verb: "costs the client ".into(),
            object: "2.0 µs more CPU per query (+20 %)".into(),
        };
        let undecided = || {
            Clause::Undecided(Undecided {
                what: "the server CPU per query".into(),
                change: "+28 % [8.1, 52]".into(),
            })
        };
        let expected = "whether tls costs the server CPU per query cannot be told yet: +28 % [8.1, 52]";
        assert_eq!(said("tls", &[undecided()]), expected);
        assert_eq!(
            said("tls", &[undecided(), costs()]),
            "tls costs the client 2.0 µs more CPU per query (+20 %); whether it costs the server CPU per query cannot be told yet: \
             +28 % [8.1, 52]"
        );
    }
}
