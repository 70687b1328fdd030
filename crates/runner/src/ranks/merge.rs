//! What all load generators did in a slice, together: counts and histograms are added, and nothing is averaged.

use std::time::Duration;

use ciphertax_engine::{Failure, SliceYield};
use ciphertax_model::Pace;
use ciphertax_records::{RankShare, VoidReason, Yield};
use ciphertax_stats::histogram;

use super::clock::{Offset, instant_of, ns_of};
use super::protocol::Yielded;
use crate::error::RunError;
use crate::load::Slice;

/// So much of a slice its load generators may begin or end apart.
const MOST_APART: f64 = 0.02;

/// What one of them did.
pub(super) struct Share {
    rank: u32,
    /// When it began, by the conductor's clock.
    began_ns: u64,
    /// How long after the beginning of its schedule it began.
    late_ns: u64,
    recorded: Yield,
    failures: u64,
    first_failure: Option<Failure>,
    unfinished: u64,
    interrupted: bool,
}

impl Share {
    /// Of a follower of this number and name.
    pub(super) fn of_follower((rank, name): (u32, String), yielded: Yielded, offset: Offset) -> Self {
        Self {
            rank,
            began_ns: offset.here(yielded.began_ns),
            late_ns: yielded.late_ns,
            recorded: yielded.recorded,
            failures: yielded.failures,
            first_failure: yielded.first_failure.map(|failed| failed.of(&name)),
            unfinished: yielded.unfinished,
            interrupted: yielded.interrupted,
        }
    }

    fn of_conductor(own: SliceYield) -> Self {
        Self {
            rank: 0,
            began_ns: ns_of(own.began),
            late_ns: own.late.as_nanos() as u64,
            recorded: own.recorded,
            failures: own.failures,
            first_failure: own.first_failure,
            unfinished: own.unfinished,
            interrupted: own.interrupted,
        }
    }

    fn ended_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.recorded.duration_ns)
    }
}

/// The slice of all. It is void if they began further apart than a fiftieth of its length, or, where
/// they all work for the same time, ended further apart than that and a long operation.
///
/// # Errors
/// When one of them says what is no histogram.
pub(super) fn merged(
    own: SliceYield,
    followers: Vec<Share>,
    duration: Duration,
    pace: Pace,
) -> Result<Slice, RunError> {
    let shares: Vec<Share> = std::iter::once(Share::of_conductor(own))
        .chain(followers)
        .collect();
    let begins: Vec<u64> = shares.iter().map(|share| share.began_ns).collect();
    let yields: Vec<Yield> = shares.iter().map(|share| share.recorded.clone()).collect();
    let unreadable = |error| RunError::Rank(format!("a load generator says what is no histogram: {error}"));
    let mut recorded = Yield::merged(&yields, &begins).map_err(unreadable)?;
    let first = begins.iter().copied().min().unwrap_or(0);
    recorded.ranks = shares
        .iter()
        .map(|share| RankShare {
            rank: share.rank,
            operations: share.recorded.operation_count(),
            client_cpu: share.recorded.client_cpu,
            client_bound: share.recorded.client_bound,
            began_after_ns: share.began_ns - first + share.late_ns,
            ended_after_ns: share.ended_ns() - first,
            client_peak_memory_bytes: share.recorded.client_peak_memory_bytes,
        })
        .collect();
    // What failed, hung or was cut short says more than that it ended at another time.
    let is_whole = |share: &Share| share.failures == 0 && share.unfinished == 0 && !share.interrupted;
    let void = apart(&recorded, duration, pace).filter(|_| shares.iter().all(is_whole));
    let gravest = |failure: &&Failure| matches!(failure, Failure::FactsDiffer(_));
    let failures = || shares.iter().filter_map(|share| share.first_failure.as_ref());
    Ok(Slice {
        yielded: SliceYield {
            began: instant_of(first),
            late: Duration::ZERO,
            kept: Vec::new(),
            failures: shares.iter().map(|share| share.failures).sum(),
            first_failure: failures().find(gravest).or_else(|| failures().next()).cloned(),
            unfinished: shares.iter().map(|share| share.unfinished).sum(),
            interrupted: shares.iter().any(|share| share.interrupted),
            recorded,
        },
        void,
    })
}

/// That they did not work together.
fn apart(recorded: &Yield, duration: Duration, pace: Pace) -> Option<VoidReason> {
    let most_ns = (duration.as_nanos() as f64 * MOST_APART) as u64;
    let spread = |of: fn(&RankShare) -> u64| {
        let latest = recorded.ranks.iter().max_by_key(|share| of(share))?;
        let earliest = recorded.ranks.iter().map(of).min()?;
        Some((of(latest) - earliest, latest.rank))
    };
    let said = |what: &str, (apart_ns, rank): (u64, u32)| VoidReason::RanksApart {
        detail: format!(
            "{what} {:.1} ms apart, rank {rank} the last, of {:.1} ms that are allowed",
            apart_ns as f64 / 1e6,
            most_ns as f64 / 1e6
        ),
    };
    if let Some(begun) = spread(|share| share.began_after_ns).filter(|(apart, _)| *apart > most_ns) {
        return Some(said("they began", begun));
    }
    if pace != Pace::Closed {
        // A batch ends when it is done, and a schedule with its last operation.
        return None;
    }
    let longest = long_operation_ns(recorded);
    let ended = spread(|share| share.ended_after_ns)?;
    (ended.0 > most_ns.saturating_add(longest)).then(|| said("they ended", ended))
}

/// What all but one of a thousand operations take no longer than: of those that are in flight at the end few take longer, and one that
/// waits for a load generator which stands still is not among them.
fn long_operation_ns(recorded: &Yield) -> u64 {
    let long = |text| histogram::decode(text).map_or(0, |histogram| histogram.value_at_quantile(0.999));
    let kinds = recorded.operations.iter();
    kinds.map(|kind| long(&kind.latency)).max().unwrap_or(0)
}
