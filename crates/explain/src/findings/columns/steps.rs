//! What of the cost of encrypted columns is bytes, encoding, cipher, or a driver's eagerness.

use ciphertax_base::Interval;
use ciphertax_base::format::rounded;
use ciphertax_model::Metric;
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};

use super::super::finding::finding;
use super::cost_per_cell::payer;
use super::step::Step;
use super::{PAID, arms, more_than};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::CellSamples;

/// One finding for each pair of arms that differ in one step, for each side.
pub(super) fn steps(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    let study = &run.head.study;
    for (to, columns) in arms(run, cell) {
        for from in study.arms_of(cell.asked).filter(|from| from.name != to.name) {
            let Some(step) = Step::between(from.columns.as_ref(), columns) else {
                continue;
            };
            // Of two ciphers, the dearer is the one in place of the other.
            for metric in PAID {
                let Some(more) = more_than(samples, &from.name, &to.name, metric)? else {
                    continue;
                };
                let is_reversed = step == Step::Algorithm && more.value < 0.0;
                let floor = floor_us(run, &cell.asked.name, metric);
                if !is_reversed && counts(more, floor) {
                    let starts_plain = from
                        .columns
                        .as_ref()
                        .is_none_or(|from| from.columns != columns.columns);
                    findings.push(told(
                        &cell.asked.name,
                        [&from.name, &to.name],
                        step.words(starts_plain),
                        metric,
                        more,
                    ));
                }
            }
        }
    }
    Ok(findings)
}

/// True if it is more than nothing, and more than noise.
fn counts(more: Interval, floor_us: f64) -> bool {
    (more.low > 0.0 || more.high < 0.0) && more.value.abs() > floor_us
}

/// By how much the baseline differs from itself, in microseconds per operation.
fn floor_us(run: &Run, cell: &str, metric: Metric) -> f64 {
    let mut rows = run.results.estimates.iter();
    let row = rows.find(|row| row.cell == cell && row.metric == metric);
    row.map_or(0.0, |row| row.floor.unwrap_or(0.0) * row.baseline)
}

fn told(cell: &str, [from, to]: [&str; 2], what: &str, metric: Metric, more: Interval) -> Finding {
    let verb = match more.value < 0.0 {
        true => "saves",
        false => "costs",
    };
    let amount = match more.value < 0.0 {
        true => Interval {
            value: -more.value,
            low: -more.high,
            high: -more.low,
        },
        false => more,
    };
    finding(
        "cell-step",
        Severity::Cause,
        format!(
            "{cell}: {what} {verb} the {} {} per operation.",
            payer(metric),
            rounded::microseconds_between(amount)
        ),
        format!("{to} less {from}, in the blocks of both"),
    )
}
