//! Every chart in the page: it is drawn, it has a mark for everything in the record, and no mark is cut off.

use std::collections::BTreeMap;

use ciphertax_model::Metric;
use ciphertax_records::why::CategoryRow;
use ciphertax_records::{PhaseRow, Run, Side};
use serde::Deserialize;

use crate::{as_json, is_again};

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
    faults
}

/// Charts that the page has not.
pub(crate) fn missing(charts: &[Chart], run: &Run) -> Vec<String> {
    let is_there = |name: &String| charts.iter().any(|chart| chart.name() == *name);
    let missing = expected(run).into_keys().filter(|name| !is_there(name));
    missing
        .map(|name| format!("the chart {name} is missing"))
        .collect()
}

impl Chart {
    /// Whatever it shows.
    fn faults_of_drawing(&self) -> impl Iterator<Item = String> {
        let (name, [outside, collisions]) = (self.name(), [&self.outside, &self.collisions]);
        let faults = [
            (!self.drawn, "is not drawn".to_owned()),
            (
                !self.labelled || self.caption.trim().is_empty(),
                "says nothing to those who cannot see it".to_owned(),
            ),
            (!outside.is_empty(), format!("is cut off: {}", outside.join(", "))),
            (
                !collisions.is_empty(),
                format!("has labels that collide: {}", collisions.join(", ")),
            ),
        ];
        let found = faults.into_iter().filter(|(is_so, _)| *is_so);
        found.map(move |(_, fault)| format!("the chart {name} {fault}"))
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

/// The metrics whose blocks are drawn besides the server's CPU.
const OF_BOTH: [Metric; 3] = [Metric::ClientCpuPerOp, Metric::Throughput, Metric::ResponseMean];

/// The charts that the record gives rise to.
fn expected(run: &Run) -> BTreeMap<String, Layers> {
    let mut charts = BTreeMap::new();
    if !run.results.estimates.is_empty() {
        charts.insert("answer".to_owned(), vec![]);
    }
    for cell in run.cells() {
        let cell = &cell.found.name;
        let phases = |wanted: fn(&PhaseRow) -> bool| {
            let of_cell = |row: &&PhaseRow| row.cell == *cell && !is_again(run, &row.arm) && wanted(row);
            run.results.connect_phases.iter().filter(of_cell).count()
        };
        let walls = phases(|row| row.mean_us > 0.0);
        if walls > 0 {
            charts.insert(format!("phases {cell}"), vec![("phases", walls)]);
        }
        let cpus = phases(|row| row.client_cpu_us.is_some_and(|cpu| cpu > 0.0));
        if cpus > 0 && walls > 0 {
            charts.insert(format!("phase-cpu {cell}"), vec![("phases", cpus)]);
        }
        for metric in OF_BOTH.into_iter().chain([run.results.server_cpu(cell)]) {
            let layers = ratio_layers(run, cell, metric);
            if layers[0].1 > 0 {
                charts.insert(format!("ratios {cell} {}", as_json(metric)), layers);
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
    const BARS: usize = 8;
    let why = &run.results.why;
    let baseline = run.head.baseline();
    for row in &why.categories {
        if is_again(run, &row.arm) || baseline.is_some_and(|arm| arm.name == row.arm) {
            continue;
        }
        let key = |row: &CategoryRow| (row.cell.clone(), row.arm.clone(), row.side);
        let alike = why.categories.iter().filter(|other| key(other) == key(row));
        if !alike.clone().any(|row| row.is_significant) {
            continue;
        }
        let alike: Vec<_> = alike.take(BARS).collect();
        let intervals = alike.iter().filter(|row| row.difference.is_some()).count();
        let name = format!("categories {} {} {}", row.cell, row.arm, as_json(row.side));
        charts.insert(name, vec![("bars", alike.len()), ("intervals", intervals)]);
    }
    for row in why.states.iter().filter(|row| !is_again(run, &row.arm)) {
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
        .filter(|queries| *queries > 1.0 && *queries <= last)
        .count();
    let curves = rows.iter().filter(|row| !row.points.is_empty()).count();
    vec![
        ("curves", curves),
        ("intervals", curves),
        ("break-evens", reached),
    ]
}
