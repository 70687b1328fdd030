//! An open loop whose response times are to a good part the load generator's.

use ciphertax_records::{Finding, Severity};

use super::finding::{finding, share};
use crate::cell::CellSamples;

/// An open loop whose response times are to a good part the load generator's.
pub(super) fn lateness(cell: &CellSamples<'_>) -> Option<Finding> {
    const MUCH: f64 = 0.10;
    let share_of = |arm: usize| {
        let (delay, response) = cell
            .valid(arm)
            .filter_map(|slice| slice.open_loop)
            .fold((0, 0), |(delay, response), open_loop| {
                (delay + open_loop.delay_ns, response + open_loop.response_ns)
            });
        (response > 0).then(|| delay as f64 / response as f64)
    };
    let (arm, most) = (0..cell.arms.len())
        .filter_map(|arm| Some((arm, share_of(arm)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most > MUCH).then(|| {
        finding(
            "generator-late",
            Severity::Suspicion,
            format!(
                "{}: up to {} of the response time is the load generator's own lateness, and dilutes the changes; a lower \
                 rate, or a machine of its own, keeps it small.",
                cell.cell.name,
                share(most, 1.0)
            ),
            format!(
                "operations of {} for which a connection was free began late, by that much in all",
                cell.arms[arm]
            ),
        )
    })
}
