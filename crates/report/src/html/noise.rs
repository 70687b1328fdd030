//! The noise: its floors, and the ratio of every block.

use std::fmt::Write;

use ciphertax_base::format;
use ciphertax_model::Metric;
use ciphertax_records::{BlockRatios, EstimateRow, MeasuredCell, Run};
use serde::Serialize;

use super::figure::ArmName;
use super::forest::{ChangeScale, Tick, percent};
use crate::{lookup, words};

/// The noise floors of the whole run in a sentence.
pub(super) fn floors_in_words(run: &Run) -> String {
    let range = |metrics: &[Metric]| {
        let of_metrics = |row: &&EstimateRow| metrics.contains(&row.metric);
        let rows = run.results.estimates.iter().filter(of_metrics);
        let floors: Vec<f64> = rows.filter_map(|row| row.floor).collect();
        let ends = [f64::min, f64::max].map(|end| floors.iter().copied().reduce(end));
        let [least, most] = [ends[0]?, ends[1]?].map(|floor| words::floor(floor, metrics[0]));
        Some(match least == most {
            true => least,
            false => format!("{least} to {most}"),
        })
    };
    let parts: Vec<String> = [
        (
            range(&[
                Metric::ServerCpuPerOp,
                Metric::ServerCpuRoundPerOp,
                Metric::ServerAndFileSystemCpuPerOp,
                Metric::ClientCpuPerOp,
            ]),
            "CPU per operation",
        ),
        (range(&[Metric::Throughput]), "throughput"),
        (range(&[Metric::ResponseMean]), "response time"),
    ]
    .into_iter()
    .filter_map(|(range, what)| Some(format!("{} for {what}", range?)))
    .collect();
    parts.join(", ")
}

/// The ratios of every block of one metric of a cell, so that a reader sees the noise.
#[derive(Serialize)]
pub(super) struct RatioChart {
    metric: Metric,
    label: &'static str,
    ticks: Vec<Tick>,
    strips: Vec<Strip>,
}

/// One arm: a dot for each block, from the first above to the last below, and the estimate under them.
#[derive(Serialize)]
struct Strip {
    arm: ArmName,
    zero: String,
    floor: Option<[String; 2]>,
    /// In a square of 1000 by 1000.
    dots: String,
    estimate: Option<[String; 3]>,
    words: String,
}

pub(super) fn ratio_charts(run: &Run, cell: MeasuredCell<'_>) -> Vec<RatioChart> {
    [
        run.results.server_cpu(&cell.found.name),
        Metric::ClientCpuPerOp,
        Metric::speed(cell.asked.load.pace()),
    ]
    .into_iter()
    .filter_map(|metric| RatioChart::of(run, cell, metric))
    .collect()
}

impl RatioChart {
    fn of(run: &Run, cell: MeasuredCell<'_>, metric: Metric) -> Option<Self> {
        let series: Vec<&BlockRatios> = run
            .results
            .block_ratios
            .iter()
            .filter(|row| row.cell == cell.found.name && row.metric == metric && !row.ratios.is_empty())
            .collect();
        if series.is_empty() {
            return None;
        }
        let scale = ChangeScale::over(
            series
                .iter()
                .flat_map(|row| &row.ratios)
                .map(|ratio| [ratio - 1.0; 3]),
        );
        Some(Self {
            metric,
            label: metric.label(),
            ticks: scale.ticks(),
            strips: series.iter().map(|row| strip(run, row, &scale)).collect(),
        })
    }
}

fn strip(run: &Run, series: &BlockRatios, scale: &ChangeScale) -> Strip {
    let mut dots = String::new();
    let last = (series.ratios.len() - 1).max(1) as f64;
    for (block, ratio) in series.ratios.iter().enumerate() {
        let x = scale.at(ratio - 1.0) * 10.0;
        let y = 40.0 + 640.0 * block as f64 / last;
        let _ = write!(dots, "M{x:.0} {y:.0}h0");
    }
    let estimate = row_of(run, series);
    Strip {
        arm: ArmName::of(run, &series.arm),
        zero: percent(scale.at(0.0)),
        floor: estimate.and_then(|row| row.floor).map(|floor| scale.shade(floor)),
        dots,
        estimate: estimate.map(|row| [row.change, row.low, row.high].map(|change| percent(scale.at(change)))),
        words: estimate.map_or_else(String::new, |row| {
            format!(
                "{}, {} of {}: {} over {} blocks",
                row.arm,
                row.metric,
                row.cell,
                format::change_with_interval(row.interval()),
                row.blocks
            )
        }),
    }
}

fn row_of<'a>(run: &'a Run, series: &BlockRatios) -> Option<&'a EstimateRow> {
    let again = || lookup::noise(run, &series.cell, series.metric).filter(|row| row.arm == series.arm);
    let of_variant = run.results.estimate(&series.cell, &series.arm, series.metric);
    of_variant.or_else(again)
}
