//! Non-uniform random numbers, and the last names that are made of them (revision 5.11, clauses 2.1.6 and 4.3.2.3).

use std::ops::RangeInclusive;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::config;
use crate::dataset::DatasetError;
use crate::sql::SqlSession;

/// The `A` of customers' last names.
pub(super) const A_C_LAST: u32 = 255;
/// The `A` of customers' numbers.
pub(super) const A_C_ID: u32 = 1023;
/// The `A` of the items that are ordered.
pub(super) const A_OL_I_ID: u32 = 8191;

/// How far the constant of last names in a run lies from that of the load (clause 2.1.6.1).
const C_LAST_DELTAS: RangeInclusive<u32> = 65..=119;
/// But not as far as this.
const NO_C_LAST_DELTAS: [u32; 2] = [96, 112];

/// The longest last name: three times five letters.
pub const LAST_NAME_LENGTH: usize = 15;

const SYLLABLES: [&[u8]; 10] = [
    b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING",
];

/// `NURand(A, x, y)`: a number of `x..=y`, some much more often than others.
pub fn nurand(random: &mut Pcg64Mcg, a: u32, range: RangeInclusive<u32>, c: u32) -> u32 {
    let (x, y) = range.into_inner();
    ((random.random_range(0..=a) | random.random_range(x..=y)) + c) % (y - x + 1) + x
}

/// A last name: the syllables of a number's three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastName {
    text: [u8; LAST_NAME_LENGTH],
    length: u8,
}

impl LastName {
    /// Its bytes, all of them letters of ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.length)]
    }
}

/// The last name of a number below 1000; of a larger one, that of its last three digits.
pub fn last_name(number: u32) -> LastName {
    let mut text = [0; LAST_NAME_LENGTH];
    let mut length = 0;
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize];
        text[length..length + syllable.len()].copy_from_slice(syllable);
        length += syllable.len();
    }
    LastName {
        text,
        length: length as u8,
    }
}

/// The constants `C` of a run's non-uniform numbers. All terminals of a run have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// That of customers' last names, `C-Run`.
    pub c_last: u32,
    /// That of customers' numbers.
    pub c_id: u32,
    /// That of the items that are ordered.
    pub ol_i_id: u32,
}

impl Constants {
    /// Draws those of a run over tables whose last names were drawn with `c_load`.
    pub fn of_run(c_load: u32, random: &mut Pcg64Mcg) -> Self {
        let c_last = loop {
            let c_run = random.random_range(0..=A_C_LAST);
            let delta = c_run.abs_diff(c_load);
            if C_LAST_DELTAS.contains(&delta) && !NO_C_LAST_DELTAS.contains(&delta) {
                break c_run;
            }
        };
        Self {
            c_last,
            c_id: random.random_range(0..=A_C_ID),
            ol_i_id: random.random_range(0..=A_OL_I_ID),
        }
    }

    /// Draws those of a run over the tables that are there.
    ///
    /// # Errors
    /// When there are none, or the server refuses.
    pub async fn read(session: &mut impl SqlSession, random: &mut Pcg64Mcg) -> Result<Self, DatasetError> {
        let config = config::read(session).await?;
        Ok(Self::of_run(config.c_load, random))
    }

    /// A customer's last name, as transactions ask for it.
    pub fn last_name(&self, random: &mut Pcg64Mcg) -> LastName {
        last_name(nurand(random, A_C_LAST, 0..=999, self.c_last))
    }

    /// A customer's number in a district.
    pub fn customer(&self, random: &mut Pcg64Mcg) -> u32 {
        nurand(random, A_C_ID, 1..=3000, self.c_id)
    }

    /// The number of an item that is ordered.
    pub fn item(&self, random: &mut Pcg64Mcg) -> u32 {
        nurand(random, A_OL_I_ID, 1..=100_000, self.ol_i_id)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn last_names_are_those_of_the_specification() {
        // Clause 4.3.2.3: 371 is PRI CALLY OUGHT, 40 is BAR PRES BAR.
        assert_eq!(last_name(371).as_bytes(), b"PRICALLYOUGHT");
        assert_eq!(last_name(40).as_bytes(), b"BARPRESBAR");
        assert_eq!(last_name(999).as_bytes(), b"EINGEINGEING");
        assert_eq!(last_name(777).as_bytes().len(), LAST_NAME_LENGTH);
    }

    #[test]
    fn constants_of_a_run_keep_their_distance_from_that_of_the_load() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for c_load in 0..=A_C_LAST {
            for _ in 0..200 {
                let delta = Constants::of_run(c_load, &mut random).c_last.abs_diff(c_load);
                assert!(matches!(delta, 65..=95 | 97..=111 | 113..=119), "{delta}");
            }
        }
    }

    /// The share of each number is known from counting all pairs that the definition draws from.
    #[test]
    fn numbers_are_as_often_as_the_definition_makes_them() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let c = 123;
        let mut expected = [0.0; 1000];
        for low in 0..=A_C_LAST {
            for high in 0..=999 {
                expected[(((low | high) + c) % 1000) as usize] += 1.0 / 256_000.0;
            }
        }
        const DRAWS: u32 = 1_000_000;
        let mut counts = [0.0; 1000];
        for _ in 0..DRAWS {
            counts[nurand(&mut random, A_C_LAST, 0..=999, c) as usize] += 1.0;
        }
        let chi_square: f64 = (0..1000)
            .filter(|number| expected[*number] > 0.0)
            .map(|number| {
                let expected = expected[number] * f64::from(DRAWS);
                (counts[number] - expected).powi(2) / expected
            })
            .sum();
        // 999 degrees of freedom: five standard deviations above their mean.
        assert!(chi_square < 1223.0, "{chi_square}");
        for (number, expected) in expected.iter().enumerate() {
            assert!(*expected > 0.0 || counts[number] == 0.0, "{number}");
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let constants = Constants {
            c_last: 255,
            c_id: 1023,
            ol_i_id: 8191,
        };
        for _ in 0..100_000 {
            assert!((1..=3000).contains(&constants.customer(&mut random)));
            assert!((1..=100_000).contains(&constants.item(&mut random)));
        }
    }
}
