//! Rows as the server sends them (a number of columns, and each value with its length before it), what messages are
//! made of, and text statements.

use super::messages::write_length;
use crate::error::{Result, WireError};
use crate::sql::{Query, TextRow};
use crate::value::{MOST_VALUES, Value, check_columns};

/// The values of a row, where they were received.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    rest: &'a [u8],
    left: u16,
}

impl<'a> Values<'a> {
    /// Reads a row.
    ///
    /// # Errors
    /// When it does not say how many columns it has.
    pub fn of(row: &'a [u8]) -> Result<Self> {
        match int2(row) {
            Some((left, rest)) => Ok(Self { rest, left }),
            None => Err(WireError::protocol("a row without a number of columns")),
        }
    }

    fn value(&mut self) -> Result<Option<&'a [u8]>> {
        let broken = || WireError::protocol("a row that ends in the middle of a value");
        let (length, rest) = int4(self.rest).ok_or_else(broken)?;
        if length == -1 {
            self.rest = rest;
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| broken())?;
        let (value, rest) = rest.split_at_checked(length).ok_or_else(broken)?;
        self.rest = rest;
        Ok(Some(value))
    }
}

/// Each value as it was sent, `None` for NULL. After one that cannot be read there are no more.
impl<'a> Iterator for Values<'a> {
    type Item = Result<Option<&'a [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = self.value();
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }
}

/// Hands over the values of each row, all of which are texts.
pub(super) fn on_values(
    mut on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
) -> impl FnMut(&[u8]) -> Result<()> {
    move |row| {
        let read = Values::of(row)?;
        let columns = usize::from(read.left);
        check_columns(columns)?;
        let mut values = [Value::Null; MOST_VALUES];
        for (place, value) in values.iter_mut().zip(read) {
            if let Some(text) = value? {
                *place = Value::Text(text);
            }
        }
        on_row(&values[..columns])
    }
}

pub(super) fn text_row(row: &[u8]) -> Result<TextRow> {
    let values = Values::of(row)?.map(|value| Ok(value?.map(<[u8]>::to_vec)));
    Ok(TextRow::new(values.collect::<Result<_>>()?))
}

/// A text that ends with a zero, and what follows it.
pub(super) fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Two bytes as a number, and what follows them.
pub(super) fn int2(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), rest))
}

/// Four bytes as a number, and what follows them.
pub(super) fn int4(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((i32::from_be_bytes(*number), rest))
}

const QUERY: u8 = b'Q';

/// The bytes that run a text statement.
pub(super) fn request(query: &mut Query) -> Result<&[u8]> {
    let message = query.ended();
    message[0] = QUERY;
    write_length(message, 0)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_the_row_parsers_panic(row in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = text_row(&row);
            if let Ok(values) = Values::of(&row) {
                values.for_each(drop);
            }
        }

        #[test]
        fn rows_are_read_back(values in prop::collection::vec(prop::option::of("[a-z]{0,300}"), 0..20)) {
            let mut row = (values.len() as u16).to_be_bytes().to_vec();
            for value in &values {
                let length = value.as_ref().map_or(-1, |value| value.len() as i32);
                row.extend(length.to_be_bytes());
                row.extend(value.as_deref().unwrap_or_default().as_bytes());
            }
            let read = text_row(&row).unwrap();
            for (column, value) in values.iter().enumerate() {
                prop_assert_eq!(read.text(column), value.clone().unwrap_or_default());
                prop_assert_eq!(read.is_null(column), value.is_none());
            }
            if row.len() > 2 {
                prop_assert!(text_row(&row[..row.len() - 1]).is_err());
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_read_of_bytes_is_never_more_than_there_is(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some((text, rest)) = text(&bytes) {
                prop_assert_eq!([text, &[0], rest].concat(), &bytes[..]);
            }
            if let Some((number, rest)) = int2(&bytes) {
                prop_assert_eq!([&number.to_be_bytes()[..], rest].concat(), &bytes[..]);
            }
            if let Some((number, rest)) = int4(&bytes) {
                prop_assert_eq!([&number.to_be_bytes()[..], rest].concat(), &bytes[..]);
            }
        }
    }

    #[test]
    fn a_query_is_written_over_its_own_beginning() {
        let mut query = Query::new("SELECT ");
        query.push(b"12345");
        assert_eq!(request(&mut query).unwrap(), b"Q\0\0\0\x11SELECT 12345\0");
        query.truncate("SELECT ".len());
        query.push_blank(1).copy_from_slice(b"7");
        for _ in 0..2 {
            assert_eq!(request(&mut query).unwrap(), b"Q\0\0\0\x0DSELECT 7\0");
            assert_eq!(query.length(), 8);
        }
    }

    #[test]
    fn a_query_that_no_message_can_hold_is_refused() {
        let mut query = Query::new("");
        query.push_blank(16 << 20);
        assert!(matches!(request(&mut query), Err(WireError::Request(_))));
    }
}
