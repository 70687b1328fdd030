//! YCSB's Zipfian numbers: J. Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994, as
//! written in YCSB 0.17, `site.ycsb.generator.ZipfianGenerator`.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// YCSB's exponent (`ZIPFIAN_CONSTANT`).
const THETA: f64 = 0.99;

/// Picks ranks from 0, in proportion to (rank + 1)^−0.99.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipfian {
    /// The count it began with, which YCSB keeps in `eta` when the count grows.
    items: f64,
    /// Ranks that `zetan` is the sum of.
    count: u64,
    zetan: f64,
    eta: f64,
}

impl Zipfian {
    /// Ranks below `items`; the sum takes time in proportion to them.
    pub(super) fn new(items: u64) -> Self {
        Self::with_zeta(items, zeta(0..items, 0.0))
    }

    /// As [`Zipfian::new`], where the sum over all ranks is known.
    pub(super) fn with_zeta(items: u64, zetan: f64) -> Self {
        let mut zipfian = Self {
            items: items as f64,
            count: items,
            zetan,
            eta: 0.0,
        };
        zipfian.renew_eta();
        zipfian
    }

    /// Takes more ranks in, in time proportional to those that are new. There are never fewer.
    pub(super) fn grow(&mut self, count: u64) {
        if count > self.count {
            self.zetan = zeta(self.count..count, self.zetan);
            self.count = count;
            self.renew_eta();
        }
    }

    /// Ranks that may be picked.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// A rank.
    pub(super) fn pick(&self, random: &mut Pcg64Mcg) -> u64 {
        let uniform = random.random::<f64>();
        let scaled = uniform * self.zetan;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(THETA) {
            return 1;
        }
        let alpha = 1.0 / (1.0 - THETA);
        (self.count as f64 * (self.eta * uniform - self.eta + 1.0).powf(alpha)) as u64
    }

    fn renew_eta(&mut self) {
        let of_two = zeta(0..2, 0.0);
        self.eta = (1.0 - (2.0 / self.items).powf(1.0 - THETA)) / (1.0 - of_two / self.zetan);
    }
}

/// Adds the weights of these ranks to a sum.
fn zeta(ranks: std::ops::Range<u64>, sum: f64) -> f64 {
    ranks.fold(sum, |sum, rank| sum + ((rank + 1) as f64).powf(THETA).recip())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const PICKS: u32 = 400_000;

    #[test]
    fn ranks_have_the_shares_of_the_law() {
        let zipfian = Zipfian::new(1000);
        let weights: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-0.99)).collect();
        let total: f64 = weights.iter().sum();
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut counts = [0_u32; 1000];
        for _ in 0..PICKS {
            counts[zipfian.pick(&mut random) as usize] += 1;
        }
        let share = |ranks: std::ops::Range<usize>| {
            let found: u32 = counts[ranks.clone()].iter().sum();
            let expected: f64 = weights[ranks].iter().sum();
            (f64::from(found) / f64::from(PICKS), expected / total)
        };
        // The first two ranks are exact; the others are Gray's continuous approximation of the sum.
        for (ranks, tolerance) in [
            (0..1, 0.002),
            (1..2, 0.002),
            (0..10, 0.02),
            (0..100, 0.02),
            (500..1000, 0.02),
        ] {
            let (found, expected) = share(ranks.clone());
            let is_near = (found - expected).abs() < tolerance;
            assert!(is_near, "{ranks:?}: {found}, expected {expected}");
        }
    }

    #[test]
    fn a_count_that_grew_has_the_sum_of_one_made_so_large() {
        let mut grown = Zipfian::new(1000);
        for count in [1000, 1001, 1500, 1200] {
            grown.grow(count);
        }
        assert_eq!(grown.count(), 1500);
        assert!((grown.zetan - Zipfian::new(1500).zetan).abs() < 1e-9);
    }

    #[test]
    fn the_smallest_counts_have_no_rank_too_many() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for items in [1, 2, 3] {
            let zipfian = Zipfian::new(items);
            for _ in 0..10_000 {
                assert!(zipfian.pick(&mut random) < items);
            }
        }
    }
}
