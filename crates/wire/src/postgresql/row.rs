//! Rows as the server sends them: a number of columns, and each value with its length before it.

use super::fields::{int2, int4};
use crate::error::WireError;
use crate::sql::TextRow;
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
    pub fn of(row: &'a [u8]) -> Result<Self, WireError> {
        match int2(row) {
            Some((left, rest)) => Ok(Self { rest, left }),
            None => Err(WireError::protocol("a row without a number of columns")),
        }
    }

    fn value(&mut self) -> Result<Option<&'a [u8]>, WireError> {
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
    type Item = Result<Option<&'a [u8]>, WireError>;

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
    mut on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
) -> impl FnMut(&[u8]) -> Result<(), WireError> {
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

/// Reads a row of a text result.
pub(super) fn text_row(row: &[u8]) -> Result<TextRow, WireError> {
    let values = Values::of(row)?.map(|value| Ok(value?.map(<[u8]>::to_vec)));
    Ok(TextRow::new(values.collect::<Result<_, WireError>>()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
