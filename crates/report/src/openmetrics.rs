//! The run as OpenMetrics text, which Prometheus' node exporter takes from a file (`*.prom`), and a push gateway over HTTP. Samples
//! have no timestamps, for the node exporter takes no file that has any: their time is that of whoever reads them.
//!
//! Values are in base units: seconds, bytes, operations per second, ratios. A name of a metric never changes its unit.

use std::collections::BTreeSet;
use std::fmt;

use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, Measurement, Run};
use ciphertax_stats::Verdict;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use serde_json::Value;

/// The text, ending with `# EOF`.
///
/// # Errors
/// Only if the record cannot be written as metrics at all, which is a defect of this crate.
pub fn render(run: &Run) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics { run: run.clone() }));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

/// Every family in the order of the record: files of the same run are the same.
#[derive(Debug)]
struct Metrics {
    run: Run,
}

/// Labels and value of one sample.
type Point = (Vec<(&'static str, String)>, f64);

/// Name, help, and where the value of a family is found.
type Family<R, V> = (&'static str, &'static str, fn(&R) -> V);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let results = &self.run.results;
        self.of_run(&mut encoder)?;
        let compared = || results.estimates.iter().chain(&results.noise_floor);
        let changes: [Family<EstimateRow, f64>; 3] = [
            (
                "change",
                "Change of a metric against the baseline: 0.05 is five percent more",
                |row| row.change,
            ),
            (
                "change_low",
                "Lower bound of the 95 percent interval of the change",
                |row| row.low,
            ),
            (
                "change_high",
                "Upper bound of the 95 percent interval of the change",
                |row| row.high,
            ),
        ];
        for (name, help, value) in changes {
            let points = compared().map(|row| (self.labels_of(row), value(row)));
            family(
                &mut encoder,
                &format!("ciphertax_{name}"),
                help,
                Some(&Unit::Other("ratio".into())),
                points,
            )?;
        }
        let verdicts = compared().flat_map(|row| {
            VERDICTS.into_iter().map(move |verdict| {
                let mut labels = self.labels_of(row);
                labels.push(("verdict", word(verdict)));
                (labels, f64::from(u8::from(row.verdict == verdict)))
            })
        });
        let help = "What follows from a comparison: 1 for the verdict that holds";
        family(&mut encoder, "ciphertax_verdict", help, None, verdicts)?;
        let metrics: BTreeSet<Metric> = results.measurements.iter().map(|row| row.metric).collect();
        for metric in metrics {
            let (unit, size) = base_unit(metric);
            let rows = results.measurements.iter().filter(|row| row.metric == metric);
            let points = rows.map(|row| (self.labels_of_arm(row), row.value * size));
            let name = format!("ciphertax_{}", word(metric));
            family(&mut encoder, &name, metric.label(), Some(&unit), points)?;
        }
        Ok(())
    }
}

impl Metrics {
    fn of_run(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Run { head, results, .. } = &self.run;
        let mut labels = vec![
            ("study", head.study.name.clone()),
            ("version", head.tool.version.clone()),
            ("commit", head.tool.commit.clone()),
            ("started", head.started.clone()),
        ];
        let products: BTreeSet<String> = head
            .servers
            .iter()
            .map(|server| format!("{} {}", server.product, server.version))
            .collect();
        let products: Vec<String> = products.into_iter().collect();
        labels.push(("server", products.join(", ")));
        let help = "What was measured, and by whom";
        // A gauge and no info, which the node exporter's reader of files does not know.
        family(encoder, "ciphertax_run", help, None, [(labels, 1.0)])?;
        let of_study = |value: f64| [(vec![("study", head.study.name.clone())], value)];
        let is_complete = f64::from(u8::from(head.status.is_at_end()));
        let help = "1 for a run that came to its end";
        family(
            encoder,
            "ciphertax_run_complete",
            help,
            None,
            of_study(is_complete),
        )?;
        let help = "Time from the first slice to the last";
        family(
            encoder,
            "ciphertax_run_elapsed",
            help,
            Some(&Unit::Seconds),
            of_study(results.elapsed_s),
        )?;
        let counts: [Family<ciphertax_records::CellRecord, u32>; 2] = [
            ("ciphertax_blocks", "Blocks in which every arm counts", |cell| {
                cell.blocks
            }),
            ("ciphertax_void_slices", "Slices that do not count", |cell| {
                cell.void_slices
            }),
        ];
        for (name, help, count) in counts {
            let points = results.cells.iter().map(|cell| {
                let labels = vec![("study", head.study.name.clone()), ("cell", cell.name.clone())];
                (labels, f64::from(count(cell)))
            });
            family(encoder, name, help, None, points)?;
        }
        Ok(())
    }

    fn labels_of(&self, row: &EstimateRow) -> Vec<(&'static str, String)> {
        vec![
            ("study", self.run.head.study.name.clone()),
            ("cell", row.cell.clone()),
            ("arm", row.arm.clone()),
            ("metric", word(row.metric)),
        ]
    }

    fn labels_of_arm(&self, row: &Measurement) -> Vec<(&'static str, String)> {
        vec![
            ("study", self.run.head.study.name.clone()),
            ("cell", row.cell.clone()),
            ("arm", row.arm.clone()),
        ]
    }
}

const VERDICTS: [Verdict; 6] = [
    Verdict::Costs,
    Verdict::CostsPerhaps,
    Verdict::Gains,
    Verdict::GainsPerhaps,
    Verdict::NoCost,
    Verdict::CannotTell,
];

/// Gauges of one name; nothing where there are none.
fn family(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    points: impl IntoIterator<Item = Point>,
) -> fmt::Result {
    let mut points = points.into_iter().peekable();
    if points.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
    for (labels, value) in points {
        family.encode_family(&labels.as_slice())?.encode_gauge(&value)?;
    }
    Ok(())
}

/// The base unit of a metric, and how many of it the record's unit is.
fn base_unit(metric: Metric) -> (Unit, f64) {
    match metric.unit() {
        "us" | "us/op" => (Unit::Seconds, 1e-6),
        "op/s" => (Unit::Other("operations_per_second".into()), 1.0),
        "instructions/op" => (Unit::Other("instructions".into()), 1.0),
        "cycles/op" => (Unit::Other("cycles".into()), 1.0),
        "cells/op" => (Unit::Other("cells".into()), 1.0),
        _ => (Unit::Bytes, 1.0),
    }
}

/// The word that `run.json` has for a value.
fn word(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
