//! The definition of a result's column.

use ciphertax_columns::CellKind;

use super::packet::counted;
use super::policy::Policy;

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
}
