//! Every cell in detail: all its metrics, of every arm.

use std::collections::HashSet;

use ciphertax_model::Metric;
use ciphertax_records::{MeasuredCell, Run};
use serde::Serialize;

use super::change::ChangeView;
use super::figure::{ArmName, Figure};
use super::noise::{RatioChart, ratio_charts};
use crate::{describe, lookup};

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
    ratios: Vec<RatioChart>,
}

/// One metric, across all arms.
#[derive(Serialize)]
struct MetricRow {
    label: String,
    baseline: Option<Figure>,
    floor: Option<Figure>,
    variants: Vec<Option<ChangeView>>,
}

impl CellView {
    pub(super) fn of(run: &Run, cell: MeasuredCell<'_>) -> Self {
        let mut notes = Vec::new();
        notes.extend(describe::time_wanted(cell));
        notes.extend(describe::batches_in_words(run, cell));
        notes.extend(describe::tunnels_in_words(run, &cell.found.name));
        Self {
            name: cell.found.name.clone(),
            load: describe::load_in_words(run, cell),
            notes,
            blocks: describe::blocks_in_words(cell),
            client_bound: cell.found.client_bound,
            arms: lookup::variants_in(run, cell)
                .map(|arm| ArmName::of(run, &arm.name))
                .collect(),
            metrics: metric_rows(run, cell),
            ratios: ratio_charts(run, cell),
        }
    }
}

fn metric_rows(run: &Run, record: MeasuredCell<'_>) -> Vec<MetricRow> {
    let cell = record.found.name.as_str();
    let baseline = lookup::baseline(run).map_or("", |arm| arm.name.as_str());
    let metrics = Metric::compared(record.asked.load.pace())
        .iter()
        .chain(&Metric::COMPARED_OF_CONNECTS);
    let of_all_kinds = metrics
        .map(|&metric| MetricRow {
            label: metric.label().to_owned(),
            baseline: measured(run, cell, baseline, metric),
            floor: floor(run, cell, metric),
            variants: lookup::variants_in(run, record)
                .map(|arm| variant(run, cell, &arm.name, metric))
                .collect(),
        })
        .filter(MetricRow::has_any);
    of_all_kinds.chain(kind_rows(run, record)).collect()
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
            baseline: first.map(|row| Figure::quantity(row.estimate.baseline, &row.estimate.unit)),
            floor: first.and_then(|row| Some(Figure::floor(row.estimate.floor?, row.estimate.metric))),
            variants: lookup::variants_in(run, record)
                .map(|arm| of(kind, metric, &arm.name).map(|row| ChangeView::of(run, row)))
                .collect(),
        }
    };
    seen.into_iter().map(row).collect()
}

impl MetricRow {
    fn has_any(&self) -> bool {
        self.baseline.is_some() || self.variants.iter().any(Option::is_some)
    }
}

fn measured(run: &Run, cell: &str, arm: &str, metric: Metric) -> Option<Figure> {
    lookup::measured(run, cell, arm, metric).map(|(value, unit)| Figure::quantity(value, unit))
}

fn variant(run: &Run, cell: &str, arm: &str, metric: Metric) -> Option<ChangeView> {
    run.results
        .estimate(cell, arm, metric)
        .map(|row| ChangeView::of(run, row))
}

fn floor(run: &Run, cell: &str, metric: Metric) -> Option<Figure> {
    lookup::floor(run, cell, metric).map(|floor| Figure::floor(floor, metric))
}
