//! Rows of YCSB's table: how they are written, and whether what was read is right.

use std::ops::Range;

use ciphertax_engine::{Failure, Result};
use ciphertax_wire::WireError;

use super::columns::Columns;
use super::rows::Rows;
use super::session::SqlSession;
use crate::driver::failure;
use crate::ycsb::Key;
use crate::ycsb::fields::{Fields, FieldsCheck};
use crate::ycsb::records::{Value, key_that_came};

/// A statement ends with the record that makes it this long, in bytes: every server's packets hold it.
const LONG_STATEMENT: usize = 1 << 20;

/// The columns of a record as they were written.
pub(super) fn record(field_count: u16, encrypted: Option<Columns>) -> String {
    let Some(encrypted) = encrypted else {
        return "*".to_owned();
    };
    let fields = (0..field_count).map(|field| field_text(field, Some(encrypted)));
    let columns: Vec<String> = std::iter::once("YCSB_KEY".to_owned()).chain(fields).collect();
    columns.join(", ")
}

/// A field as it was written.
pub(super) fn field_text(field: u16, encrypted: Option<Columns>) -> String {
    let column = format!("FIELD{field}");
    encrypted.map_or(column.clone(), |encrypted| encrypted.decrypted(&column))
}

/// What stands around a value of a field.
pub(super) fn around_value(encrypted: Option<Columns>) -> [&'static str; 2] {
    encrypted.map_or(["", ""], |encrypted| encrypted.around_value())
}

/// Writes records until they are many, and returns the number of the first that is left; `around` stands around each field.
pub(super) fn push_records<S: SqlSession>(
    mut rows: Rows<'_>,
    fields: &mut Fields,
    around: [&str; 2],
    numbers: Range<u64>,
) -> Result<u64> {
    // Quotes are those of the rows.
    let [before_bytes, after_bytes] = S::DIALECT.around_bytes.map(|side| side.trim_matches('\''));
    for number in numbers.clone() {
        let key = Key::of(number);
        rows.begin_row();
        rows.text(key.as_bytes().len(), |text| text.copy_from_slice(key.as_bytes()));
        for field in 0..fields.shape.field_count {
            let value = Value::inserted(&key, field);
            let length = fields.length(field);
            let mut made = Ok(());
            match fields.are_bytes(field) {
                true => rows.text_in([before_bytes, after_bytes], 2 * length, |digits| {
                    made = fields.write_digits(field, value, digits);
                }),
                false => rows.text_in(around, length, |text| made = fields.write(field, value, text)),
            }
            made?;
        }
        rows.end_row();
        if rows.buffer.length() >= LONG_STATEMENT {
            return Ok(number + 1);
        }
    }
    Ok(numbers.end)
}

/// Checks a row, of the record `expected` if that is known, and returns its key.
pub(super) fn check_row<S: SqlSession>(
    fields: &mut Fields,
    row: &[u8],
    expected: Option<&Key>,
    check: impl for<'a> Fn(&'a mut Fields, Key) -> FieldsCheck<'a>,
) -> Result<Key> {
    let columns = 1 + usize::from(fields.shape.field_count);
    let mut texts = S::texts(row, columns).map_err(failure)?;
    let text = texts.next().transpose().map_err(failure)?.unwrap_or_default();
    let key = key_that_came(text, expected)?;
    let mut check = check(fields, key);
    for value in texts {
        check.field(value.map_err(failure)?)?;
    }
    check.end()?;
    Ok(key)
}

/// Keeps the first thing that is wrong; the rows after it are still read.
pub(super) fn note(right: &mut Result<()>, checked: Result<impl Sized>) -> Result<(), WireError> {
    if right.is_ok() {
        *right = checked.map(|_| ());
    }
    Ok(())
}

/// A number that the server gave as text.
pub(super) fn number(text: Option<String>) -> Result<u64> {
    let text = text.unwrap_or_default();
    text.parse()
        .map_err(|_| Failure::Error(format!("{text:?} came where a number was asked for")))
}
