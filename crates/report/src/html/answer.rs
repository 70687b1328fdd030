//! The answer as one chart: each arm per query and per new connection, on every side that pays; and the findings.

use std::collections::BTreeSet;

use ciphertax_base::format;
use ciphertax_records::{MeasuredCell, Run, Severity};
use serde::Serialize;

use super::figure::{ArmName, Figure};
use super::forest::{ChangeScale, Mark, Tick};
use super::proofs::what;
use crate::answer::{Answer, answers, between, query_heading, sides};
use crate::lookup::{Group, Statement, grouped};
use crate::why::bound_word;
use crate::{describe, lookup};

/// The chart of the answer: a row an arm, the dearest first.
#[derive(Serialize)]
pub(super) struct AnswerView {
    /// Of a query, then of a new connection; without a group of which no cell is.
    groups: Vec<ColumnGroup>,
    baseline: Row,
    rows: Vec<Row>,
    /// Rows that are folded away because the chart would be too long.
    more: Vec<Row>,
    /// What takes CPU time besides the two sides.
    between: Option<&'static str>,
}

/// Rows that are shown before unfolding.
const ROWS: usize = 12;

/// Columns of the same operation.
#[derive(Serialize)]
struct ColumnGroup {
    heading: &'static str,
    /// The cell, if it is the same in all rows.
    cell: String,
    sides: Vec<Panel>,
}

/// The axis of a side.
#[derive(Serialize)]
struct Panel {
    side: &'static str,
    /// For narrow screens.
    label: String,
    ticks: Vec<Tick>,
    /// What the baseline takes, where it is the same in all rows.
    baseline: Option<Figure>,
}

#[derive(Serialize)]
struct Row {
    arm: ArmName,
    /// Which server and how far away, where there are several.
    place: String,
    /// What the arm is, once for each.
    what: String,
    groups: Vec<Part>,
}

/// One arm's figures of one operation.
#[derive(Serialize)]
struct Part {
    /// The cell, where rows differ in it.
    cell: String,
    /// One for each side.
    marks: Vec<Option<Mark>>,
    /// What is between them.
    between: Option<Figure>,
    /// What bounds the arm, where it is known.
    bound: Option<&'static str>,
}

impl AnswerView {
    /// `None` if nothing was compared.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let mut answers = answers(run);
        let baseline = run.head.baseline()?;
        if answers.is_empty() {
            return None;
        }
        if answers.iter().all(|answer| answer.place.is_empty()) {
            let (metric, _) = sides(run)[0];
            let cost = |answer: &Answer<'_>| {
                let mut cells = [answer.query, answer.connection].into_iter();
                let row = cells.find_map(|cell| answer.estimate(run, cell, metric));
                row.map_or(f64::NEG_INFINITY, |row| row.change)
            };
            answers.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
        }
        let columns: [Column<'_>; 2] = [
            (query_heading(&answers), |answer| answer.query),
            ("per new connection", |answer| answer.connection),
        ];
        let (mut groups, mut parts) = (Vec::new(), Vec::new());
        for (heading, cell) in columns {
            if answers.iter().any(|answer| cell(answer).is_some()) {
                let (group, of_rows) = ColumnGroup::of(run, &answers, heading, cell);
                groups.push(group);
                parts.push(of_rows.into_iter());
            }
        }
        let mut legend = BTreeSet::new();
        let mut rows: Vec<Row> = (answers.iter())
            .map(|answer| Row {
                arm: ArmName::of(run, &answer.arm.name),
                place: answer.place.clone(),
                what: match legend.insert(&answer.arm.name) {
                    true => what(run, answer.arm),
                    false => String::new(),
                },
                groups: parts.iter_mut().filter_map(Iterator::next).collect(),
            })
            .collect();
        // One or two rows are not worth unfolding.
        let more = match rows.len() > ROWS + 2 {
            true => rows.split_off(ROWS),
            false => Vec::new(),
        };
        Some(Self {
            groups,
            baseline: Row {
                arm: ArmName::of(run, &baseline.name),
                place: String::new(),
                what: what(run, baseline),
                groups: Vec::new(),
            },
            rows,
            more,
            between: between(run, &answers),
        })
    }
}

/// A heading, and the cell of an answer that is below it.
type Column<'a> = (&'static str, fn(&Answer<'a>) -> Option<MeasuredCell<'a>>);

impl ColumnGroup {
    /// With the parts of all rows.
    fn of<'a>(
        run: &Run,
        answers: &[Answer<'a>],
        heading: &'static str,
        cell: fn(&Answer<'a>) -> Option<MeasuredCell<'a>>,
    ) -> (Self, Vec<Part>) {
        let cells = answers.iter().filter_map(cell);
        let mut names: Vec<&str> = cells.map(|cell| cell.found.name.as_str()).collect();
        names.dedup();
        let common = match names.as_slice() {
            [only] => (*only).to_owned(),
            _ => String::new(),
        };
        let panels = sides(run).iter().map(|(metric, side)| {
            let rows = answers
                .iter()
                .filter_map(|answer| answer.estimate(run, cell(answer), *metric));
            let scale = ChangeScale::over(rows.map(|row| [row.change, row.low, row.high]));
            let name = run.head.baseline().map_or("", |arm| &arm.name);
            let metric = lookup::of_whole_rounds(run, &common, *metric);
            let panel = Panel {
                side,
                label: format!("{side}, {heading}"),
                ticks: scale.ticks(),
                baseline: lookup::measured(run, &common, name, metric)
                    .map(|(value, unit)| Figure::quantity(value, unit)),
            };
            (panel, scale)
        });
        let (panels, scales): (Vec<_>, Vec<_>) = panels.unzip();
        let parts = answers
            .iter()
            .map(|answer| Part::of(run, answer, cell(answer), &scales, common.is_empty()));
        let parts = parts.collect();
        let group = Self {
            heading,
            cell: common,
            sides: panels,
        };
        (group, parts)
    }
}

impl Part {
    fn of(
        run: &Run,
        answer: &Answer<'_>,
        cell: Option<MeasuredCell<'_>>,
        scales: &[ChangeScale],
        names_cell: bool,
    ) -> Self {
        let marks = sides(run).iter().zip(scales).map(|((metric, _), scale)| {
            let row = answer.estimate(run, cell, *metric)?;
            Some(Mark::of(run, row, scale))
        });
        Self {
            cell: cell
                .filter(|_| names_cell)
                .map_or_else(String::new, |cell| cell.found.name.clone()),
            marks: marks.collect(),
            between: answer
                .between(run, cell)
                .map(|(value, unit)| Figure::new(value, format::more(value, unit))),
            bound: cell.and_then(|cell| {
                let row = run.results.why.bound(&cell.found.name, &answer.arm.name)?;
                Some(bound_word(row.bound))
            }),
        }
    }
}

/// Causes, advice and suspicions that say the same, together.
#[derive(Serialize)]
pub(super) struct FindingGroup {
    word: &'static str,
    /// The first ones, shown as they are.
    first: Vec<Statement>,
    /// The others, to be unfolded.
    more: Vec<Statement>,
    /// True if the evidence is folded too: of one statement it is shown.
    unfolds: bool,
}

/// Statements of a group that are shown before unfolding.
const SHOWN: usize = 1;

/// What to do; and everything that casts doubt or explains, doubts first, as the page shows the first two alone.
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
        let mut first = group.statements;
        let more = match first.len() > SHOWN + 1 {
            true => first.split_off(SHOWN),
            false => Vec::new(),
        };
        Self {
            unfolds: first.len() > 1 || first.iter().any(|statement| statement.evidence.len() > 1),
            word: describe::severity_word(group.severity),
            first,
            more,
        }
    }
}
