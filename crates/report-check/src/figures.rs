//! Every figure in the page: its exact value is the record's, and its text is that value, correctly rounded.

use ciphertax_records::{EstimateRow, PhaseRow, Run};
use serde::Deserialize;

use crate::{as_json, is_again};

/// A `data` element: an exact value and its text.
#[derive(Deserialize)]
pub(crate) struct Number {
    value: String,
    scale: String,
    text: String,
    visible: bool,
}

/// A change: its attributes, and the exact values of the numbers in it.
#[derive(Deserialize)]
pub(crate) struct Change {
    cell: String,
    arm: String,
    metric: String,
    change: String,
    low: String,
    high: String,
    variant: String,
    blocks: String,
    verdict: String,
    shown: Vec<String>,
}

/// A change in the chart of the answer.
#[derive(Deserialize)]
pub(crate) struct Mark {
    cell: String,
    arm: String,
    metric: String,
    shown: Vec<String>,
}

/// What is wrong with the figures of a page.
pub(crate) fn faults(numbers: &[Number], changes: &[Change], run: &Run) -> Vec<String> {
    let mut faults: Vec<String> = numbers.iter().filter_map(Number::fault).collect();
    for change in changes {
        match rows(run).find(|row| change.is_of(row)) {
            None => faults.push(format!("{} is not in the record", change.name())),
            Some(row) => faults.extend(change.fault(row)),
        }
    }
    faults
}

fn rows(run: &Run) -> impl Iterator<Item = &EstimateRow> {
    run.results.estimates.iter().chain(&run.results.noise_floor)
}

/// Figures of the record that the page does not show.
pub(crate) fn missing(numbers: &[Number], changes: &[Change], run: &Run) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows(run) {
        if !changes.iter().any(|change| change.is_of(row)) {
            faults.push(format!("{} {} {} is not shown", row.cell, row.arm, row.metric));
        }
    }
    for (what, value) in expected(run) {
        if !numbers.iter().any(|number| number.value.parse() == Ok(value)) {
            faults.push(format!("{what}, {value}, is not shown"));
        }
    }
    faults
}

impl Number {
    /// NaN where it is no number.
    pub(crate) fn value(&self) -> f64 {
        self.value.parse().unwrap_or(f64::NAN)
    }

    pub(crate) fn fault(&self) -> Option<String> {
        if !self.visible {
            return Some(format!("the number {} is hidden", self.text));
        }
        let Ok(value) = self.value.parse::<f64>() else {
            return Some(format!("{:?} is no number", self.value));
        };
        let at_least = self.text.strip_prefix("> ");
        let Some(reading) = Reading::of(at_least.unwrap_or(&self.text), &self.scale) else {
            return Some(format!("{:?} does not read as a number", self.text));
        };
        let value = if reading.unsigned { value.abs() } else { value };
        let right = match at_least {
            Some(_) => value > reading.value,
            None => (reading.value - value).abs() <= reading.precision * (0.5 + 1e-6),
        };
        (!right).then(|| format!("{} is shown as {:?}", self.value, self.text))
    }
}

impl Change {
    fn name(&self) -> String {
        format!("the change of {} {} {}", self.cell, self.arm, self.metric)
    }

    fn is_of(&self, row: &EstimateRow) -> bool {
        self.cell == row.cell && self.arm == row.arm && as_json(row.metric) == self.metric
    }

    fn fault(&self, row: &EstimateRow) -> Option<String> {
        let numbers = [
            (&self.change, row.change),
            (&self.low, row.low),
            (&self.high, row.high),
            (&self.variant, row.variant),
        ];
        let attributes_right = numbers.iter().all(|(text, value)| text.parse() == Ok(*value))
            && self.blocks.parse() == Ok(row.blocks)
            && self.verdict == as_json(row.verdict);
        // Besides them it shows the difference in the unit of the metric.
        let shown_right = numbers
            .iter()
            .all(|(text, _)| self.shown.iter().any(|shown| shown == *text))
            && [row.difference.value, row.difference.low, row.difference.high]
                .iter()
                .all(|difference| self.shown.iter().any(|shown| shown.parse() == Ok(*difference)));
        (!(attributes_right && shown_right)).then(|| format!("{} is not the record's", self.name()))
    }
}

impl Mark {
    pub(crate) fn fault(&self, run: &Run) -> Option<String> {
        let Self {
            cell, arm, metric, ..
        } = self;
        let is_of = |row: &&EstimateRow| (&row.cell, &row.arm, &as_json(row.metric)) == (cell, arm, metric);
        let shown: Vec<f64> = self
            .shown
            .iter()
            .filter_map(|number| number.parse().ok())
            .collect();
        let is_right = rows(run)
            .find(is_of)
            .is_some_and(|row| shown == [row.difference.value, row.change, row.low, row.high]);
        (!is_right).then(|| format!("the mark of {cell} {arm} {metric} is not the record's"))
    }
}

/// Numbers of the record, other than changes, that a reader must find.
fn expected(run: &Run) -> Vec<(String, f64)> {
    let mut expected = Vec::new();
    let mut add = |name: String, values: &mut dyn Iterator<Item = f64>| {
        expected.extend(values.map(|value| (name.clone(), value)));
    };
    let baseline = run.head.baseline();
    for row in &run.results.measurements {
        if baseline.is_some_and(|arm| arm.name == row.arm) {
            let name = format!("{} of {} in {}", row.metric, row.arm, row.cell);
            add(name, &mut [row.value].into_iter());
        }
    }
    // The repeated baseline's connects and disks are the baseline's.
    let is_shown = |row: &&PhaseRow| row.mean_us > 0.0 && !is_again(run, &row.arm);
    for row in run.results.connect_phases.iter().filter(is_shown) {
        let times = [row.mean_us, row.p50_us, row.p95_us, row.p99_us];
        let traffic = [row.bytes_sent, row.bytes_received, row.flights];
        let mut values = times.into_iter().chain(traffic).chain(row.client_cpu_us);
        let name = format!("{} of {} in {}", row.phase, row.arm, row.cell);
        add(name, &mut values);
    }
    for row in &run.results.storage {
        let bytes = [row.data_bytes, row.disk_bytes].map(|bytes| bytes.map(|bytes| bytes as f64));
        let shares = [row.hit_rate, row.device_busy, row.data_to_memory];
        let moved = [
            row.pages_read,
            row.pages_written,
            row.log_bytes,
            row.device_bytes_per_s,
        ];
        // What no arm has anything of is left out.
        let values = bytes.into_iter().chain(shares).chain(moved).flatten();
        let mut values = values.filter(|value| *value != 0.0);
        if !is_again(run, &row.arm) {
            let name = format!("memory and disk of {} in {}", row.arm, row.cell);
            add(name, &mut values);
        }
    }
    for row in &run.results.churn {
        for point in &row.break_even {
            let [low, high] = [point.queries_low, point.queries_high].map(|end| point.queries.and(end));
            let mut values = [point.queries, low, high].into_iter().flatten();
            let name = format!("the break-even of {}, {}", row.arm, row.side);
            add(name, &mut values);
        }
    }
    for row in &run.results.capacity {
        let cores = row.extra_cores;
        let mut values = [cores.value, cores.low, cores.high].into_iter();
        add(format!("the cores of {}, {}", row.arm, row.side), &mut values);
    }
    expected
}

/// A number as a reader reads it.
struct Reading {
    value: f64,
    /// The worth of one unit in its last place.
    precision: f64,
    /// Written with ±.
    unsigned: bool,
}

impl Reading {
    fn of(text: &str, scale: &str) -> Option<Self> {
        let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
        // A bound of an interval has the unit of its estimate, which `scale` names.
        let unit = if unit.is_empty() { scale } else { unit };
        let size = match unit {
            "%" | "percent" => 0.01,
            "" | "µs" | "B" | "op/s" => 1.0,
            "ms" | "kB" | "k op/s" => 1e3,
            "s" | "MB" | "M op/s" => 1e6,
            "GB" => 1e9,
            _ => return None,
        };
        let unsigned = digits.starts_with('±');
        let digits = digits
            .trim_start_matches(['±', '+'])
            .replace('−', "-")
            .replace(',', "");
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Self {
            value: digits.parse::<f64>().ok()? * size,
            precision: 10f64.powi(-i32::try_from(decimals).ok()?) * size,
            unsigned,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: &str, scale: &str, text: &str) -> Number {
        Number {
            value: value.into(),
            scale: scale.into(),
            text: text.into(),
            visible: true,
        }
    }

    #[test]
    fn a_correctly_rounded_text_is_right() {
        for (value, scale, text) in [
            ("0.1234", "percent", "+12.3 %"),
            ("-0.0149", "percent", "−1.5"),
            ("12.5", "percent", "+1,250 %"),
            ("0.01", "percent", "±1.0 %"),
            ("1234.4", "", "1.23 ms"),
            ("78123.0", "", "78.1 k op/s"),
            ("1048999", "", "1.05 MB"),
            ("522.4", "", "522"),
            ("1234.4", "ms", "1.23"),
        ] {
            assert_eq!(number(value, scale, text).fault(), None);
        }
    }

    #[test]
    fn a_wrong_text_is_a_fault() {
        for (value, scale, text) in [
            ("0.1234", "percent", "+12.4 %"),
            ("0.1234", "percent", "−12.3 %"),
            ("1234.4", "", "1.23 µs"),
            ("0.12", "percent", "some"),
            ("0.12", "percent", "12 apples"),
        ] {
            assert!(number(value, scale, text).fault().is_some(), "{text}");
        }
    }
}
