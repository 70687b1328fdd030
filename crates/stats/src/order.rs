//! The order of arms in blocks, and which blocks are looked into.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Yields for each block the order in which its arms run, as positions in the list of arms, without end.
///
/// Blocks come in squares of as many blocks as there are arms, counted from the first block:
/// - in a square every arm takes every position once, so that a drift falls on all arms alike;
/// - every arm follows every other arm equally often: once in a square if the number of arms is even, twice
///   in two squares if it is odd (Williams 1949), so that what an arm leaves behind (warm caches, dirty
///   pages) falls on all alike;
/// - from three arms on, no arm follows itself across the edge of two blocks.
///
/// Within these bounds the order is random and depends on the seed alone. Names of arms are permuted
/// uniformly, so for each pair of arms either order of the two is equally likely whatever the noise does: the
/// mean difference is unbiased by randomisation, not by assumption.
#[derive(Debug, Clone)]
pub struct BalancedOrder {
    arms: usize,
    random: Pcg64,
    /// Blocks drawn but not yet yielded, the next one last.
    upcoming: Vec<Vec<usize>>,
    last_arm: Option<usize>,
}

impl BalancedOrder {
    /// The order for so many arms.
    ///
    /// # Panics
    /// If there is no arm.
    pub fn new(arms: usize, seed: u64) -> Self {
        assert!(arms > 0, "a block needs at least one arm");
        Self {
            arms,
            random: Pcg64::seed_from_u64(seed),
            upcoming: Vec::new(),
            last_arm: None,
        }
    }

    fn draw(&mut self) {
        let mut names: Vec<usize> = (0..self.arms).collect();
        names.shuffle(&mut self.random);
        let square = cyclic_square(&names);
        let mut blocks = self.shuffled(square.clone());
        if self.arms % 2 == 1 {
            let mirrored = square
                .into_iter()
                .map(|block| block.into_iter().rev().collect())
                .collect();
            blocks.extend(self.shuffled(mirrored));
        }
        blocks.reverse();
        self.upcoming = blocks;
    }

    /// Shuffles the rows of a square until no arm follows itself; about one shuffle in three does.
    fn shuffled(&mut self, mut square: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        loop {
            square.shuffle(&mut self.random);
            if self.arms < 3 || !self.repeats_an_arm(&square) {
                self.last_arm = square.last().and_then(|block| block.last()).copied();
                return square;
            }
        }
    }

    fn repeats_an_arm(&self, square: &[Vec<usize>]) -> bool {
        let ends = std::iter::once(self.last_arm).chain(square.iter().map(|block| block.last().copied()));
        ends.zip(square).any(|(end, next)| end == next.first().copied())
    }
}

impl Iterator for BalancedOrder {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        if self.upcoming.is_empty() {
            self.draw();
        }
        self.upcoming.pop()
    }
}

/// Williams' construction: the zigzag 0, n−1, 1, n−2, … and its cyclic shifts. All differences between
/// neighbours of the zigzag are distinct modulo an even n; for an odd n they are so together with the
/// mirrored square.
fn cyclic_square(names: &[usize]) -> Vec<Vec<usize>> {
    let n = names.len();
    let zigzag = |position: usize| {
        if position.is_multiple_of(2) {
            position / 2
        } else {
            n - 1 - position / 2
        }
    };
    (0..n)
        .map(|shift| {
            (0..n)
                .map(|position| names[(zigzag(position) + shift) % n])
                .collect()
        })
        .collect()
}

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
        let are_even = places.iter().all(|count| (430..570).contains(count));
        assert!(are_even, "{places:?}");
    }
}
