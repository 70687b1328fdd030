//! The main result as a forest plot: the change of every arm in every cell with its interval, on one axis for each metric.

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::{Verdict, format};
use serde::Serialize;

use super::figure::{ArmName, Figure};
use super::scale::{ChangeScale, Tick, percent};
use crate::words::short_metric;
use crate::{describe, lookup};

/// The chart.
#[derive(Serialize)]
pub(super) struct Forest {
    panels: Vec<Panel>,
    rows: Vec<Row>,
    /// Rows that are folded away because the chart would be too long.
    more: Vec<Row>,
}

/// Rows that are shown before unfolding.
const ROWS: usize = 20;

/// One metric and its axis.
#[derive(Serialize)]
struct Panel {
    label: &'static str,
    /// For narrow screens.
    short: &'static str,
    ticks: Vec<Tick>,
}

/// One arm in one cell.
#[derive(Serialize)]
struct Row {
    cell: String,
    arm: ArmName,
    /// One for each panel.
    marks: Vec<Option<Mark>>,
}

/// An estimate on its axis.
#[derive(Serialize)]
struct Mark {
    short: &'static str,
    zero: String,
    x: String,
    low: String,
    high: String,
    floor: String,
    floor_width: String,
    /// Ends of the interval that are beyond the axis.
    cut_low: bool,
    cut_high: bool,
    /// True if the change counts.
    decided: bool,
    change: Figure,
    difference: Figure,
    words: String,
}

impl Forest {
    /// `None` if nothing was compared.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let shown: Vec<(Metric, ChangeScale)> = METRICS
            .into_iter()
            .filter_map(|metric| {
                let rows: Vec<_> = run
                    .results
                    .estimates
                    .iter()
                    .filter(|row| row.metric == lookup::of_whole_rounds(run, &row.cell, metric))
                    .collect();
                let bounds = rows.iter().map(|row| [row.change, row.low, row.high]);
                (!rows.is_empty()).then(|| (metric, ChangeScale::over(bounds)))
            })
            .collect();
        let mut order: Vec<(f64, Row)> = Vec::new();
        for cell in run.cells() {
            for arm in lookup::variants_in(run, cell) {
                let estimates: Vec<Option<&EstimateRow>> = shown
                    .iter()
                    .map(|(metric, _)| {
                        let metric = lookup::of_whole_rounds(run, &cell.found.name, *metric);
                        run.results.estimate(&cell.found.name, &arm.name, metric)
                    })
                    .collect();
                let Some(first) = estimates.iter().flatten().next() else {
                    continue;
                };
                let marks = estimates.iter().zip(&shown);
                order.push((
                    first.change,
                    Row {
                        cell: cell.found.name.clone(),
                        arm: ArmName::of(run, &arm.name),
                        marks: marks
                            .map(|(row, (_, scale))| row.map(|row| Mark::of(run, row, scale)))
                            .collect(),
                    },
                ));
            }
        }
        order.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut rows: Vec<Row> = order.into_iter().map(|(_, row)| row).collect();
        // One or two rows are not worth unfolding.
        let more = if rows.len() > ROWS + 2 {
            rows.split_off(ROWS)
        } else {
            Vec::new()
        };
        (!rows.is_empty()).then(|| Self {
            panels: shown
                .iter()
                .map(|(metric, scale)| Panel {
                    label: metric.label(),
                    short: short_metric(*metric),
                    ticks: scale.ticks(),
                })
                .collect(),
            rows,
            more,
        })
    }
}

/// What is shown, the first of them sorts the rows. A cell has either a throughput or a response time.
const METRICS: [Metric; 4] = [
    Metric::ServerCpuPerOp,
    Metric::ClientCpuPerOp,
    Metric::Throughput,
    Metric::ResponseMean,
];

impl Mark {
    fn of(run: &Run, row: &EstimateRow, scale: &ChangeScale) -> Self {
        let [floor, floor_width] = scale.shade(row.floor.unwrap_or(0.0));
        let difference = row.difference;
        let amount = format::difference(difference.value, [difference.low, difference.high], &row.unit);
        Self {
            short: short_metric(row.metric),
            zero: percent(scale.at(0.0)),
            x: percent(scale.at(row.change)),
            low: percent(scale.at(row.low)),
            high: percent(scale.at(row.high)),
            floor,
            floor_width,
            cut_low: scale.cuts(row.low),
            cut_high: scale.cuts(row.high),
            decided: matches!(row.verdict, Verdict::Costs | Verdict::Gains),
            words: format!(
                "{}, {}, {}: {} {}, {} [{}, {}]: {}",
                row.cell,
                row.arm,
                row.metric,
                format::change(row.change),
                format::change_interval(row.change, row.low, row.high),
                amount.value,
                amount.low,
                amount.high,
                describe::verdict_word(run, row)
            ),
            change: Figure::percent(row.change, format::change(row.change)),
            difference: Figure::new(difference.value, amount.value),
        }
    }
}
