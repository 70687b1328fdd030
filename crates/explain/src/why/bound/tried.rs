//! Whether a bound was taken away by an arm with a probe, and what came of it.

use ciphertax_base::Interval;
use ciphertax_model::{Arm, Metric, Perturbation, Study};
use ciphertax_records::Results;
use ciphertax_records::why::{Bound, Confirmation};

/// The variables of servers that take a bound away.
const OF_LOG: [&str; 2] = ["sync_binlog", "innodb_flush_log_at_trx_commit"];
const OF_READS: [&str; 1] = ["innodb_buffer_pool_size"];
const OF_LOCKS: [&str; 1] = ["innodb_adaptive_hash_index"];

/// Of an arm in a cell whose speed is this metric. Arms are compared with the baseline, so that one alone can be confirmed.
pub(super) fn tried(
    bound: Bound,
    arm: &str,
    (cell, speed): (&str, Metric),
    study: &Study,
    results: &Results,
) -> Confirmation {
    let Some(arm) = study.arms.first().filter(|baseline| baseline.name == arm) else {
        return Confirmation::NotTried;
    };
    let changes = study.arms.iter().filter_map(|other| {
        let probe = other.probe.as_ref()?;
        let is_arm_but_for_it = Arm {
            name: arm.name.clone(),
            probe: arm.probe.clone(),
            ..other.clone()
        } == *arm;
        if !is_arm_but_for_it {
            return None;
        }
        let tightens = addresses(bound, probe.perturbation()?)?;
        let row = results.estimate(cell, &other.name, speed)?;
        let change = match tightens {
            true => without(row.interval()),
            false => row.interval(),
        };
        Some(
            row.floor
                .map_or(Confirmation::CannotTell, |floor| confirmation(change, floor)),
        )
    });
    // One that shows it is enough; of several that do not, the clearest word counts.
    let order = [
        Confirmation::Confirmed,
        Confirmation::Refuted,
        Confirmation::CannotTell,
    ];
    let found: Vec<Confirmation> = changes.collect();
    let first = order.into_iter().find(|word| found.contains(word));
    first.unwrap_or_default()
}

/// Whether a probe is about a bound: `true` if it tightens it, `false` if it takes it away.
fn addresses(bound: Bound, perturbation: Perturbation<'_>) -> Option<bool> {
    match (bound, perturbation) {
        (Bound::ServerCpu | Bound::Spinning, Perturbation::Cpus(_)) => Some(true),
        (Bound::LogFlush, Perturbation::Variable(name, _)) if OF_LOG.contains(&name) => Some(false),
        (Bound::DeviceReads, Perturbation::Variable(name, _)) if OF_READS.contains(&name) => Some(false),
        (Bound::Lock | Bound::Spinning, Perturbation::Variable(name, _)) if OF_LOCKS.contains(&name) => {
            Some(false)
        }
        _ => None,
    }
}

/// From the change that a probe makes to the change that its absence makes.
fn without(change: Interval) -> Interval {
    let inverse = |change: f64| 1.0 / (1.0 + change) - 1.0;
    Interval {
        value: inverse(change.value),
        low: inverse(change.high),
        high: inverse(change.low),
    }
}

/// What takes a fifth to a half of every round trip, and is gone, makes an arm faster by at least as much as this, as a fraction;
/// what cannot have made it this much faster was not its bound.
const SMALLEST_GAIN: f64 = 0.10;

/// What follows from how much faster an arm is without its bound: the change of its throughput as a fraction with its 95 %
/// interval, beside the `floor`, the change that the baseline shows against itself. For a probe that tightens the bound instead,
/// such as a CPU less, the change is that without the probe against that with it.
fn confirmation(change: Interval, floor: f64) -> Confirmation {
    if change.low > floor.max(0.0) {
        Confirmation::Confirmed
    } else if change.high < SMALLEST_GAIN.max(floor) {
        Confirmation::Refuted
    } else {
        Confirmation::CannotTell
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::ProbeValue;

    use super::*;

    #[test]
    fn a_probe_is_about_the_bound_that_it_changes_alone() {
        let off = ProbeValue::Whole(0);
        let sync = Perturbation::Variable("sync_binlog", &off);
        assert_eq!(addresses(Bound::LogFlush, sync), Some(false));
        assert_eq!(addresses(Bound::ServerCpu, sync), None);
        assert_eq!(addresses(Bound::ServerCpu, Perturbation::Cpus(1)), Some(true));
        assert_eq!(addresses(Bound::RoundTrips, Perturbation::Cpus(1)), None);
        let latch = Perturbation::Variable("innodb_adaptive_hash_index", &off);
        assert_eq!(addresses(Bound::Lock, latch), Some(false));
    }

    #[test]
    fn half_the_speed_with_a_probe_is_twice_the_speed_without() {
        let change = without(Interval {
            value: -0.5,
            low: -0.6,
            high: -0.2,
        });
        assert!((change.value - 1.0).abs() < 1e-9);
        assert!((change.low - 0.25).abs() < 1e-9 && (change.high - 1.5).abs() < 1e-9);
    }

    fn of(low: f64, high: f64, floor: f64) -> Confirmation {
        let value = f64::midpoint(low, high);
        confirmation(Interval { value, low, high }, floor)
    }

    #[test]
    fn what_makes_an_arm_faster_beyond_the_noise_was_its_bound() {
        assert_eq!(of(0.40, 0.51, 0.03), Confirmation::Confirmed);
        assert_eq!(of(0.02, 0.51, 0.03), Confirmation::CannotTell);
    }

    #[test]
    fn what_makes_it_no_faster_was_not() {
        assert_eq!(of(-0.09, 0.07, 0.03), Confirmation::Refuted);
        assert_eq!(of(-0.20, -0.10, 0.03), Confirmation::Refuted);
    }

    #[test]
    fn what_may_be_either_is_not_told() {
        assert_eq!(of(-0.10, 0.25, 0.03), Confirmation::CannotTell);
    }
}
