//! What bounds the speed of an arm: the first that holds of what could.

mod decide;
mod follows;
mod tried;
mod usage;
mod words;

pub(crate) use words::in_words;

use ciphertax_model::Metric;
use ciphertax_records::why::{BoundRow, Confirmation};
use ciphertax_records::{Head, Results, Run};

use self::usage::Usage;
use super::counted::Profiles;
use super::states::{Seen, blocks};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::AGAIN;
use ciphertax_estimate::slices::CellSlices;

/// Of each arm of one cell of which enough was seen.
pub(super) fn of_cell(
    index: usize,
    cell: &CellSlices<'_>,
    seen: &Seen,
    profiles: &Profiles,
    (head, results): (&Head, &Results),
    confirming: Option<&Run>,
) -> Result<Vec<BoundRow>, EstimateError> {
    let mut rows = Vec::new();
    let of_arms = blocks(&seen.by_state, index, cell);
    for (arm, name) in cell.arms.iter().enumerate() {
        let Some(usage) = Usage::of((index, cell, arm), &of_arms[arm], profiles, head)? else {
            continue;
        };
        let decided = decide::decide(&usage, cell.cell);
        let follows = match arm > AGAIN {
            true => follows::follows(&decided, &usage, results, cell.cell, name),
            false => None,
        };
        let speed = (cell.cell.name.as_str(), Metric::speed(cell.cell.load.pace()));
        let in_run = tried::tried(decided.bound, name, speed, &head.study, results);
        let confirmation = match (in_run, confirming) {
            (Confirmation::NotTried, Some(other)) => {
                tried::tried(decided.bound, name, speed, &other.head.study, &other.results)
            }
            (in_run, _) => in_run,
        };
        rows.push(BoundRow {
            cell: cell.cell.name.clone(),
            arm: name.clone(),
            bound: decided.bound,
            of: decided.of,
            evidence: decided.evidence,
            follows,
            confirmation,
        });
    }
    Ok(rows)
}
