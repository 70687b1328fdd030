//! Rows with cells in place of values; which columns a policy names, and their definitions.
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

use std::collections::HashMap;

use ciphertax_columns::{CellError, CellKind};

use super::packet::{Trouble, counted, push_counted};

/// Appends the cell of a value.
pub(super) type MakeCell = Box<dyn FnMut(CellKind, &[u8], &mut Vec<u8>) -> Result<(), CellError>>;

/// Makes the cells of rows, and counts them.
pub(super) struct Encryptor {
    make: MakeCell,
    cell: Vec<u8>,
    /// Cells made so far.
    pub(super) count: u64,
}

impl Encryptor {
    pub(super) fn new(make: MakeCell) -> Self {
        Self {
            make,
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
        (self.make)(kind, value, &mut self.cell).map_err(|error| Trouble::Cell {
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

/// A column of a result, as its rows are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// How its values stand in binary rows.
    pub(super) shape: Shape,
    /// What its values are, if they are encrypted.
    pub(super) cell: Option<CellKind>,
}

/// How a value stands in a binary row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// In so many bytes.
    Fixed(usize),
    /// In as many bytes as one before them says: dates and times.
    Short,
    /// In as many bytes as a number before them says.
    Counted,
    /// By a type that no server is known to have.
    Unknown,
}

impl Shape {
    /// By the type codes of the protocol.
    fn of(kind: u8) -> Self {
        match kind {
            1 => Self::Fixed(1),
            2 | 13 => Self::Fixed(2),
            3 | 4 | 9 => Self::Fixed(4),
            5 | 8 => Self::Fixed(8),
            6 => Self::Fixed(0),
            7 | 10 | 11 | 12 => Self::Short,
            0 | 15 | 16 | 242 | 245..=255 => Self::Counted,
            _ => Self::Unknown,
        }
    }
}

impl Column {
    /// Reads a definition: catalogue, schema, table, original table, name, original name, as MariaDB's extension has it more about
    /// the type, and then numbers. `None` for what is none.
    pub(super) fn read(definition: &[u8], is_extended: bool, policy: &Policy) -> Option<Self> {
        let (_catalogue, rest) = counted(definition)?;
        let (_schema, rest) = counted(rest)?;
        let (_table, rest) = counted(rest)?;
        let (table, rest) = counted(rest)?;
        let (_name, rest) = counted(rest)?;
        let (name, mut rest) = counted(rest)?;
        if is_extended {
            (_, rest) = counted(rest)?;
        }
        let (numbers, _) = counted(rest)?;
        // Collation (2), length (4), type.
        let kind = *numbers.get(6)?;
        Some(Self {
            shape: Shape::of(kind),
            cell: policy.names(table, name).then_some(CellKind(kind)),
        })
    }
}

/// Names of columns: with the name of a table (`customer.c_last`), or of whatever table (`field0`).
#[derive(Debug, Clone, Default)]
pub(super) struct Policy {
    /// The tables that have it, by the column's name; `None` for all tables.
    tables: HashMap<Vec<u8>, Vec<Option<Vec<u8>>>>,
}

impl Policy {
    pub(super) fn new(names: &[String]) -> Self {
        let mut tables: HashMap<Vec<u8>, Vec<Option<Vec<u8>>>> = HashMap::new();
        for name in names {
            let (table, column) = match name.split_once('.') {
                Some((table, column)) => (Some(table), column),
                None => (None, name.as_str()),
            };
            let of_column = tables.entry(column.into()).or_default();
            of_column.push(table.map(Into::into));
        }
        Self { tables }
    }

    /// True if it names this column of this table, or of the set of tables that this one is of.
    pub(super) fn names(&self, table: &[u8], column: &[u8]) -> bool {
        // What is computed is of no table.
        if table.is_empty() {
            return false;
        }
        let Some(tables) = self.tables.get(column) else {
            return false;
        };
        tables
            .iter()
            .any(|named| named.as_ref().is_none_or(|named| is_of_set(table, named)))
    }
}

/// True for the name itself, and for one with the number of a set behind it: `customer_2`.
fn is_of_set(table: &[u8], named: &[u8]) -> bool {
    match table.strip_prefix(named) {
        None => false,
        Some([]) => true,
        Some([b'_', number @ ..]) => !number.is_empty() && number.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::packet::push_counted;
    use super::*;

    /// A definition as servers send it.
    pub(in super::super) fn definition(table: &str, name: &str, kind: u8, is_extended: bool) -> Vec<u8> {
        let mut payload = Vec::new();
        for text in ["def", "test", "alias", table, "shown", name] {
            push_counted(text.as_bytes(), &mut payload);
        }
        if is_extended {
            push_counted(b"\0\x04json", &mut payload);
        }
        push_counted(&[45, 0, 10, 0, 0, 0, kind, 0, 0, 0, 0, 0], &mut payload);
        payload
    }

    #[test]
    fn a_column_is_known_by_its_original_name_and_its_type() {
        let policy = Policy::new(&["customer.c_id".into()]);
        for is_extended in [false, true] {
            let read = |table, name, kind| {
                Column::read(&definition(table, name, kind, is_extended), is_extended, &policy).unwrap()
            };
            let column = read("customer", "c_id", 3);
            assert_eq!((column.cell, column.shape), (Some(CellKind(3)), Shape::Fixed(4)));
            assert_eq!(read("stock", "c_id", 12).cell, None);
            assert_eq!(read("alias", "shown", 253).cell, None);
        }
    }

    #[test]
    fn a_definition_that_is_cut_off_is_none() {
        let whole = definition("customer", "c_id", 3, false);
        let policy = Policy::default();
        for length in 0..whole.len() {
            assert_eq!(Column::read(&whole[..length], false, &policy), None, "{length}");
        }
    }

    #[test]
    fn a_column_is_named_in_its_table_and_in_the_sets_of_it() {
        let policy = Policy::new(&["customer.c_last".into(), "stock.s_data".into(), "field0".into()]);
        for (table, column, is_named) in [
            ("customer", "c_last", true),
            ("customer_2", "c_last", true),
            ("customer_12", "c_last", true),
            ("customer_", "c_last", false),
            ("customer_x", "c_last", false),
            ("customer2", "c_last", false),
            ("customer_2_3", "c_last", false),
            ("customers", "c_last", false),
            ("old_customer", "c_last", false),
            ("customer", "c_first", false),
            ("customer", "s_data", false),
            ("stock", "s_data", true),
            ("usertable", "field0", true),
            ("usertable", "field1", false),
            ("", "field0", false),
            ("", "c_last", false),
        ] {
            assert_eq!(
                policy.names(table.as_bytes(), column.as_bytes()),
                is_named,
                "{table}.{column}"
            );
        }
    }
}
