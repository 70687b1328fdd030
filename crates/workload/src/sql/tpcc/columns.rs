//! Cells of named columns: decrypted where results have them, encrypted where statements store them.

use ciphertax_columns::encdb::Derivation;
use ciphertax_columns::{CellCipher, CellKind};
use ciphertax_engine::{Failure, Result};
use ciphertax_model::{CellEncoding, ColumnEncryption, ColumnFeature, Decrypt};

use super::statements::Column;
use super::values::parse_decimal;
use crate::digits::hexadecimal;
use crate::driver::ArmColumns;
use crate::sql::session::{SqlSession, Value};

/// The most columns of a result.
pub(super) const MOST_COLUMNS: usize = 16;
/// All columns of a result, as bits.
pub(super) const ALL: u32 = u32::MAX;

/// Type codes of MySQL's protocol.
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const LONGLONG: u8 = 8;
const VAR_STRING: u8 = 253;

/// What an arm's client encrypts and decrypts; nothing for most.
#[derive(Default)]
pub(super) struct Cells {
    policy: Option<Policy>,
    /// The plaintexts of a row.
    plaintexts: Vec<u8>,
    /// The cell that is being made.
    cell: Vec<u8>,
    /// Its digits, where it travels so.
    digits: Vec<u8>,
    /// How many cells passed that are named and not NULL.
    named: u64,
}

struct Policy {
    encryption: ColumnEncryption,
    cipher: CellCipher,
    /// True if cells of results have values as rows of prepared statements have them.
    is_binary: bool,
    /// True if cells travel as the digits of their bytes, with something before them.
    are_digits: bool,
}

/// What stands before the digits of bytes, where they travel so.
const DIGITS_FOLLOW: &str = r"\x";

impl Cells {
    /// Those of an arm whose statements are prepared or not, with data keys that are derived so.
    pub(super) fn open<S: SqlSession>(
        arm: &ArmColumns,
        derivation: Derivation,
        is_prepared: bool,
    ) -> Result<Self> {
        let Some((encryption, key)) = &arm.encryption else {
            return Ok(Self::default());
        };
        let cipher = CellCipher::with_derivation(encryption, key, derivation)
            .map_err(|error| Failure::Error(error.to_string()))?;
        Ok(Self {
            policy: Some(Policy {
                cipher,
                is_binary: is_prepared && encryption.feature == ColumnFeature::InResults,
                are_digits: S::DIALECT.around_bytes[0].ends_with(DIGITS_FOLLOW)
                    && encryption.encoding == CellEncoding::Binary,
                encryption: encryption.clone(),
            }),
            ..Self::default()
        })
    }

    /// True if results have cells in this column.
    pub(super) fn are_in_results(&self, column: Column) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.names(column))
    }

    /// True if the client stores cells in this column.
    pub(super) fn are_stored(&self, column: Column) -> bool {
        let stored = |policy: &Policy| policy.encryption.feature == ColumnFeature::Stored;
        self.policy
            .as_ref()
            .is_some_and(|policy| stored(policy) && policy.names(column))
    }

    /// True if cells travel as text.
    pub(super) fn are_text(&self) -> bool {
        self.policy
            .as_ref()
            .is_none_or(|policy| policy.are_digits || policy.encryption.encoding == CellEncoding::Base64)
    }

    /// Cells so far, in the order of [`CELLS`](ciphertax_model::workload::CELLS): those that are named are not NULL, read or not.
    pub(super) fn counts(&self) -> [u64; 3] {
        let counts = self.policy.as_ref().map(|policy| policy.cipher.counts());
        let counts = counts.unwrap_or_default();
        [counts.encrypted, counts.decrypted, self.named]
    }

    /// The cell of a value's text.
    pub(super) fn encrypt(&mut self, column: Column, plaintext: &[u8]) -> Result<&[u8]> {
        let Self { cell, digits, .. } = self;
        self.named += 1;
        cell.clear();
        if let (Some(policy), Some(known)) = (&mut self.policy, column.known) {
            let kind = CellKind(known.sql_type.protocol_type());
            policy
                .cipher
                .encrypt(kind, plaintext, cell)
                .map_err(|error| wrong(column, &error.to_string()))?;
            if policy.are_digits {
                digits.clear();
                digits.extend_from_slice(DIGITS_FOLLOW.as_bytes());
                digits.extend(cell.iter().flat_map(|byte| hexadecimal(*byte)));
                return Ok(digits);
            }
        }
        Ok(cell)
    }

    /// The values of a row with `read` of its cells decrypted, in `room`. `are_cells` says which columns have cells.
    pub(super) fn decrypt<'a>(
        &'a mut self,
        columns: &[Column],
        are_cells: u32,
        read: u32,
        values: &[Value<'a>],
        room: &'a mut [Value<'a>; MOST_COLUMNS],
    ) -> Result<&'a [Value<'a>]> {
        let Self { plaintexts, cell, .. } = self;
        let Some(policy) = &mut self.policy else {
            return Err(Failure::Error(
                "cells, and nothing to decrypt them with".to_owned(),
            ));
        };
        let read = match policy.encryption.decrypt {
            Decrypt::All => are_cells,
            Decrypt::Read => are_cells & read,
        };
        plaintexts.clear();
        let mut ends = [(0, CellKind(VAR_STRING)); MOST_COLUMNS];
        for (index, (column, value)) in columns.iter().zip(values).enumerate() {
            self.named += u64::from(are_cells & (1 << index) != 0 && *value != Value::Null);
            if read & (1 << index) != 0 {
                ends[index].1 = policy.decrypt_one(*column, value, plaintexts, cell)?;
            }
            ends[index].0 = plaintexts.len();
        }
        let mut first = 0;
        for (index, (column, value)) in columns.iter().zip(values).enumerate() {
            let (end, kind) = ends[index];
            let plaintext = &plaintexts[first..end];
            first = end;
            room[index] = match value {
                Value::Text(_) if read & (1 << index) != 0 => policy.value(*column, kind, plaintext)?,
                other => *other,
            };
        }
        Ok(&room[..values.len()])
    }
}

impl Policy {
    fn names(&self, column: Column) -> bool {
        column
            .known
            .is_some_and(|known| known.is_in(&self.encryption.columns))
    }

    fn decrypt_one(
        &mut self,
        column: Column,
        value: &Value<'_>,
        plaintexts: &mut Vec<u8>,
        bytes: &mut Vec<u8>,
    ) -> Result<CellKind> {
        let text = match value {
            Value::Null => return Ok(CellKind(VAR_STRING)),
            Value::Text(text) => *text,
            Value::Integer(_) => return Err(wrong(column, "came in plaintext, where a cell was due")),
        };
        let cell = match self.are_digits {
            false => text,
            true => {
                bytes.clear();
                let digits = text.strip_prefix(DIGITS_FOLLOW.as_bytes());
                let read = digits.and_then(|digits| push_bytes(digits, bytes));
                read.ok_or_else(|| wrong(column, "has no digits of bytes, where a cell was due"))?;
                bytes
            }
        };
        self.cipher
            .decrypt(cell, plaintexts)
            .map_err(|error| wrong(column, &error.to_string()))
    }

    fn value<'a>(&self, column: Column, kind: CellKind, plaintext: &'a [u8]) -> Result<Value<'a>> {
        let length = match kind.0 {
            _ if !self.is_binary => return Ok(Value::Text(plaintext)),
            TINY => 1,
            SHORT => 2,
            LONG => 4,
            LONGLONG => 8,
            _ => return Ok(Value::Text(plaintext)),
        };
        // The lowest byte first.
        match plaintext.last() {
            Some(highest) if plaintext.len() == length => {
                let mut bytes = [if *highest >= 0x80 { 0xFF } else { 0 }; 8];
                bytes[..length].copy_from_slice(plaintext);
                Ok(Value::Integer(i64::from_le_bytes(bytes)))
            }
            _ => Err(wrong(
                column,
                "has an integer of another length than its type's in a cell",
            )),
        }
    }
}

/// Appends the bytes of so many pairs of digits; `None` if they are none.
fn push_bytes(digits: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    for pair in digits.chunks_exact(2) {
        bytes.push((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    }
    Some(())
}

/// An error that names the column, never what is in it.
pub(super) fn wrong(column: Column, what: &str) -> Failure {
    let name = column.name;
    Failure::Error(match column.known {
        Some(known) => format!("{}.{name} {what}", known.table),
        None => format!("{name} {what}"),
    })
}

/// A row whose values are plain.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) columns: &'a [Column],
    pub(super) values: &'a [Value<'a>],
}

impl<'a> Row<'a> {
    pub(super) fn integer(&self, index: usize) -> Result<i64> {
        match self.values[index] {
            Value::Integer(value) => Ok(value),
            Value::Text(text) => parse_decimal(text, 0).ok_or_else(|| self.not("an integer", index)),
            Value::Null => Err(self.not("an integer", index)),
        }
    }

    /// A decimal number, counted in units of so many digits after the point.
    pub(super) fn decimal(&self, index: usize, digits: u32) -> Result<i64> {
        let value = match self.values[index] {
            Value::Integer(value) => 10_i64
                .checked_pow(digits)
                .and_then(|unit| value.checked_mul(unit)),
            Value::Text(text) => parse_decimal(text, digits),
            Value::Null => None,
        };
        value.ok_or_else(|| self.not("a decimal number of its type", index))
    }

    pub(super) fn text(&self, index: usize) -> Result<&'a [u8]> {
        match self.values[index] {
            Value::Text(text) => Ok(text),
            Value::Integer(_) | Value::Null => Err(self.not("text", index)),
        }
    }

    fn not(&self, expected: &str, index: usize) -> Failure {
        wrong(
            self.columns[index],
            &format!("came, and was not {expected}: was the table changed?"),
        )
    }
}
