//! Whether the costs of encryption in transit and at rest add up.

use ciphertax_model::{Arm, Direction, Metric, Study};
use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::rounded;
use ciphertax_stats::{Estimate, FEWEST_BLOCKS, Interval};

use super::finding::finding;
use crate::cell::{BASELINE, CellSamples};
use crate::error::ExplainError;

/// The arms with one protection each that an arm has both of.
struct Parts<'a> {
    transit: &'a str,
    rest: &'a str,
}

/// The interaction of an arm that has both with the two that have one each: (both / baseline) / ((transit / baseline) · (rest /
/// baseline)) − 1, its interval from the blocks in which all four were measured.
pub(super) fn transit_and_rest(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Result<Vec<Finding>, ExplainError> {
    let mut findings = Vec::new();
    let Some(parts) = parts(&run.head.study, arm) else {
        return Ok(findings);
    };
    for metric in [run.results.server_cpu(&cell.asked.name), Metric::Throughput] {
        findings.extend(of_metric(run, samples, cell, arm, &parts, metric)?);
    }
    Ok(findings)
}

/// Arms that differ from one with both in having one of them alone, where the baseline has neither.
fn parts<'a>(study: &'a Study, arm: &str) -> Option<Parts<'a>> {
    let baseline = study.baseline();
    let both = study.arms.iter().find(|other| other.name == arm)?;
    let has_neither = !baseline.transport.is_encrypted() && !baseline.at_rest.is_encrypted();
    if !has_neither || !both.transport.is_encrypted() || !both.at_rest.is_encrypted() {
        return None;
    }
    let like = |wanted: Arm| {
        let is_like = |other: &&Arm| {
            let renamed = Arm {
                name: wanted.name.clone(),
                ..(*other).clone()
            };
            renamed == wanted
        };
        Some(study.arms.iter().find(is_like)?.name.as_str())
    };
    Some(Parts {
        transit: like(Arm {
            at_rest: baseline.at_rest,
            ..both.clone()
        })?,
        rest: like(Arm {
            transport: baseline.transport,
            tls: baseline.tls.clone(),
            certificate: baseline.certificate,
            ..both.clone()
        })?,
    })
}

fn of_metric(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
    parts: &Parts<'_>,
    metric: Metric,
) -> Result<Option<Finding>, ExplainError> {
    let place = |name: &str| samples.arms.iter().position(|other| other == name);
    let (Some(transit), Some(rest), Some(both)) = (place(parts.transit), place(parts.rest), place(arm))
    else {
        return Ok(None);
    };
    let change = |name: &str| Some(run.results.estimate(&cell.asked.name, name, metric)?.interval());
    let changes = [parts.transit, parts.rest, arm].map(change);
    let [Some(of_transit), Some(of_rest), Some(of_both)] = changes else {
        return Ok(None);
    };
    let is_the_clients = cell.found.client_bound && !metric.is_cpu();
    let blocks = samples.logs_of([BASELINE, transit, rest, both], metric);
    let interaction = |[baseline, transit, rest, both]: &[f64; 4]| both - transit - rest + baseline;
    let series: Vec<f64> = blocks.iter().map(interaction).collect();
    if series.len() < FEWEST_BLOCKS as usize || is_the_clients {
        return Ok(None);
    }
    let interaction = Estimate::of_log_ratios(&series)?;
    let dearer = match metric.direction() {
        Direction::HigherCosts => interaction.low > 0.0,
        Direction::LowerCosts => interaction.high < 0.0,
    };
    let answer = match (dearer, interaction.excludes_zero()) {
        (true, _) => "both together are dearer than the one upon the other",
        (false, true) => "both together are cheaper than the one upon the other",
        (false, false) => "nothing speaks against it",
    };
    let expected = (1.0 + of_transit.value) * (1.0 + of_rest.value) - 1.0;
    Ok(Some(finding(
        "transit-and-rest",
        Severity::Cause,
        format!(
            "{}, {metric}: do the costs of {} and {} add up? {answer}: {arm} against their product {}.",
            cell.asked.name,
            parts.transit,
            parts.rest,
            rounded::change(Interval {
                value: interaction.change,
                low: interaction.low,
                high: interaction.high,
            })
        ),
        format!(
            "{}: {}, {}: {}, their product: {}, {arm}: {}; {} blocks",
            parts.transit,
            rounded::change(of_transit),
            parts.rest,
            rounded::change(of_rest),
            rounded::percent(expected),
            rounded::change(of_both),
            interaction.blocks
        ),
    )))
}
