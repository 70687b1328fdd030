//! A machine that was noisy.

use ciphertax_records::{EstimateRow, Finding, Run, Severity};
use ciphertax_stats::format::rounded;

use super::finding::finding;

pub(super) fn noisy(run: &Run) -> Option<Finding> {
    const NOISY: f64 = 0.05;
    let half_width = |row: &EstimateRow| (row.high.ln_1p() - row.low.ln_1p()) / 2.0;
    let cpu = run.results.noise_floor.iter().filter(|row| row.metric.is_cpu());
    let worst = cpu.max_by(|one, other| half_width(one).total_cmp(&half_width(other)))?;
    (half_width(worst) > NOISY).then(|| {
        finding(
            "noisy-machine",
            Severity::Advice,
            "This machine was noisy: give the run more time (--time), or a quieter machine.".into(),
            format!(
                "{}: the baseline against itself differs by {} in {}",
                worst.cell,
                rounded::change(worst.interval()),
                worst.metric
            ),
        )
    })
}
