//! What one of several processes does of a load that they share.

/// One process's part of a load: an even share of its connections, in their order, and every so many operations of its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    index: u32,
    of: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Part number `index` of `of`, from 0; `None` if there is none of that number.
    pub fn new(index: u32, of: u32) -> Option<Self> {
        (index < of).then_some(Self { index, of })
    }

    /// Its number, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Those of many things that are its own where parts take turns.
    pub fn own<T>(self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.skip(self.index as usize).step_by(self.of as usize)
    }

    /// A seed of its own; of the whole, and of the first part, the one that is given.
    pub(crate) fn seed(self, seed: u64) -> u64 {
        seed ^ (u64::from(self.index) << 48)
    }

    /// How many of so many things are its own.
    pub fn share_of(self, all: u32) -> u32 {
        all / self.of + u32::from(self.index < all % self.of)
    }

    /// How many of them belong to the parts before it.
    pub(crate) fn before(self, all: u32) -> u32 {
        all / self.of * self.index + self.index.min(all % self.of)
    }

    /// The number among all things of its own number so and so, where parts take turns.
    pub(crate) fn in_turn(self, own: u64) -> Option<u64> {
        own.checked_mul(self.of.into())?.checked_add(self.index.into())
    }

    /// How many of so many things are its own where parts take turns.
    pub(crate) fn turns_in(self, all: u64) -> u64 {
        all.saturating_sub(self.index.into()).div_ceil(self.of.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |index| Part::new(index, of).unwrap())
    }

    #[test]
    fn parts_are_the_whole_with_nothing_twice() {
        for of in 1..9 {
            for all in 0..30 {
                let mut next = 0;
                for part in parts(of) {
                    assert_eq!(part.before(all), next);
                    next += part.share_of(all);
                }
                assert_eq!(next, all);
                let turns = parts(of).flat_map(|part| {
                    (0..part.turns_in(all.into())).map(move |own| part.in_turn(own).unwrap())
                });
                let mut turns: Vec<u64> = turns.collect();
                turns.sort_unstable();
                assert_eq!(turns, (0..all.into()).collect::<Vec<u64>>());
            }
        }
        assert_eq!(Part::new(3, 3), None);
    }
}
