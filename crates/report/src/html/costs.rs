//! What every cell costs: the headline table and the table of all metrics.

use std::collections::HashSet;

use ciphertax_model::Metric;
use ciphertax_model::record::{CellRecord, EstimateRow, Run, Verdict};
use serde::Serialize;

use super::figure::{ArmName, Figure, Range};
use crate::format;
use crate::lookup;

/// One cell of the study: its headline table, and all its metrics.
#[derive(Serialize)]
pub(super) struct CellView {
    name: String,
    load: String,
    notes: Vec<String>,
    client_bound: bool,
    headline: Headline,
    metrics: Vec<MetricRow>,
}

/// Arms down, the four headline metrics across.
#[derive(Serialize)]
struct Headline {
    columns: Vec<&'static str>,
    baseline: Option<(ArmName, Vec<Option<Figure>>)>,
    variants: Vec<(ArmName, Vec<Option<ChangeView>>)>,
    floor: Vec<Option<Figure>>,
}

/// One metric, across all arms.
#[derive(Serialize)]
struct MetricRow {
    label: String,
    baseline: Option<Figure>,
    floor: Option<Figure>,
    again: Option<ChangeView>,
    variants: Vec<Option<ChangeView>>,
}

impl CellView {
    pub(super) fn of(run: &Run, cell: &CellRecord) -> Self {
        let mut notes = vec![match cell.blocks {
            1 => "1 block".into(),
            n => format!("{} blocks", format::count(n.into())),
        }];
        notes.extend(lookup::time_wanted(cell));
        notes.extend(lookup::batches_in_words(run, cell));
        notes.extend(lookup::tunnels_in_words(run, &cell.name));
        Self {
            name: cell.name.clone(),
            load: lookup::load_in_words(run, cell),
            notes,
            client_bound: cell.client_bound,
            headline: Headline::of(run, cell),
            metrics: metric_rows(run, cell),
        }
    }
}

impl Headline {
    fn of(run: &Run, record: &CellRecord) -> Self {
        let cell = record.name.as_str();
        let metrics = lookup::headline(record);
        Self {
            columns: metrics.map(Metric::label).to_vec(),
            baseline: lookup::baseline(run).map(|arm| {
                let values = metrics.map(|metric| measured(run, cell, &arm.name, metric));
                (ArmName::of(run, &arm.name), values.into())
            }),
            variants: lookup::variants_in(run, record)
                .map(|arm| {
                    let changes = metrics.map(|metric| variant(run, cell, &arm.name, metric));
                    (ArmName::of(run, &arm.name), changes.into())
                })
                .collect(),
            floor: metrics.map(|metric| floor(run, cell, metric)).into(),
        }
    }
}

fn metric_rows(run: &Run, record: &CellRecord) -> Vec<MetricRow> {
    let cell = record.name.as_str();
    let baseline = lookup::baseline(run).map_or("", |arm| arm.name.as_str());
    let metrics = Metric::compared(record.pace)
        .iter()
        .chain(&Metric::COMPARED_OF_CONNECTS);
    let of_all_kinds = metrics
        .map(|&metric| MetricRow {
            label: metric.label().to_owned(),
            baseline: measured(run, cell, baseline, metric),
            floor: floor(run, cell, metric),
            again: lookup::noise(run, cell, metric).map(|row| ChangeView::of(run, row)),
            variants: lookup::variants(run)
                .map(|arm| variant(run, cell, &arm.name, metric))
                .collect(),
        })
        .filter(MetricRow::has_any);
    of_all_kinds.chain(kind_rows(run, cell)).collect()
}

/// The metrics of each kind of operation, where there are several.
fn kind_rows(run: &Run, cell: &str) -> Vec<MetricRow> {
    let rows = lookup::by_kind(run, cell);
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
            floor: first.map(|row| margin_figure(row.estimate.margin)),
            again: None,
            variants: lookup::variants(run)
                .map(|arm| of(kind, metric, &arm.name).map(|row| ChangeView::of(run, row)))
                .collect(),
        }
    };
    seen.into_iter().map(row).collect()
}

impl MetricRow {
    fn has_any(&self) -> bool {
        self.baseline.is_some() || self.again.is_some() || self.variants.iter().any(Option::is_some)
    }
}

fn measured(run: &Run, cell: &str, arm: &str, metric: Metric) -> Option<Figure> {
    lookup::measured(run, cell, arm, metric).map(|(value, unit)| Figure::quantity(value, unit))
}

fn variant(run: &Run, cell: &str, arm: &str, metric: Metric) -> Option<ChangeView> {
    lookup::estimate(run, cell, arm, metric).map(|row| ChangeView::of(run, row))
}

fn floor(run: &Run, cell: &str, metric: Metric) -> Option<Figure> {
    lookup::margin(run, cell, metric).map(margin_figure)
}

fn margin_figure(margin: f64) -> Figure {
    let text = format!("±{}", format::change(margin).trim_start_matches('+'));
    Figure::percent(margin, text)
}

/// One estimate, with everything a test needs to find it and compare it with the record.
#[derive(Serialize)]
struct ChangeView {
    cell: String,
    arm: String,
    metric: Metric,
    verdict: Verdict,
    /// The class that gives the verdict its colour.
    tone: &'static str,
    word: String,
    wanted: Option<String>,
    blocks: u32,
    variant: Figure,
    change: Range,
}

impl ChangeView {
    fn of(run: &Run, row: &EstimateRow) -> Self {
        let bound = |bound| Figure::percent(bound, format::change_bound(bound, row.change));
        Self {
            cell: row.cell.clone(),
            arm: row.arm.clone(),
            metric: row.metric,
            verdict: row.verdict,
            tone: match row.verdict {
                _ if row.caveat.is_some() => "cannot-tell",
                Verdict::Costs => "costs",
                Verdict::Gains => "gains",
                Verdict::NoCost => "no-cost",
                Verdict::CannotTell => "cannot-tell",
            },
            word: match row.verdict {
                Verdict::NoCost if row.caveat.is_none() => {
                    format!("no cost above {}", format::share(row.margin))
                }
                _ => lookup::verdict_word(run, row),
            },
            wanted: row
                .more_time_s
                .map(|seconds| format!("{} more to tell", format::span(seconds))),
            blocks: row.blocks,
            variant: Figure::quantity(row.variant, &row.unit),
            change: Range {
                value: Figure::percent(row.change, format::change(row.change)),
                low: bound(row.low),
                high: bound(row.high),
            },
        }
    }
}
