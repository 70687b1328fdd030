//! Log-ratios, block by block.

use crate::error::StatsError;

/// `ln(variant / baseline)` of each block.
///
/// # Errors
/// If the series have different lengths, or a value is not a finite number above zero.
pub fn log_ratios(baseline: &[f64], variant: &[f64]) -> Result<Vec<f64>, StatsError> {
    check_paired(baseline, variant)?;
    for series in [baseline, variant] {
        if let Some((block, &value)) = series.iter().enumerate().find(|(_, value)| **value <= 0.0) {
            return Err(StatsError::NotPositive { block, value });
        }
    }
    let pairs = baseline.iter().zip(variant);
    Ok(pairs.map(|(b, v)| v.ln() - b.ln()).collect())
}

fn check_paired(baseline: &[f64], variant: &[f64]) -> Result<(), StatsError> {
    if baseline.len() != variant.len() {
        return Err(StatsError::Unpaired {
            baseline: baseline.len(),
            variant: variant.len(),
        });
    }
    check_finite(baseline)?;
    check_finite(variant)
}

pub(crate) fn check_finite(series: &[f64]) -> Result<(), StatsError> {
    match series.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((block, &value)) => Err(StatsError::NotFinite { block, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_block_by_block() {
        let ratios = log_ratios(&[1.0, 2.0], &[2.0, 2.0]).unwrap();
        assert!((ratios[0] - 2.0_f64.ln()).abs() < 1e-15);
        assert_eq!(ratios[1], 0.0);
    }

    #[test]
    fn what_cannot_be_paired_is_an_error_that_names_the_block() {
        let unpaired = log_ratios(&[1.0], &[1.0, 2.0]);
        assert_eq!(
            unpaired,
            Err(StatsError::Unpaired {
                baseline: 1,
                variant: 2
            })
        );
        let zero = log_ratios(&[1.0, 1.0], &[1.0, 0.0]);
        assert_eq!(zero, Err(StatsError::NotPositive { block: 1, value: 0.0 }));
        let infinite = log_ratios(&[f64::INFINITY], &[1.0]);
        assert_eq!(
            infinite,
            Err(StatsError::NotFinite {
                block: 0,
                value: f64::INFINITY
            })
        );
    }
}
