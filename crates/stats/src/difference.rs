//! By how much a variant differs from the baseline in the unit of the metric.

use crate::Interval;

use crate::error::StatsError;
use crate::estimate::Estimate;
use crate::mean::MeanEstimate;

/// `variant − baseline` with its 95 % interval, made from the baseline's value over all blocks and the paired ratio: so it
/// says what `baseline · change` says, and a single odd block pulls it no further than the ratio.
///
/// `logs` are the logarithms of the baseline's values block by block, whose spread is the uncertainty of `baseline`;
/// empty where that is not known, and then it is taken as exact. Baseline and ratio are combined by variance recovery
/// (MOVER, Zou and Donner 2008) with the bounds of both, which keeps the sign: the interval excludes zero exactly if that
/// of the change does.
///
/// # Errors
/// If a logarithm is not finite.
pub fn difference(baseline: f64, logs: &[f64], ratio: &Estimate) -> Result<Interval, StatsError> {
    let relative = match logs.len() {
        0 | 1 => 0.0,
        _ => {
            let spread = MeanEstimate::of(logs)?;
            spread.high - spread.mean
        }
    };
    let value = baseline * ratio.change;
    let bound = |change: f64, sign: f64| {
        let by_ratio = value - baseline * change;
        // No more than all of it: a baseline is never negative.
        let by_baseline = relative.min(1.0) * baseline * change;
        value + sign * by_ratio.hypot(by_baseline)
    };
    Ok(Interval {
        value,
        low: bound(ratio.low, -1.0),
        high: bound(ratio.high, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(logs: &[f64]) -> Estimate {
        Estimate::of_log_ratios(logs).unwrap()
    }

    #[test]
    fn with_a_steady_baseline_it_is_the_interval_of_the_change_times_the_baseline() {
        let ratio = ratio(&[0.10, 0.12, 0.11, 0.09, 0.10, 0.12]);
        let found = difference(20.0, &[3.0; 6], &ratio).unwrap();
        assert!((found.value - 20.0 * ratio.change).abs() < 1e-12);
        assert!((found.low - 20.0 * ratio.low).abs() < 1e-9);
        assert!((found.high - 20.0 * ratio.high).abs() < 1e-9);
    }

    #[test]
    fn an_unsteady_baseline_widens_it() {
        let ratio = ratio(&[0.10, 0.12, 0.11, 0.09, 0.10, 0.12]);
        let found = difference(20.0, &[2.7, 3.3, 2.8, 3.2, 3.1, 2.9], &ratio).unwrap();
        assert!(found.low < 20.0 * ratio.low && found.high > 20.0 * ratio.high);
    }

    #[test]
    fn it_excludes_zero_exactly_if_the_change_does() {
        let baseline = [2.0, 4.0, 2.5, 3.5, 3.0, 1.0];
        for shift in [-0.3, -0.022, -0.02, -0.01, 0.0, 0.01, 0.02, 0.022, 0.3] {
            let logs: Vec<f64> = [0.02, -0.02, 0.02, -0.02, 0.02, -0.02]
                .iter()
                .map(|noise| shift + noise)
                .collect();
            let ratio = ratio(&logs);
            let found = difference(20.0, &baseline, &ratio).unwrap();
            assert_eq!(
                found.low > 0.0 || found.high < 0.0,
                ratio.excludes_zero(),
                "{shift}: {found:?} {ratio:?}"
            );
        }
    }

    #[test]
    fn one_block_of_few_and_slow_operations_does_not_ruin_it() {
        // Twenty blocks of 20 and 22 µs; in one more the variant's operations took 3 ms.
        let mut logs = vec![1.1_f64.ln(); 20];
        logs.push((3_000.0_f64 / 20.0).ln());
        let found = difference(20.0, &[20.0_f64.ln(); 21], &ratio(&logs)).unwrap();
        let mut by_blocks = vec![22.0 - 20.0; 20];
        by_blocks.push(3_000.0 - 20.0);
        let naive = MeanEstimate::of(&by_blocks).unwrap();
        assert!((found.value - 2.0).abs() < 6.0, "{found:?}");
        assert!(naive.mean > 100.0);
        assert!(found.high - found.low < 0.1 * (naive.high - naive.low));
    }
}
