//! Numbers picked as sysbench picks them, with its default parameters (sysbench 1.0, `sb_rand.c`).

use std::ops::RangeInclusive;

use ciphertax_model::Distribution;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Uniform numbers that are added up for the bell of the special distribution (`--rand-spec-iter`).
const SPECIAL_ITERATIONS: u32 = 12;
/// Share of the range that is special (`--rand-spec-pct`).
const SPECIAL_RANGE: f64 = 0.01;
/// Share of the picks that fall into it (`--rand-spec-res`).
const SPECIAL_PICKS: f64 = 0.75;
/// `--rand-pareto-h`.
const PARETO_H: f64 = 0.2;
/// `--rand-zipfian-exp`, of sysbench 1.1: 1.0 has no such distribution.
const ZIPF_EXPONENT: f64 = 0.8;

/// Picks numbers of a range.
#[derive(Debug, Clone, Copy)]
pub struct Picker {
    first: u32,
    last: u32,
    law: Law,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    Uniform,
    Special,
    /// With the power of a uniform number.
    Pareto(f64),
    Zipfian(Zipf),
}

impl Picker {
    /// Picks from `range` by `distribution`.
    pub fn new(distribution: Distribution, range: RangeInclusive<u32>) -> Self {
        let (first, last) = range.into_inner();
        let law = match distribution {
            Distribution::Uniform => Law::Uniform,
            Distribution::Special => Law::Special,
            Distribution::Pareto => Law::Pareto(PARETO_H.ln() / (1.0 - PARETO_H).ln()),
            Distribution::Zipfian => Law::Zipfian(Zipf::new(f64::from(last) - f64::from(first) + 1.0)),
        };
        Self { first, last, law }
    }

    /// A number of the range.
    pub fn pick(&self, random: &mut Pcg64Mcg) -> u32 {
        let span = f64::from(self.last) - f64::from(self.first);
        let offset = match self.law {
            Law::Uniform => return random.random_range(self.first..=self.last),
            Law::Special => special(span, random),
            Law::Pareto(power) => (span + 1.0) * uniform(random).powf(power),
            Law::Zipfian(zipf) => zipf.rank(random) - 1.0,
        };
        (f64::from(self.first) + offset.min(span)) as u32
    }
}

/// One uniform number decides between bell and middle, and for the middle also where in it: so it is only ever the
/// upper three quarters of the middle that are picked. That is how sysbench does it.
fn special(span: f64, random: &mut Pcg64Mcg) -> f64 {
    let decision = uniform(random);
    if decision < 1.0 - SPECIAL_PICKS {
        let sum: f64 = (0..SPECIAL_ITERATIONS).map(|_| uniform(random)).sum();
        return sum * span / f64::from(SPECIAL_ITERATIONS);
    }
    let middle = span * SPECIAL_RANGE;
    (span / 2.0 - middle / 2.0 + decision * (middle + 1.0)).floor()
}

fn uniform(random: &mut Pcg64Mcg) -> f64 {
    random.random::<f64>()
}

/// Ranks in proportion to r^−q, by rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion to generate
/// variates from monotone discrete distributions", ACM TOMACS 6 (1996), 169–184, for q ≠ 1.
#[derive(Debug, Clone, Copy)]
struct Zipf {
    ranks: f64,
    /// The integral of the hat at the lower and upper end of what is inverted.
    low: f64,
    high: f64,
    /// Within this distance above the inverted value a rank is accepted without looking at the density.
    squeeze: f64,
}

impl Zipf {
    fn new(ranks: f64) -> Self {
        Self {
            ranks,
            low: hat_integral(1.5) - 1.0,
            high: hat_integral(ranks + 0.5),
            squeeze: 2.0 - hat_inverse(hat_integral(2.5) - density(2.0)),
        }
    }

    fn rank(&self, random: &mut Pcg64Mcg) -> f64 {
        loop {
            let area = self.high + uniform(random) * (self.low - self.high);
            let inverted = hat_inverse(area);
            let rank = (inverted + 0.5).floor().clamp(1.0, self.ranks);
            if rank - inverted <= self.squeeze || area >= hat_integral(rank + 0.5) - density(rank) {
                return rank;
            }
        }
    }
}

/// r^−q.
fn density(rank: f64) -> f64 {
    rank.powf(-ZIPF_EXPONENT)
}

/// (x^(1−q) − 1) / (1 − q), whose derivative is the density.
fn hat_integral(x: f64) -> f64 {
    (x.powf(1.0 - ZIPF_EXPONENT) - 1.0) / (1.0 - ZIPF_EXPONENT)
}

fn hat_inverse(area: f64) -> f64 {
    (1.0 + area * (1.0 - ZIPF_EXPONENT)).powf(1.0 / (1.0 - ZIPF_EXPONENT))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;

    const PICKS: usize = 200_000;

    proptest! {
        #[test]
        fn every_pick_lies_in_the_range(first in 0_u32..3_000_000_000, width in 0_u32..1_000_000_000, seed: u64) {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            for distribution in Distribution::ALL {
                let picker = Picker::new(distribution, first..=first + width);
                for _ in 0..100 {
                    prop_assert!((first..=first + width).contains(&picker.pick(&mut random)));
                }
            }
        }
    }

    #[test]
    fn each_distribution_has_its_shape() {
        // Uniform: a tenth in each tenth.
        let uniform = shares(Distribution::Uniform, &[1..=100, 451..=550, 901..=1000]);
        assert_near(&uniform, &[0.1, 0.1, 0.1]);
        // Special: three quarters in the middle percent, of which the lowest quarter is left out; the rest a bell with
        // a standard deviation of a twelfth of the range, of which two thirds lie within one.
        let special = shares(Distribution::Special, &[498..=507, 417..=584, 1..=250]);
        assert_near(&special, &[0.75 + 0.012, 0.75 + 0.25 * 0.683, 0.25 * 0.0013]);
        // Pareto: 0.8 of the picks in 0.2 of the range, and 0.8 of those in 0.2 of that.
        let pareto = shares(Distribution::Pareto, &[1..=200, 1..=40]);
        assert_near(&pareto, &[0.8, 0.64]);
        // Zipf: by the sum over the ranks.
        let sum = |ranks: RangeInclusive<u32>| ranks.map(|rank| density(f64::from(rank))).sum::<f64>();
        let zipfian = shares(Distribution::Zipfian, &[1..=1, 2..=2, 3..=10, 501..=1000]);
        let expected = [1..=1, 2..=2, 3..=10, 501..=1000].map(|ranks| sum(ranks) / sum(1..=1000));
        assert_near(&zipfian, &expected);
    }

    /// Shares of the picks from 1 to 1000 that fall into each of these ranges.
    fn shares(distribution: Distribution, ranges: &[RangeInclusive<u32>]) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let picker = Picker::new(distribution, 1..=1000);
        let picks: Vec<u32> = (0..PICKS).map(|_| picker.pick(&mut random)).collect();
        let share = |range: &RangeInclusive<u32>| {
            picks.iter().filter(|pick| range.contains(pick)).count() as f64 / PICKS as f64
        };
        ranges.iter().map(share).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 0.006;
        let all_hold = found.iter().zip(expected).all(near);
        assert!(all_hold, "{found:?}, expected {expected:?}");
    }
}
