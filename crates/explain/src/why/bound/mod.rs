//! What bounds the speed of an arm: the first that holds of what could.

mod decide;
mod follows;
mod tried;
mod usage;

use ciphertax_model::Metric;
use ciphertax_records::why::{Bound, BoundRow, Confirmation};
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

/// What an arm is bound by, after "bound by".
pub(crate) fn in_words(bound: Bound, of: Option<&str>) -> String {
    match (bound, of) {
        (Bound::ClientCpu, _) => "the load generator's CPU".to_owned(),
        (Bound::OtherPrograms, _) => "other programs on this machine".to_owned(),
        (Bound::ServerCpu, None) => "the server's CPU".to_owned(),
        (Bound::ServerCpu, Some(category)) => format!("the server's CPU, most of all {category}"),
        (Bound::Spinning, None) => "the server's CPU, spinning for a lock".to_owned(),
        (Bound::Spinning, Some(lock)) => format!("the server's CPU, spinning for {lock}"),
        (Bound::LogFlush, None) => "the log's flush".to_owned(),
        (Bound::LogFlush, Some(part)) => format!("the log's flush ({part})"),
        (Bound::Replication, None) => "replication".to_owned(),
        (Bound::Replication, Some(part)) => format!("replication ({part})"),
        (Bound::DeviceReads, _) => "reads from the disk".to_owned(),
        (Bound::Lock, None) => "a lock".to_owned(),
        (Bound::Lock, Some(lock)) => format!("a lock ({lock})"),
        (Bound::RoundTrips, _) => "round trips to the server".to_owned(),
        (Bound::Schedule, _) => "the configured rate".to_owned(),
        (Bound::Mixed, _) => "several things at once".to_owned(),
    }
}
