//! The answer in one small table: each arm per query and per new connection, on both sides.

use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::format;
use serde::Serialize;

use super::change::VerdictView;
use super::figure::{ArmName, Figure, Range};
use crate::answer::{Answer, answers, between, estimates, query_heading, sides};
use crate::why::words::bound_word;
use crate::{lookup, words};

/// The table of the answer.
#[derive(Serialize)]
pub(super) struct AnswerView {
    /// Of a query, then of a new connection; without a group of which no cell is.
    groups: Vec<Group>,
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
struct Group {
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
                .map(|((heading, _), cell)| Group {
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
            baseline: lookup::baseline(run).map_or_else(String::new, |arm| arm.name.clone()),
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
            .map(|(value, unit)| Figure::new(value, format::difference(value, [value; 2], unit).value)),
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
    let difference = row.difference;
    let text = format::difference(difference.value, [difference.low, difference.high], &row.unit);
    Cost {
        difference: Figure::new(difference.value, text.value),
        change: Range::change(row.interval()),
        baseline: Figure::quantity(row.baseline, &row.unit),
    }
}
