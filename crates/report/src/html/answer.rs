//! The answer in one small table: each arm per query and per new connection, on both sides; and the findings.

use ciphertax_base::format;
use ciphertax_records::{EstimateRow, MeasuredCell, Run, Severity};
use serde::Serialize;

use super::figure::{ArmName, Figure, Range, VerdictView};
use crate::answer::{Answer, answers, between, estimates, query_heading, sides};
use crate::lookup::{Group, grouped};
use crate::why::bound_word;
use crate::{describe, words};

/// The table of the answer.
#[derive(Serialize)]
pub(super) struct AnswerView {
    /// Of a query, then of a new connection; without a group of which no cell is.
    groups: Vec<ColumnGroup>,
    /// Who pays.
    sides: Vec<&'static str>,
    rows: Vec<Row>,
    baseline: String,
    /// What takes CPU time besides the two sides.
    between: Option<&'static str>,
    /// Verdicts that their intervals do not explain.
    explained: Vec<String>,
}

/// Columns of the same operation.
#[derive(Serialize)]
struct ColumnGroup {
    heading: &'static str,
    /// The cell, if it is the same in all rows.
    cell: String,
}

#[derive(Serialize)]
struct Row {
    arm: ArmName,
    place: String,
    groups: Vec<Part>,
}

/// One arm's figures of one operation.
#[derive(Serialize)]
struct Part {
    /// The cell, where rows differ in it.
    cell: String,
    sides: Vec<Side>,
    /// What is between them.
    between: Option<Figure>,
    /// What bounds the arm, where it is known.
    bound: Option<&'static str>,
    /// One if both sides have the same, else one of each.
    verdicts: Vec<VerdictView>,
}

/// One side's CPU time.
#[derive(Serialize)]
struct Side {
    label: &'static str,
    cost: Option<Cost>,
}

/// What is paid more.
#[derive(Serialize)]
struct Cost {
    difference: Figure,
    change: Range,
    baseline: Figure,
}

impl AnswerView {
    /// `None` if nothing was compared.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let answers = answers(run);
        if answers.is_empty() {
            return None;
        }
        let query: Option<CellOf<'_>> = answers
            .iter()
            .any(|answer| answer.query.is_some())
            .then_some((query_heading(&answers), |answer| answer.query));
        let connection: Option<CellOf<'_>> = answers
            .iter()
            .any(|answer| answer.connection.is_some())
            .then_some(("per new connection", |answer| answer.connection));
        let columns: Vec<CellOf<'_>> = query.into_iter().chain(connection).collect();
        let common: Vec<String> = columns
            .iter()
            .map(|(_, cell)| common_cell(&answers, *cell))
            .collect();
        Some(Self {
            groups: columns
                .iter()
                .zip(&common)
                .map(|((heading, _), cell)| ColumnGroup {
                    heading,
                    cell: cell.clone(),
                })
                .collect(),
            sides: sides(run).iter().map(|(_, side)| *side).collect(),
            rows: answers
                .iter()
                .map(|answer| Row {
                    arm: ArmName::of(run, &answer.arm.name),
                    place: answer.place.clone(),
                    groups: columns
                        .iter()
                        .zip(&common)
                        .map(|((_, cell), common)| part(run, answer, cell(answer), common.is_empty()))
                        .collect(),
                })
                .collect(),
            between: between(run, &answers),
            baseline: run
                .head
                .baseline()
                .map_or_else(String::new, |arm| arm.name.clone()),
            explained: estimates(run, &answers)
                .into_iter()
                .filter(|row| words::is_surprising(row))
                .map(|row| words::explained(run, row))
                .collect(),
        })
    }
}

/// A heading, and the cell of an answer that is below it.
type CellOf<'a> = (&'static str, fn(&Answer<'a>) -> Option<MeasuredCell<'a>>);

/// The cell of all answers that have one; empty if they differ.
fn common_cell<'a>(answers: &[Answer<'a>], cell: fn(&Answer<'a>) -> Option<MeasuredCell<'a>>) -> String {
    let mut names: Vec<&str> = answers
        .iter()
        .filter_map(cell)
        .map(|cell| cell.found.name.as_str())
        .collect();
    names.dedup();
    match names.as_slice() {
        [only] => (*only).to_owned(),
        _ => String::new(),
    }
}

fn part(run: &Run, answer: &Answer<'_>, cell: Option<MeasuredCell<'_>>, names_cell: bool) -> Part {
    Part {
        cell: cell
            .filter(|_| names_cell)
            .map_or_else(String::new, |cell| cell.found.name.clone()),
        sides: sides(run)
            .iter()
            .map(|(metric, label)| Side {
                label,
                cost: answer.estimate(run, cell, *metric).map(cost),
            })
            .collect(),
        between: answer
            .between(run, cell)
            .map(|(value, unit)| Figure::new(value, format::more(value, unit))),
        bound: cell.and_then(|cell| {
            let row = run.results.why.bound(&cell.found.name, &answer.arm.name)?;
            Some(bound_word(row.bound))
        }),
        verdicts: verdicts(run, answer, cell),
    }
}

fn verdicts(run: &Run, answer: &Answer<'_>, cell: Option<MeasuredCell<'_>>) -> Vec<VerdictView> {
    let sides = sides(run);
    let mut verdicts: Vec<(&str, VerdictView)> = sides
        .iter()
        .filter_map(|(metric, side)| {
            Some((*side, VerdictView::of(run, answer.estimate(run, cell, *metric)?)))
        })
        .collect();
    if verdicts.len() == 2 && verdicts[0].1.word == verdicts[1].1.word {
        verdicts.truncate(1);
    } else if sides.len() > 1 {
        for (side, verdict) in &mut verdicts {
            verdict.word = format!("{side}: {}", verdict.word);
        }
    }
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

fn cost(row: &EstimateRow) -> Cost {
    Cost {
        difference: Figure::difference(row.difference, &row.unit),
        change: Range::change(row.interval()),
        baseline: Figure::quantity(row.baseline, &row.unit),
    }
}

/// Causes, advice and suspicions that say the same, together.
#[derive(Serialize)]
pub(super) struct FindingGroup {
    word: &'static str,
    /// The first ones, shown as they are.
    first: Vec<StatementView>,
    /// The others, to be unfolded.
    more: Vec<StatementView>,
    /// True if the evidence is folded too: of one statement it is shown.
    unfolds: bool,
}

#[derive(Serialize)]
struct StatementView {
    summary: String,
    evidence: Vec<String>,
}

/// Statements of a group that are shown before unfolding.
const SHOWN: usize = 3;

/// What to do; and everything that casts doubt or explains, doubts first, as the page shows the first three alone.
pub(super) fn findings(run: &Run) -> (Vec<FindingGroup>, Vec<FindingGroup>) {
    let (advice, mut others) = grouped(run)
        .into_iter()
        .partition::<Vec<_>, _>(|group| group.severity == Severity::Advice);
    others.sort_by_key(|group| group.severity != Severity::Suspicion);
    let view = |groups: Vec<Group>| groups.into_iter().map(FindingGroup::of).collect();
    (view(advice), view(others))
}

impl FindingGroup {
    fn of(group: Group) -> Self {
        let mut first: Vec<StatementView> = group
            .statements
            .into_iter()
            .map(|statement| StatementView {
                summary: statement.summary,
                evidence: statement.evidence,
            })
            .collect();
        let more = if first.len() > SHOWN + 1 {
            first.split_off(SHOWN)
        } else {
            Vec::new()
        };
        Self {
            unfolds: first.len() > 1 || first.iter().any(|statement| statement.evidence.len() > 1),
            word: describe::severity_word(group.severity),
            first,
            more,
        }
    }
}
