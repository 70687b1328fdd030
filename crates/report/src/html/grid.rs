//! All cells in one table, arms by cells, of the metric that the reader chooses; each entry leads to the details of its cell.

use ciphertax_base::format;
use ciphertax_model::Metric;
use ciphertax_records::{ArmRecord, MeasuredCell, Run};
use ciphertax_stats::Verdict;
use serde::Serialize;

use super::figure::{ArmName, Figure, tone};
use crate::answer::sides;
use crate::words::short_metric;
use crate::{describe, lookup};

/// The table, its longer side down.
#[derive(Serialize)]
pub(super) struct Grid {
    metrics: Vec<&'static str>,
    head: Vec<Label>,
    rows: Vec<(Label, Vec<Entry>)>,
}

/// An arm or a cell.
#[derive(Serialize)]
struct Label {
    arm: Option<ArmName>,
    cell: Option<String>,
}

/// An arm in a cell.
#[derive(Serialize)]
struct Entry {
    /// The place of the cell among the details.
    cell: usize,
    /// One for each metric.
    changes: Vec<Option<Change>>,
}

#[derive(Serialize)]
struct Change {
    tone: &'static str,
    change: Figure,
    /// The verdict where there are no colours: nothing for costs and savings, which their sign tells apart.
    mark: &'static str,
    words: String,
}

impl Grid {
    /// `None` where one cell is all.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let cells: Vec<MeasuredCell<'_>> = run.cells().collect();
        let arms: Vec<&ArmRecord> = run.head.variants().collect();
        if cells.len() < 2 || run.results.estimates.is_empty() {
            return None;
        }
        let label = |arm: Option<&&ArmRecord>, cell: Option<&MeasuredCell<'_>>| Label {
            arm: arm.map(|arm| ArmName::of(run, &arm.name)),
            cell: cell.map(|cell| cell.found.name.clone()),
        };
        let of_cells = cells.iter().map(|cell| label(None, Some(cell)));
        let of_arms = arms.iter().map(|arm| label(Some(arm), None));
        let entry = |arm: &ArmRecord, index: usize| Entry::of(run, arm, index, cells[index]);
        let (head, rows) = match arms.len() > cells.len() {
            true => {
                let row = |arm: &ArmRecord| (0..cells.len()).map(|index| entry(arm, index)).collect();
                let rows = of_arms.zip(arms.iter().map(|arm| row(arm)));
                (of_cells.collect(), rows.collect())
            }
            false => {
                let row = |index: usize| arms.iter().map(|arm| entry(arm, index)).collect();
                (
                    of_arms.collect(),
                    of_cells.zip((0..cells.len()).map(row)).collect(),
                )
            }
        };
        let sides = sides(run).iter().map(|(metric, _)| short_metric(*metric));
        Some(Self {
            metrics: sides.chain(["speed"]).collect(),
            head,
            rows,
        })
    }
}

impl Entry {
    fn of(run: &Run, arm: &ArmRecord, index: usize, cell: MeasuredCell<'_>) -> Self {
        let speed = Metric::speed(cell.asked.load.pace());
        let metrics = sides(run).iter().map(|(metric, _)| *metric).chain([speed]);
        let name = &cell.found.name;
        let changes = metrics.map(|metric| {
            let metric = lookup::of_whole_rounds(run, name, metric);
            let row = run.results.estimate(name, &arm.name, metric)?;
            Some(Change {
                tone: tone(row),
                change: Figure::percent(row.change, format::change(row.change)),
                mark: match row.verdict {
                    Verdict::Costs | Verdict::Gains => "",
                    Verdict::NoCost => " =",
                    Verdict::CostsPerhaps | Verdict::GainsPerhaps | Verdict::CannotTell => " ?",
                },
                words: format!(
                    "{name}, {}, {metric}: {}, {}",
                    arm.name,
                    format::change_with_interval(row.interval()),
                    describe::verdict_word(run, row)
                ),
            })
        });
        Self {
            cell: index + 1,
            changes: changes.collect(),
        }
    }
}
