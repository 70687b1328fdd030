//! Rows with cells in place of values.
//!
//! A row stays what it was but for the values of the columns that are encrypted: each of these is a cell with its length before it
//! (a *length-encoded string*), whatever the column's type, which the column's definition still names. NULL stays NULL. What is
//! encrypted is the value as it would have stood there, without a length before it:
//!
//! | column | in a text row | in a binary row |
//! |---|---|---|
//! | integers, FLOAT, DOUBLE, YEAR | digits | 1, 2, 4 or 8 bytes, the lowest first |
//! | DATE, DATETIME, TIMESTAMP | text | year (2), month, day, and if need be hour, minute, second, microseconds (4): 0, 4, 7 or 11 bytes |
//! | TIME | text | sign, days (4), hour, minute, second, and if need be microseconds (4): 0, 8 or 12 bytes |
//! | DECIMAL, text, all others | their bytes | their bytes |
//!
//! So whoever knows which columns are encrypted can read every row, with the key or without, and with the key finds the type of a
//! value also in its cell.

use ciphertax_columns::{CellCipher, CellError, CellKind};

use super::definition::{Column, Shape};
use super::packet::{counted, push_counted};
use super::trouble::Trouble;

/// What makes cells.
pub(super) trait Cells {
    /// Appends the cell of a value.
    fn encrypt(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<(), CellError>;
}

impl Cells for CellCipher {
    fn encrypt(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<(), CellError> {
        CellCipher::encrypt(self, kind, plaintext, cell)
    }
}

/// Makes the cells of rows, and counts them.
pub(super) struct Encryptor<C> {
    cells: C,
    cell: Vec<u8>,
    /// Cells made so far.
    pub(super) count: u64,
}

impl<C: Cells> Encryptor<C> {
    pub(super) fn new(cells: C) -> Self {
        Self {
            cells,
            cell: Vec::new(),
            count: 0,
        }
    }

    /// Appends a row of a text result.
    pub(super) fn text_row(
        &mut self,
        columns: &[Column],
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Trouble> {
        let mut rest = row;
        for (index, column) in columns.iter().enumerate() {
            if let [NULL, others @ ..] = rest {
                out.push(NULL);
                rest = others;
                continue;
            }
            let (value, others) = counted(rest).ok_or(NO_ROW)?;
            match column.cell {
                None => out.extend_from_slice(&rest[..rest.len() - others.len()]),
                Some(kind) => self.push(index, kind, value, out)?,
            }
            rest = others;
        }
        whole(rest)
    }

    /// Appends a row of the result of a prepared statement.
    pub(super) fn binary_row(
        &mut self,
        columns: &[Column],
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Trouble> {
        // The bits of NULL begin at the third.
        let bits = 1 + (columns.len() + 2).div_ceil(8);
        let (begin, mut rest) = row.split_at_checked(bits).ok_or(NO_ROW)?;
        out.extend_from_slice(begin);
        for (index, column) in columns.iter().enumerate() {
            let bit = index + 2;
            if begin[1 + bit / 8] & 1 << (bit % 8) != 0 {
                continue;
            }
            let (value, others) = value_of(column.shape, rest)?;
            match column.cell {
                None => out.extend_from_slice(&rest[..rest.len() - others.len()]),
                Some(kind) => self.push(index, kind, value, out)?,
            }
            rest = others;
        }
        whole(rest)
    }

    fn push(&mut self, index: usize, kind: CellKind, value: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        self.cell.clear();
        self.cells
            .encrypt(kind, value, &mut self.cell)
            .map_err(|error| Trouble::Cell {
                column: index + 1,
                error,
            })?;
        self.count += 1;
        push_counted(&self.cell, out);
        Ok(())
    }

    /// Gives back the memory of a large cell.
    pub(super) fn shrink(&mut self, most: usize) {
        self.cell.clear();
        self.cell.shrink_to(most);
    }
}

/// NULL in a text row.
const NULL: u8 = 0xFB;

const NO_ROW: Trouble = Trouble::Server("a row that is not of its columns");

fn whole(rest: &[u8]) -> Result<(), Trouble> {
    if rest.is_empty() { Ok(()) } else { Err(NO_ROW) }
}

/// The value that begins a part of a binary row, and what follows it.
fn value_of(shape: Shape, rest: &[u8]) -> Result<(&[u8], &[u8]), Trouble> {
    let found = match shape {
        Shape::Fixed(length) => rest.split_at_checked(length),
        Shape::Short => match rest.split_first() {
            Some((&length, rest)) => rest.split_at_checked(length.into()),
            None => None,
        },
        Shape::Counted => counted(rest),
        Shape::Unknown => {
            return Err(Trouble::Unsupported(
                "a type of column that MySQL's protocol does not have",
            ));
        }
    };
    found.ok_or(NO_ROW)
}
