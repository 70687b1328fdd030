//! Values of rows, handed over where they were received.

use std::fmt;

use crate::error::{Result, WireError};

/// Columns that a row may have at most whose values are handed over.
pub(crate) const MOST_VALUES: usize = 64;
/// The longest text of a varying length that a parameter takes, in bytes, on every database.
pub(crate) const LONGEST_VARIABLE_TEXT: usize = 0xFFFF;

/// A value of a row, where it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer that travelled as one.
    Integer(i64),
    /// Anything else, as its text; an integer of a text result too.
    Text(&'a [u8]),
}

/// Refuses a result with more columns than [`MOST_VALUES`].
pub(crate) fn check_columns(count: usize) -> Result<()> {
    if count > MOST_VALUES {
        return Err(WireError::protocol(format!(
            "rows of {count} columns, where the values of at most {MOST_VALUES} are read"
        )));
    }
    Ok(())
}

/// Refuses a text that is too long for a parameter of varying length.
pub(crate) fn check_variable_text(length: usize) -> Result<()> {
    if length > LONGEST_VARIABLE_TEXT {
        return Err(WireError::Request(format!(
            "a text of {length} bytes where {LONGEST_VARIABLE_TEXT} fit"
        )));
    }
    Ok(())
}

/// Room for the texts of values that did not travel as text. It is kept from one row to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    /// Places for so many texts.
    pub(crate) fn places(&mut self, count: usize) -> Places<'_> {
        if self.0.len() < count * Places::LENGTH {
            self.0.resize(count * Places::LENGTH, 0);
        }
        Places(&mut self.0)
    }
}

/// Places that are left for texts.
pub(crate) struct Places<'a>(&'a mut [u8]);

impl<'a> Places<'a> {
    /// Bytes of a place. The longest texts are a date with time and microseconds (26) and a number such as
    /// `-1.2345678901234567e-308` (24).
    const LENGTH: usize = 32;

    /// The text that is written into the next place; `None` if it does not fit.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut Text<'_>) -> fmt::Result) -> Option<Value<'a>> {
        let (place, left) = std::mem::take(&mut self.0).split_at_mut_checked(Self::LENGTH)?;
        self.0 = left;
        let mut text = Text {
            place: &mut *place,
            length: 0,
        };
        write(&mut text).ok()?;
        let length = text.length;
        Some(Value::Text(&place[..length]))
    }
}

/// A text in the making.
pub(crate) struct Text<'a> {
    place: &'a mut [u8],
    length: usize,
}

impl Text<'_> {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> fmt::Result {
        let end = self.length + bytes.len();
        let place = self.place.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }

    /// A number of so many digits, with zeros before it; refused if it has more.
    pub(crate) fn digits(&mut self, mut number: u32, width: usize) -> fmt::Result {
        let end = self.length + width;
        let place = self.place.get_mut(self.length..end).ok_or(fmt::Error)?;
        for digit in place.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.length = end;
        if number == 0 { Ok(()) } else { Err(fmt::Error) }
    }

    /// The shortest text that is read back as the same number.
    pub(crate) fn number<N: fmt::Display + fmt::LowerExp>(
        &mut self,
        number: N,
        magnitude: f64,
    ) -> fmt::Result {
        use fmt::Write as _;
        if magnitude == 0.0 || (1e-5..1e15).contains(&magnitude) {
            write!(self, "{number}")
        } else {
            write!(self, "{number:e}")
        }
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl FnOnce(&mut Text<'_>) -> fmt::Result) -> Option<String> {
        let mut scratch = Scratch::default();
        match scratch.places(1).write(write)? {
            Value::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_have_as_many_digits_as_are_asked_for_and_never_more() {
        assert_eq!(written(|text| text.digits(7, 4)).unwrap(), "0007");
        assert_eq!(written(|text| text.digits(9999, 4)).unwrap(), "9999");
        assert!(written(|text| text.digits(10_000, 4)).is_none());
        assert!(written(|text| text.digits(1, 33)).is_none());
    }

    #[test]
    fn there_are_no_more_places_than_were_asked_for() {
        let mut scratch = Scratch::default();
        let mut places = scratch.places(2);
        assert_eq!(places.write(|text| text.push(b"a")), Some(Value::Text(b"a")));
        assert_eq!(places.write(|text| text.push(b"b")), Some(Value::Text(b"b")));
        assert_eq!(places.write(|text| text.push(b"c")), None);
    }

    proptest! {
        #[test]
        fn every_number_fits_and_is_read_back(number in any::<f64>(), small in any::<f32>()) {
            let text = written(|text| text.number(number, number.abs())).unwrap();
            prop_assert!(text.parse::<f64>().unwrap().total_cmp(&number).is_eq() || number.is_nan());
            let text = written(|text| text.number(small, small.abs().into())).unwrap();
            prop_assert!(text.parse::<f32>().unwrap().total_cmp(&small).is_eq() || small.is_nan());
        }
    }
}
