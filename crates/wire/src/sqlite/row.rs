//! Rows, handed over or kept.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::error::refused;
use crate::error::WireError;
use crate::sql::TextRow;
use crate::value::{MOST_VALUES, Scratch, Value, check_columns};

/// Keeps a row as text.
pub(super) fn text_row(row: &Row<'_>, columns: usize) -> Result<TextRow, WireError> {
    let values = (0..columns).map(|column| Ok(text_of(row.get_ref(column).map_err(refused)?)));
    values.collect::<Result<_, WireError>>().map(TextRow::new)
}

fn text_of(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string().into_bytes()),
        ValueRef::Real(value) => Some(value.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// The values of a row that was handed over, NULL and numbers as empty ones: each is its length and its bytes.
pub(super) struct Texts<'a>(pub(super) &'a [u8]);

/// Bytes of a length.
const LENGTH: usize = size_of::<u32>();

impl<'a> Iterator for Texts<'a> {
    type Item = Result<&'a [u8], WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk::<LENGTH>()?;
        let Some((text, rest)) = rest.split_at_checked(u32::from_ne_bytes(*length) as usize) else {
            self.0 = &[];
            return Some(Err(WireError::protocol("a row that ends within a value")));
        };
        self.0 = rest;
        Some(Ok(text))
    }
}

/// Writes a row in the place of what is in the buffer.
pub(super) fn write_row(row: &Row<'_>, columns: usize, buffer: &mut Vec<u8>) -> Result<(), WireError> {
    buffer.clear();
    for column in 0..columns {
        let text = match row.get_ref(column).map_err(refused)? {
            ValueRef::Text(text) | ValueRef::Blob(text) => text,
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => &[],
        };
        // SQLite's longest value is shorter than 4 GiB.
        buffer.extend_from_slice(&(text.len() as u32).to_ne_bytes());
        buffer.extend_from_slice(text);
    }
    Ok(())
}

/// Hands over the values of a row.
pub(super) fn read_values(
    row: &Row<'_>,
    columns: usize,
    scratch: &mut Scratch,
    on_row: &mut impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
) -> Result<(), WireError> {
    check_columns(columns)?;
    let mut places = scratch.places(columns);
    let mut values = [Value::Null; MOST_VALUES];
    for (column, value) in values[..columns].iter_mut().enumerate() {
        *value = match row.get_ref(column).map_err(refused)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Real(real) => places
                .write(|text| text.number(real, real.abs()))
                .ok_or_else(|| WireError::protocol("a number that is too long"))?,
            ValueRef::Text(text) | ValueRef::Blob(text) => Value::Text(text),
        };
    }
    on_row(&values[..columns])
}
