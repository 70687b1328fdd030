//! Random strings and numbers of the specification (revision 5.11, clause 4.3.2), non-uniform ones, and the last names that are made
//! of these (clauses 2.1.6 and 4.3.2.3).

use std::ops::RangeInclusive;

use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

/// The `A` of customers' last names.
pub(super) const A_C_LAST: u32 = 255;
/// The `A` of customers' numbers.
pub(super) const A_C_ID: u32 = 1023;
/// The `A` of the items that are ordered.
pub(super) const A_OL_I_ID: u32 = 8191;

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

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const PAIRS: usize = LETTERS.len() * LETTERS.len();
/// All pairs of letters and digits, so that one step makes two.
const PAIR: [[u8; 2]; PAIRS] = {
    let mut pairs = [[0; 2]; PAIRS];
    let mut index = 0;
    while index < PAIRS {
        pairs[index] = [LETTERS[index / LETTERS.len()], LETTERS[index % LETTERS.len()]];
        index += 1;
    }
    pairs
};
/// Letters that are made of one random number of 64 bits: with as many, each is as likely as any other to one part in 80,000.
const AT_A_TIME: usize = 8;

/// Appends a random a-string: letters and digits, as many as the range allows.
pub(super) fn push_letters(out: &mut Vec<u8>, random: &mut Pcg64Mcg, length: RangeInclusive<u32>) {
    let length = match length.start() == length.end() {
        true => *length.start(),
        false => random.random_range(length),
    } as usize;
    let end = out.len() + length;
    out.reserve(length + AT_A_TIME);
    while out.len() < end {
        let mut rest = random.next_u64();
        let mut letters = [0; AT_A_TIME];
        for pair in letters.chunks_exact_mut(2) {
            let product = u128::from(rest) * PAIRS as u128;
            pair.copy_from_slice(&PAIR[(product >> 64) as usize]);
            rest = product as u64;
        }
        out.extend_from_slice(&letters);
    }
    out.truncate(end);
}

/// Appends two random letters.
pub(super) fn push_state(out: &mut Vec<u8>, random: &mut Pcg64Mcg) {
    out.extend([0; 2].map(|_: u8| random.random_range(b'A'..=b'Z')));
}

/// Appends a random n-string: digits.
pub(super) fn push_digits(out: &mut Vec<u8>, random: &mut Pcg64Mcg, length: usize) {
    out.extend((0..length).map(|_| random.random_range(b'0'..=b'9')));
}

/// Appends a random postal code: four digits and 11111 (clause 4.3.2.7).
pub(super) fn push_zip(out: &mut Vec<u8>, random: &mut Pcg64Mcg) {
    push_digits(out, random, 4);
    out.extend_from_slice(b"11111");
}

/// Appends the data of an item or of one in stock: an a-string, in some rows with ORIGINAL at a random place in it.
pub(super) fn push_data(out: &mut Vec<u8>, random: &mut Pcg64Mcg, is_original: bool) {
    const ORIGINAL: &[u8] = b"ORIGINAL";
    let start = out.len();
    push_letters(out, random, 26..=50);
    if is_original {
        let at = random.random_range(start..=out.len() - ORIGINAL.len());
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Picks exactly so many of so many rows, all of them as likely (Knuth, Algorithm S).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    wanted: u32,
    left: u32,
}

impl Sample {
    pub(super) fn tenth_of(rows: u32) -> Self {
        Self {
            wanted: rows / 10,
            left: rows,
        }
    }

    /// True if the next row is one of them.
    pub(super) fn next(&mut self, random: &mut Pcg64Mcg) -> bool {
        let is_one = random.random_range(0..self.left) < self.wanted;
        self.left -= 1;
        self.wanted -= u32::from(is_one);
        is_one
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

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn letters_are_all_as_likely_and_of_all_lengths() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut counts = [0_u32; 256];
        let mut lengths = [0_u32; 6];
        const STRINGS: u32 = 100_000;
        for _ in 0..STRINGS {
            let text = text(|out| push_letters(out, &mut random, 10..=15));
            lengths[text.len() - 10] += 1;
            text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
        }
        let expected = f64::from(counts.iter().sum::<u32>()) / 62.0;
        for (byte, count) in counts.into_iter().enumerate() {
            let is_letter = (byte as u8).is_ascii_alphanumeric();
            let least = if is_letter { expected * 0.96 } else { 0.0 };
            let most = if is_letter { expected * 1.04 } else { 0.0 };
            assert!((least..=most).contains(&f64::from(count)), "{byte}: {count}");
        }
        let expected = STRINGS / 6;
        assert!(
            lengths
                .iter()
                .all(|count| count.abs_diff(expected) < expected / 20),
            "{lengths:?}"
        );
    }

    #[test]
    fn a_sample_is_an_exact_tenth_from_everywhere() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut counts = [0_u32; 100];
        for _ in 0..10_000 {
            let mut sample = Sample::tenth_of(100);
            let picked: Vec<bool> = (0..100).map(|_| sample.next(&mut random)).collect();
            assert_eq!(picked.iter().filter(|picked| **picked).count(), 10);
            (0..100).for_each(|row| counts[row] += u32::from(picked[row]));
        }
        let are_even = counts.iter().all(|count| (850..1150).contains(count));
        assert!(are_even, "{counts:?}");
    }

    #[test]
    fn original_stands_whole_in_data_at_any_place() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut is_first = false;
        let mut is_last = false;
        for _ in 0..10_000 {
            let data = text(|out| push_data(out, &mut random, true));
            let is_marked = (26..=50).contains(&data.len()) && data.contains("ORIGINAL");
            assert!(is_marked, "{data}");
            is_first |= data.starts_with("ORIGINAL");
            is_last |= data.ends_with("ORIGINAL");
        }
        assert!(is_first && is_last);
    }
}
