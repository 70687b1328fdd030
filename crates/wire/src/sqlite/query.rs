//! Text statements in a buffer, and rows of text.

use std::str;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::error::refused;
use crate::error::WireError;
use crate::value::{MOST_VALUES, Scratch, Value, check_columns};

/// A text statement in a buffer, to be run again and again.
pub struct Query {
    text: Vec<u8>,
}

impl Query {
    /// A statement of this text.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.as_bytes().to_vec(),
        }
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// True for a statement without text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Cuts the text off after so many bytes.
    pub fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    /// Appends so many blanks, to be written over.
    pub fn push_blank(&mut self, length: usize) -> &mut [u8] {
        let first = self.text.len();
        self.text.resize(first + length, b' ');
        &mut self.text[first..]
    }

    pub(super) fn text(&self) -> Result<&str, WireError> {
        str::from_utf8(&self.text).map_err(|error| WireError::Request(error.to_string()))
    }
}

/// A row of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow(Vec<String>);

impl TextRow {
    pub(super) fn of(row: &Row<'_>, columns: usize) -> Result<Self, WireError> {
        let values = (0..columns).map(|column| Ok(text_of(row.get_ref(column).map_err(refused)?)));
        values.collect::<Result<_, WireError>>().map(Self)
    }

    /// The value of a column, empty for NULL or where there is no such column.
    pub fn text(&self, column: usize) -> String {
        self.0.get(column).cloned().unwrap_or_default()
    }
}

fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The values of a row that was handed over, NULL and numbers as empty ones: each is its length and its bytes.
pub struct Texts<'a>(&'a [u8]);

/// Bytes of a length.
const LENGTH: usize = size_of::<u32>();

impl<'a> Texts<'a> {
    /// Those of this row.
    pub fn of(row: &'a [u8]) -> Self {
        Self(row)
    }
}

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
