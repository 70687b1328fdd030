//! What records hold, and whether what was read is that.

use std::ops::Range;

use ciphertax_engine::{Failure, Result};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::keys::Key;

/// The most bytes at the beginning of a value that say which of a field's values it is.
const LONGEST_HEAD: usize = 8;

/// A value of a field: printable text without quotes and backslashes, which every server takes as it is.
///
/// Its beginning is picked, at random for updates; the rest follows from key, field and that beginning. So any value
/// can be checked byte for byte, whoever wrote it and however often, and updates change all of it. (YCSB's
/// `dataintegrity` has one value a field, so its updates write what is there already, which servers notice and skip.)
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    /// Of key and field.
    identity: u64,
    /// What its beginning is made of.
    pick: u64,
}

impl Value {
    /// The value that a record is inserted with.
    pub(crate) fn inserted(key: &Key, field: u16) -> Self {
        let identity = identity(key, field);
        Self {
            identity,
            pick: scramble(identity),
        }
    }

    /// Another value of the field.
    pub(crate) fn another(key: &Key, field: u16, random: &mut Pcg64Mcg) -> Self {
        Self {
            identity: identity(key, field),
            pick: random.random(),
        }
    }

    /// Writes the value; its length is that of `bytes`.
    pub(crate) fn write(self, bytes: &mut [u8]) {
        let (head, body) = bytes.split_at_mut(head_length(bytes.len()));
        head.copy_from_slice(&printable(self.pick).to_le_bytes()[..head.len()]);
        let mut words = Words::after(self.identity, head);
        for chunk in body.chunks_mut(8) {
            chunk.copy_from_slice(&words.next().to_le_bytes()[..chunk.len()]);
        }
    }

    /// True if this is a value of the field.
    pub(super) fn is(key: &Key, field: u16, bytes: &[u8]) -> bool {
        let (head, body) = bytes.split_at(head_length(bytes.len()));
        let mut words = Words::after(identity(key, field), head);
        body.chunks(8)
            .all(|chunk| words.next().to_le_bytes()[..chunk.len()] == *chunk)
    }
}

/// At most half of the value, so that the rest gives a change of it away.
fn head_length(length: usize) -> usize {
    (length / 2).min(LONGEST_HEAD)
}

/// Eight characters at a time.
struct Words(u64);

impl Words {
    fn after(identity: u64, head: &[u8]) -> Self {
        let mut bytes = [0; LONGEST_HEAD];
        bytes[..head.len()].copy_from_slice(head);
        Self(identity ^ u64::from_le_bytes(bytes))
    }

    /// SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    fn next(&mut self) -> u64 {
        const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        printable(scramble(self.0))
    }
}

/// SplitMix64's finalizer.
fn scramble(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

fn identity(key: &Key, field: u16) -> u64 {
    scramble(key.hash() ^ (u64::from(field) << 48))
}

/// Five bits of each byte as one of the 32 characters from `]` to `|`.
fn printable(bits: u64) -> u64 {
    (bits & 0x1F1F_1F1F_1F1F_1F1F) + 0x5D5D_5D5D_5D5D_5D5D
}

/// True if two values of a field of this length are surely different when both were picked at random.
pub(crate) fn values_differ(field_length: usize) -> bool {
    head_length(field_length) == LONGEST_HEAD
}

/// What to say of a record that is not what was written.
pub(crate) fn changed(key: &Key, problem: impl std::fmt::Display) -> Failure {
    Failure::Error(format!(
        "record {} {problem}: was the table changed?",
        key.as_str()
    ))
}

/// The key that a record came with, which is `expected` where it is known which was asked for.
pub(crate) fn key_that_came(came: &[u8], expected: Option<&Key>) -> Result<Key> {
    let text = || String::from_utf8_lossy(came);
    match expected {
        Some(expected) if expected.as_bytes() == came => Ok(*expected),
        Some(expected) => Err(changed(
            expected,
            format_args!("was asked for, and {:?} came", text()),
        )),
        None => Key::parse(came).ok_or_else(|| {
            Failure::Error(format!(
                "{:?} is no key of YCSB's: was the table changed?",
                text()
            ))
        }),
    }
}

/// A scan whose records are looked at one after the other.
pub(crate) struct Scan<'a> {
    first: &'a Key,
    last: Option<Key>,
    has_first: bool,
    records: u32,
}

impl<'a> Scan<'a> {
    /// One that begins at this key.
    pub(crate) fn from(first: &'a Key) -> Self {
        Self {
            first,
            last: None,
            has_first: false,
            records: 0,
        }
    }

    /// Makes sure that a record came after the one before it.
    pub(crate) fn record(&mut self, key: Key) -> Result<()> {
        self.records += 1;
        self.has_first |= key == *self.first;
        match self.last.replace(key) {
            Some(before) if before.as_bytes() >= key.as_bytes() => {
                let before = before.as_str();
                Err(changed(&key, format_args!("came after {before} in a scan")))
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that no more records came than were asked for; false if the first was not there.
    pub(crate) fn end(self, count: u32) -> Result<bool> {
        match self.records {
            records if records > count => Err(changed(
                self.first,
                format_args!("begins a scan of {records} records; asked for {count}"),
            )),
            _ => Ok(self.has_first),
        }
    }
}

/// Makes sure that a record was written once.
pub(crate) fn written_once(key: &Key, how: &str, records: u64) -> Result<()> {
    match records {
        1 => Ok(()),
        records => Err(changed(
            key,
            format_args!("was {how} {records} times; expected once"),
        )),
    }
}

pub(crate) fn all_inserted(inserted: u64, records: u64) -> Result<()> {
    match inserted == records {
        true => Ok(()),
        false => Err(Failure::Error(format!(
            "{inserted} of {records} records were inserted"
        ))),
    }
}

/// The numbers, cut into as many as one request names.
pub(crate) fn pieces(numbers: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    const AT_A_TIME: usize = 1000;
    let end = numbers.end;
    numbers
        .step_by(AT_A_TIME)
        .map(move |first| first..end.min(first + AT_A_TIME as u64))
}

/// Makes sure that a record is there.
pub(crate) fn is_there(key: &Key, is_found: bool) -> Result<()> {
    match is_found {
        true => Ok(()),
        false => Err(changed(key, "is not there")),
    }
}

/// Whether a record that was asked for was there; never more than once.
pub(crate) fn at_most_one(key: &Key, records: u64) -> Result<bool> {
    match records {
        0 | 1 => Ok(records == 1),
        more => Err(changed(key, format_args!("is there {more} times"))),
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::YcsbTable;
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;
    use crate::ycsb::Table;
    use crate::ycsb::fields::Fields;

    proptest! {
        #[test]
        fn every_value_is_known_for_what_it_is_and_any_changed_byte_is_noticed(
            number: u64, field in 0_u16..100, length in 16_usize..300, place: prop::sample::Index, bits in 1_u8..=255, seed: u64,
        ) {
            let key = Key::of(number);
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            for value in [Value::inserted(&key, field), Value::another(&key, field, &mut random)] {
                let mut bytes = vec![0; length];
                value.write(&mut bytes);
                prop_assert!(bytes.iter().all(|byte| (b']'..=b'|').contains(byte)));
                prop_assert!(Value::is(&key, field, &bytes));
                prop_assert!(!Value::is(&Key::of(number ^ 1), field, &bytes));
                prop_assert!(!Value::is(&key, field + 1, &bytes));
                bytes[place.index(length)] ^= bits;
                prop_assert!(!Value::is(&key, field, &bytes));
            }
        }

        #[test]
        fn values_of_any_length_are_known_again(number: u64, length in 1_usize..40) {
            let key = Key::of(number);
            let mut bytes = vec![0; length];
            Value::inserted(&key, 3).write(&mut bytes);
            prop_assert!(Value::is(&key, 3, &bytes));
        }
    }

    #[test]
    fn updates_write_other_bytes_of_the_same_length_and_inserts_always_the_same() {
        let key = Key::of(7);
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut written = [[0; 100]; 4];
        Value::inserted(&key, 0).write(&mut written[0]);
        Value::inserted(&key, 0).write(&mut written[1]);
        Value::another(&key, 0, &mut random).write(&mut written[2]);
        Value::another(&key, 0, &mut random).write(&mut written[3]);
        assert_eq!(written[0], written[1]);
        assert!(written[0] != written[2] && written[2] != written[3]);
        let equal = written[2]
            .iter()
            .zip(&written[3])
            .filter(|(one, other)| one == other)
            .count();
        assert!(equal < 20, "{equal} of 100 bytes stayed");
    }

    #[test]
    fn a_record_that_is_not_what_was_written_is_named() {
        let shape = YcsbTable {
            field_count: 2,
            field_length: 20,
            verify: true,
            ..YcsbTable::default()
        };
        let key = Key::of(0);
        let mut value = [0; 20];
        Value::inserted(&key, 0).write(&mut value);
        let said = |failure: Failure| {
            let message = failure.message().to_owned();
            let beginning = "record user6284781860667377211 ";
            assert!(message.starts_with(beginning), "{message}");
            assert!(message.ends_with("was the table changed?"), "{message}");
            message
        };
        let mut fields = Fields::plain(&shape, Table::Usertable);
        let mut check = fields.check(key);
        check.field(&value).unwrap();
        assert!(said(check.field(&value).unwrap_err()).contains("other bytes in field1"));
        assert!(said(check.field(&value[1..]).unwrap_err()).contains("19 bytes in field1"));
        assert!(said(check.end().unwrap_err()).contains("has 1 fields"));

        let unverified = YcsbTable {
            verify: false,
            ..shape
        };
        let mut fields = Fields::plain(&unverified, Table::Usertable);
        let mut check = fields.check(key);
        for _ in 0..2 {
            check.field(&[b'x'; 20]).unwrap();
        }
        assert!(said(check.field(&value).unwrap_err()).contains("more than 2 fields"));
        check.end().unwrap();
    }
}
