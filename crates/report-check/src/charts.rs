//! Every chart in the page: it is drawn, it has a mark for everything in the record, and no mark is cut off.

use std::collections::BTreeMap;

use ciphertax_model::Metric;
use ciphertax_records::why::{CategoryRow, ProfiledSide};
use ciphertax_records::{ArmRole, PhaseRow, Run, Side};
use serde::Deserialize;

/// A chart, as it was drawn.
#[derive(Deserialize)]
pub(crate) struct Chart {
    chart: String,
    cell: String,
    metric: String,
    side: String,
    /// Whether every drawing says in words what it shows.
    labelled: bool,
    caption: String,
    drawn: bool,
    /// Shapes by the name of their layer.
    marks: BTreeMap<String, usize>,
    /// Marks that stick out of the drawing.
    outside: Vec<String>,
    /// Labels that cover each other.
    collisions: Vec<String>,
}

/// What is wrong with the charts of a page.
pub(crate) fn faults(charts: &[Chart], run: &Run) -> Vec<String> {
    let mut faults = Vec::new();
    let expected = expected(run);
    for chart in charts {
        let name = chart.name();
        faults.extend(chart.faults_of_drawing());
        match expected.get(&name) {
            // Made of samples and stacks, which are not in the record.
            None if chart.is_picture() => {}
            None => faults.push(format!("the chart {name} shows what is not in the record")),
            Some(layers) => faults.extend(chart.miscounted(layers)),
        }
    }
    for name in expected.keys() {
        if !charts.iter().any(|chart| chart.name() == *name) {
            faults.push(format!("the chart {name} is missing"));
        }
    }
    faults
}

impl Chart {
    /// Whatever it shows.
    fn faults_of_drawing(&self) -> Vec<String> {
        let name = self.name();
        let mut faults = Vec::new();
        if !self.drawn {
            faults.push(format!("the chart {name} is not drawn"));
        }
        if !self.labelled || self.caption.trim().is_empty() {
            faults.push(format!(
                "the chart {name} says nothing to those who cannot see it"
            ));
        }
        if !self.outside.is_empty() {
            faults.push(format!(
                "the chart {name} is cut off: {}",
                self.outside.join(", ")
            ));
        }
        if !self.collisions.is_empty() {
            faults.push(format!(
                "labels of the chart {name} collide: {}",
                self.collisions.join(", ")
            ));
        }
        faults
    }

    /// Layers with more or fewer marks than these.
    fn miscounted(&self, layers: &[(&str, usize)]) -> Vec<String> {
        let name = self.name();
        let fault = |(layer, count): &(&str, usize)| {
            let drawn = self.marks.get(*layer).copied().unwrap_or(0);
            (drawn != *count).then(|| format!("the chart {name} has {drawn} {layer}, not {count}"))
        };
        layers.iter().filter_map(fault).collect()
    }

    fn is_picture(&self) -> bool {
        ["flame", "courses"].contains(&&*self.chart)
    }

    fn name(&self) -> String {
        [&self.chart, &self.cell, &self.metric, &self.side]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Layers of a chart and the number of marks in each.
type Layers = Vec<(&'static str, usize)>;

/// The metrics of the main result.
const MAIN: [Metric; 4] = [
    Metric::ServerCpuPerOp,
    Metric::ClientCpuPerOp,
    Metric::Throughput,
    Metric::ResponseMean,
];

/// The charts that the record gives rise to.
fn expected(run: &Run) -> BTreeMap<String, Layers> {
    let mut charts = BTreeMap::new();
    let main = run
        .results
        .estimates
        .iter()
        .filter(|row| {
            let is_servers = row.metric == run.results.server_cpu(&row.cell);
            let is_in_slices = row.metric == Metric::ServerCpuPerOp;
            is_servers || (!is_in_slices && MAIN.contains(&row.metric))
        })
        .count();
    if main > 0 {
        charts.insert("forest".to_owned(), vec![("intervals", main), ("points", main)]);
    }
    let again = run
        .head
        .arms
        .iter()
        .find(|arm| arm.role == ArmRole::BaselineAgain);
    let is_again = |row: &PhaseRow| again.is_some_and(|arm| arm.name == row.arm);
    for cell in run.cells() {
        let phases = |wanted: fn(&PhaseRow) -> bool| {
            run.results
                .connect_phases
                .iter()
                .filter(|row| row.cell == cell.found.name && !is_again(row) && wanted(row))
                .count()
        };
        let walls = phases(|row| row.mean_us > 0.0);
        if walls > 0 {
            charts.insert(format!("phases {}", cell.found.name), vec![("phases", walls)]);
        }
        let cpus = phases(|row| row.client_cpu_us.is_some_and(|cpu| cpu > 0.0));
        if cpus > 0 && walls > 0 {
            charts.insert(format!("phase-cpu {}", cell.found.name), vec![("phases", cpus)]);
        }
        for (metric, name) in [
            (Metric::ClientCpuPerOp, "client_cpu_per_op"),
            match run.results.server_cpu(&cell.found.name) {
                round @ Metric::ServerCpuRoundPerOp => (round, "server_cpu_round_per_op"),
                round @ Metric::ServerAndFileSystemCpuPerOp => (round, "server_and_file_system_cpu_per_op"),
                slices => (slices, "server_cpu_per_op"),
            },
            (Metric::Throughput, "throughput"),
            (Metric::ResponseMean, "response_mean"),
        ] {
            let layers = ratio_layers(run, &cell.found.name, metric);
            if layers[0].1 > 0 {
                charts.insert(format!("ratios {} {name}", cell.found.name), layers);
            }
        }
    }
    why_charts(run, &mut charts);
    for row in &run.results.churn {
        let name = format!("churn {} {}", row.cell, row.side);
        charts.insert(name, churn_layers(run, &row.cell, row.side));
    }
    charts
}

/// Categories of the variants, as bars; states of all arms but the repeated baseline.
fn why_charts(run: &Run, charts: &mut BTreeMap<String, Layers>) {
    /// Categories that have a bar.
    const BARS: usize = 10;
    let role = |name: &str| {
        let arm = run.head.arms.iter().find(|arm| arm.name == name);
        arm.map_or(ArmRole::Variant, |arm| arm.role)
    };
    let why = &run.results.why;
    for row in why
        .categories
        .iter()
        .filter(|row| role(&row.arm) == ArmRole::Variant)
    {
        let side = match row.side {
            ProfiledSide::Server => "server",
            ProfiledSide::Client => "client",
        };
        let is_alike =
            |other: &&CategoryRow| (&other.cell, &other.arm, other.side) == (&row.cell, &row.arm, row.side);
        let alike = why.categories.iter().filter(is_alike).take(BARS);
        let intervals = alike.clone().filter(|row| row.difference.is_some()).count();
        let name = format!("categories {} {} {side}", row.cell, row.arm);
        charts.insert(name, vec![("bars", alike.count()), ("intervals", intervals)]);
    }
    for row in why
        .states
        .iter()
        .filter(|row| role(&row.arm) != ArmRole::BaselineAgain)
    {
        charts.insert(format!("states {}", row.cell), vec![]);
    }
    for row in &why.wait_events {
        charts.insert(format!("wait-events {}", row.cell), vec![]);
    }
}

fn ratio_layers(run: &Run, cell: &str, metric: Metric) -> Layers {
    let series: Vec<_> = run
        .results
        .block_ratios
        .iter()
        .filter(|row| row.cell == cell && row.metric == metric && !row.ratios.is_empty())
        .collect();
    let dots = series.iter().map(|row| row.ratios.len()).sum();
    let estimates = run
        .results
        .estimates
        .iter()
        .chain(&run.results.noise_floor)
        .filter(|row| row.cell == cell && row.metric == metric)
        .filter(|row| series.iter().any(|series| series.arm == row.arm))
        .count();
    vec![("blocks", dots), ("intervals", estimates), ("means", estimates)]
}

fn churn_layers(run: &Run, cell: &str, side: Side) -> Layers {
    let rows: Vec<_> = run
        .results
        .churn
        .iter()
        .filter(|row| row.cell == cell && row.side == side)
        .collect();
    let last = rows
        .iter()
        .flat_map(|row| row.points.iter().map(|point| point.queries))
        .fold(0.0, f64::max);
    let reached = rows
        .iter()
        .flat_map(|row| row.break_even.iter().filter_map(|point| point.queries))
        .filter(|queries| (1.0..=last).contains(queries))
        .count();
    let curves = rows.iter().filter(|row| !row.points.is_empty()).count();
    vec![
        ("curves", curves),
        ("intervals", curves),
        ("break-evens", reached),
    ]
}
