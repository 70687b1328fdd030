//! Every cell in detail: all its metrics, of every arm.

use std::collections::HashSet;

use ciphertax_model::Metric;
use ciphertax_records::{MeasuredCell, Run};
use serde::Serialize;

use super::figure::{ArmName, ChangeView, Figure};
use super::noise::{RatioChart, ratio_charts};
use crate::{describe, lookup, storage, words};

/// One cell of the study.
#[derive(Serialize)]
pub(super) struct CellView {
    name: String,
    load: String,
    notes: Vec<String>,
    blocks: String,
    client_bound: bool,
    arms: Vec<ArmName>,
    metrics: Vec<MetricRow>,
    /// Verdicts that their intervals do not explain.
    explained: Vec<String>,
    ratios: Vec<RatioChart>,
}

/// Takes out of all cells the notes that each of them has.
pub(super) fn common_notes(cells: &mut [CellView]) -> Vec<String> {
    let mut common: Vec<String> = match cells {
        [first, _, ..] => first.notes.clone(),
        _ => Vec::new(),
    };
    common.retain(|note| cells.iter().all(|cell| cell.notes.contains(note)));
    cells
        .iter_mut()
        .for_each(|cell| cell.notes.retain(|note| !common.contains(note)));
    common
}

/// One metric, across all arms.
#[derive(Serialize)]
struct MetricRow {
    label: String,
    baseline: Option<Figure>,
    /// The baseline against itself.
    again: Option<ChangeView>,
    floor: Option<Figure>,
    variants: Vec<VariantView>,
}

/// What an arm has of a metric.
#[derive(Serialize, Default)]
struct VariantView {
    /// Against the baseline.
    change: Option<ChangeView>,
    /// By itself, where it is compared with nobody's.
    measured: Option<Figure>,
}

impl CellView {
    pub(super) fn of(run: &Run, cell: MeasuredCell<'_>) -> Self {
        let mut notes = vec![describe::load_threads(run, cell)];
        notes.extend(describe::quiet_in_words(cell));
        notes.extend(lookup::has_storage(run, &cell.found.name).then(|| STORAGE.to_owned()));
        notes.extend(describe::time_wanted(cell));
        notes.extend(describe::batches_in_words(run, cell));
        notes.extend(describe::new_orders_in_words(run, cell));
        Self {
            name: cell.found.name.clone(),
            load: describe::load_in_words(cell),
            notes,
            blocks: describe::blocks_in_words(cell),
            client_bound: cell.found.client_bound,
            arms: lookup::variants_in(run, cell)
                .map(|arm| ArmName::of(run, &arm.name))
                .collect(),
            metrics: metric_rows(run, cell),
            explained: explained(run, cell),
            ratios: ratio_charts(run, cell),
        }
    }
}

fn explained(run: &Run, cell: MeasuredCell<'_>) -> Vec<String> {
    let is_shown = |metric: Metric| {
        Metric::SERVER_CPU.contains(&metric)
            || [Metric::ClientCpuPerOp, Metric::speed(cell.asked.load.pace())].contains(&metric)
    };
    let rows = run.results.estimates.iter();
    let rows = rows.filter(|row| row.cell == cell.found.name && is_shown(row.metric));
    rows.filter(|row| words::is_surprising(row))
        .map(|row| words::explained(run, row))
        .collect()
}

/// What is said of cells that tell what storage took.
const STORAGE: &str = "Whole rounds: what each server did between its slices too, by the operations of its slices. The file \
     system's CPU is that of who works for it alone: a daemon (FUSE), the thread of its journal (jbd2). The kernel's workers work \
     for everybody: theirs is what all of them took in the arm's turn (writing pages back, on fscrypt encrypting and decrypting \
     them, serving loop devices), and is in no other figure. Bytes on a file system in \
     user space are those that its daemon moved.";

fn metric_rows(run: &Run, record: MeasuredCell<'_>) -> Vec<MetricRow> {
    let cell = record.found.name.as_str();
    let baseline = run.head.baseline().map_or("", |arm| arm.name.as_str());
    let metrics = Metric::compared(record.asked.load.pace())
        .iter()
        .chain(&Metric::COMPARED_OF_CONNECTS)
        .chain(&Metric::COMPARED_OF_HARDWARE);
    let row = |metric: Metric| MetricRow {
        label: metric.label().to_owned(),
        baseline: measured(run, cell, baseline, metric),
        again: lookup::noise(run, cell, metric).map(|row| ChangeView::of(run, row)),
        floor: lookup::floor(run, cell, metric).map(|floor| Figure::floor(floor, metric)),
        variants: lookup::variants_in(run, record)
            .map(|arm| variant(run, cell, &arm.name, metric))
            .collect(),
    };
    let mut rows = Vec::new();
    for &metric in metrics {
        rows.push(row(metric));
        // Whose CPU it is besides stands beside theirs.
        if metric == Metric::ServerCpuPerOp {
            rows.extend(Metric::COMPARED_OF_ROUNDS.into_iter().map(row));
            rows.extend(lookup::measured_alone(run, cell).map(row));
        }
    }
    rows.retain(MetricRow::has_any);
    rows.extend(kind_rows(run, record));
    rows.extend(storage_rows(run, record, baseline));
    rows
}

/// What decides the cost of encryption at rest: memory and disk of every arm.
fn storage_rows(run: &Run, record: MeasuredCell<'_>, baseline: &str) -> Vec<MetricRow> {
    let cell = record.found.name.as_str();
    let variants = || lookup::variants_in(run, record).map(|arm| arm.name.as_str());
    let figure = |arm: &str, label: &str| {
        let mut figures = storage::figures(run, cell, arm).into_iter();
        let found = figures.find(|figure| figure.label == label)?;
        Some(match found.is_share {
            true => Figure::percent(found.value, found.text),
            false => Figure::new(found.value, found.text),
        })
    };
    let labels = storage::labels(run, cell, std::iter::once(baseline).chain(variants()));
    let row = |label: &'static str| MetricRow {
        label: label.to_owned(),
        baseline: figure(baseline, label),
        again: None,
        floor: None,
        variants: variants()
            .map(|arm| VariantView {
                change: None,
                measured: figure(arm, label),
            })
            .collect(),
    };
    labels.into_iter().map(row).collect()
}

/// The metrics of each kind of operation, where there are several.
fn kind_rows(run: &Run, record: MeasuredCell<'_>) -> Vec<MetricRow> {
    let rows = lookup::by_kind(run, &record.found.name);
    let mut seen: Vec<(&str, Metric)> = rows
        .iter()
        .map(|row| (row.kind.as_str(), row.estimate.metric))
        .collect();
    let mut once = HashSet::new();
    seen.retain(|key| once.insert(*key));
    let of = |kind: &str, metric: Metric, arm: &str| {
        let row = rows
            .iter()
            .find(|row| row.kind == kind && row.estimate.metric == metric && row.estimate.arm == arm);
        row.map(|row| &row.estimate)
    };
    let row = |(kind, metric): (&str, Metric)| {
        let first = rows
            .iter()
            .find(|row| row.kind == kind && row.estimate.metric == metric);
        MetricRow {
            label: format!("{metric} of {kind}"),
            again: None,
            baseline: first.map(|row| Figure::quantity(row.estimate.baseline, &row.estimate.unit)),
            floor: first.and_then(|row| Some(Figure::floor(row.estimate.floor?, row.estimate.metric))),
            variants: lookup::variants_in(run, record)
                .map(|arm| VariantView {
                    change: of(kind, metric, &arm.name).map(|row| ChangeView::of(run, row)),
                    measured: None,
                })
                .collect(),
        }
    };
    seen.into_iter().map(row).collect()
}

impl MetricRow {
    fn has_any(&self) -> bool {
        let has_any = |variant: &VariantView| variant.change.is_some() || variant.measured.is_some();
        self.baseline.is_some() || self.variants.iter().any(has_any)
    }
}

fn measured(run: &Run, cell: &str, arm: &str, metric: Metric) -> Option<Figure> {
    lookup::measured(run, cell, arm, metric).map(|(value, unit)| Figure::quantity(value, unit))
}

fn variant(run: &Run, cell: &str, arm: &str, metric: Metric) -> VariantView {
    let estimate = run.results.estimate(cell, arm, metric);
    let is_alone = estimate.is_none() && lookup::may_be_missing(metric);
    VariantView {
        change: estimate.map(|row| ChangeView::of(run, row)),
        measured: measured(run, cell, arm, metric).filter(|_| is_alone),
    }
}
