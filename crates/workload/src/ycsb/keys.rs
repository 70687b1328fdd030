//! Keys of records: `user` and the hash of the record's number, as YCSB makes them with hashed inserts.
//!
//! Definitions: YCSB 0.17, `site.ycsb.Utils.fnvhash64` and `CoreWorkload.buildKeyName` with `insertorder=hashed` and
//! `zeropadding=1`.

use crate::digits::Digits;

const PREFIX: &[u8; 4] = b"user";
/// Digits of the largest number of 63 bits.
const MOST_DIGITS: usize = 19;

/// The key of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The hash that its digits say.
    hash: u64,
    text: [u8; Self::LONGEST],
    length: usize,
}

impl Key {
    /// The longest key in bytes.
    pub const LONGEST: usize = PREFIX.len() + MOST_DIGITS + 1;

    /// The key of the record of this number, from 0.
    pub fn of(number: u64) -> Self {
        Self::of_hash(fnv_hash(number))
    }

    /// The key that is written so; `None` if it is none of YCSB's.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits = str::from_utf8(text.strip_prefix(PREFIX)?).ok()?;
        let key = Self::of_hash(digits.parse().ok()?);
        (key.as_bytes() == text).then_some(key)
    }

    /// The key as it is stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }

    /// The key as it is stored.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    fn of_hash(hash: u64) -> Self {
        let mut text = [0; Self::LONGEST];
        text[..PREFIX.len()].copy_from_slice(PREFIX);
        let digits = Digits::of(hash, 0);
        let length = PREFIX.len() + digits.as_bytes().len();
        text[PREFIX.len()..length].copy_from_slice(digits.as_bytes());
        Self { hash, text, length }
    }
}

/// FNV-1 as YCSB computes it (each octet is mixed in before the multiplication, the lowest first), made positive.
pub(crate) fn fnv_hash(number: u64) -> u64 {
    const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 1_099_511_628_211;
    let mix = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(PRIME);
    let hash = number.to_le_bytes().into_iter().fold(OFFSET_BASIS, mix);
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_records_have_the_keys_that_ycsb_gives_them() {
        // As YCSB's own load phase prints them.
        for (number, key) in [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
            (3, "user4052466453699787802"),
        ] {
            assert_eq!(Key::of(number).as_str(), key);
        }
    }

    #[test]
    fn what_ycsb_does_not_write_is_no_key() {
        for text in [
            "",
            "user",
            "user-1",
            "user007",
            "User1",
            "user1 ",
            "user99999999999999999999",
        ] {
            assert_eq!(Key::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_read_back_and_its_hash_is_positive(number: u64) {
            let key = Key::of(number);
            prop_assert!(key.hash() <= 1 << 63);
            prop_assert_eq!(Key::parse(key.as_bytes()), Some(key));
        }
    }
}
