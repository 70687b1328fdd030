//! Which blocks are taken for something else.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Picks one number at random of every so many, from a first one on: so a drift falls on those that are picked as on the others,
/// and nothing that comes back regularly is always or never picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneIn {
    /// Numbers below it are never picked.
    pub first: u32,
    /// One of so many is picked.
    pub every: u32,
    /// What the choice depends on besides.
    pub seed: u64,
}

impl OneIn {
    /// True if a number is picked.
    ///
    /// # Panics
    /// If one of none is to be picked.
    pub fn picks(&self, number: u32) -> bool {
        let Some(since_first) = number.checked_sub(self.first) else {
            return false;
        };
        let group = u64::from(since_first / self.every);
        let mut random = Pcg64::seed_from_u64(self.seed ^ group.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        since_first % self.every == random.random_range(0..self.every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOURTH: OneIn = OneIn {
        first: 5,
        every: 4,
        seed: 7,
    };

    #[test]
    fn every_group_has_one_and_the_first_numbers_are_left_alone() {
        assert_eq!((0..5).filter(|number| FOURTH.picks(*number)).count(), 0);
        for group in 0..100 {
            let first = 5 + group * 4;
            let picked = (first..first + 4).filter(|number| FOURTH.picks(*number));
            assert_eq!(picked.count(), 1, "group {group}");
        }
    }

    #[test]
    fn every_place_in_a_group_is_equally_likely() {
        let mut places = [0; 4];
        for number in (5..8_005).filter(|number| FOURTH.picks(*number)) {
            places[((number - 5) % 4) as usize] += 1;
        }
        // 2,000 groups: 500 each, give or take 19 (one standard deviation).
        assert!(
            places.iter().all(|count| (430..570).contains(count)),
            "{places:?}"
        );
    }
}
