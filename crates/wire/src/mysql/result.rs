//! Answers: OK, error, or rows.

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::ErrPacket;
use mysql_common::proto::MyDeserialize;

use super::framing::Framed;
use crate::error::{Result, WireError};
use crate::sql::{ResultSummary, TextRow};

/// Column definitions that an answer may have at most: the servers' own limit is 4096.
const MOST_COLUMNS: u64 = 4096;

pub(super) trait Receiver {
    /// The definition of the next column; all of them come before the rows.
    fn column(&mut self, definition: &[u8]) -> Result<()>;

    fn row(&mut self, payload: &[u8]) -> Result<()>;
}

/// Takes rows alone.
struct Rows<F>(F);

impl<F: FnMut(&[u8]) -> Result<()>> Receiver for Rows<F> {
    fn column(&mut self, _definition: &[u8]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, payload: &[u8]) -> Result<()> {
        (self.0)(payload)
    }
}

/// Reads one whole answer, giving each row's payload to `on_row`.
pub(super) async fn read(
    framed: &mut Framed,
    capabilities: CapabilityFlags,
    on_row: impl FnMut(&[u8]) -> Result<()>,
) -> Result<ResultSummary> {
    read_to(framed, capabilities, Rows(on_row)).await
}

pub(super) async fn read_to(
    framed: &mut Framed,
    capabilities: CapabilityFlags,
    mut receiver: impl Receiver,
) -> Result<ResultSummary> {
    let payload = framed.read().await?;
    let columns = match payload {
        [0x00, rest @ ..] => return Ok(Accepted::read(rest)?.summary()),
        [0xFF, ..] => return Err(server_error(payload, capabilities)),
        [0xFB, ..] => return Err(WireError::protocol("it asks for a file of this machine")),
        _ => length_encoded(payload)
            .map(|(count, _)| count)
            .filter(|count| *count <= MOST_COLUMNS),
    };
    let Some(columns) = columns else {
        return Err(WireError::protocol(
            "an answer whose number of columns cannot be read",
        ));
    };
    for _ in 0..columns {
        receiver.column(framed.read().await?)?;
    }
    if ends_definitions(columns, capabilities) {
        framed.read().await?;
    }
    let mut summary = ResultSummary::default();
    loop {
        let payload = framed.read().await?;
        match payload {
            [0xFE, ..] if is_end(payload, capabilities) => return Ok(summary),
            [0xFF, ..] => return Err(server_error(payload, capabilities)),
            row => {
                summary.rows += 1;
                summary.row_bytes += row.len() as u64;
                receiver.row(row)?;
            }
        }
    }
}

/// The answer to a statement that gives no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    /// Rows that were changed.
    pub(super) affected_rows: u64,
    /// What the server has to say of it besides.
    pub(super) warnings: u16,
}

impl Accepted {
    /// Reads an OK, after its first byte: rows, the number that a key was given, status (2), warnings (2).
    pub(super) fn read(payload: &[u8]) -> Result<Self> {
        let (affected_rows, rest) = length_encoded(payload)
            .ok_or_else(|| WireError::protocol("an OK without the number of rows that were changed"))?;
        let warnings = length_encoded(rest).and_then(|(_, rest)| rest.get(2..4)?.first_chunk().copied());
        Ok(Self {
            affected_rows,
            warnings: warnings.map_or(0, u16::from_le_bytes),
        })
    }

    fn summary(self) -> ResultSummary {
        ResultSummary {
            affected_rows: self.affected_rows,
            ..ResultSummary::default()
        }
    }
}

/// True if a packet ends definitions, as the protocol had it once.
fn ends_definitions(count: u64, capabilities: CapabilityFlags) -> bool {
    count > 0 && !capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF)
}

/// Passes over column or parameter definitions, and the packet that ends them.
pub(super) async fn skip_definitions(
    framed: &mut Framed,
    count: u64,
    capabilities: CapabilityFlags,
) -> Result<()> {
    for _ in 0..count + u64::from(ends_definitions(count, capabilities)) {
        framed.read().await?;
    }
    Ok(())
}

pub(super) fn server_error(payload: &[u8], capabilities: CapabilityFlags) -> WireError {
    match ErrPacket::deserialize(capabilities, &mut ParseBuf(payload)) {
        Ok(ErrPacket::Error(error)) => WireError::Server {
            code: error.error_code(),
            sql_state: error
                .sql_state_ref()
                .map(|state| state.as_str().into_owned())
                .unwrap_or_default(),
            message: error.message_str().into_owned(),
        },
        Ok(ErrPacket::Progress(_)) => WireError::protocol("a progress report that was not asked for"),
        Err(error) => WireError::protocol(format!("an error that cannot be read: {error}")),
    }
}

pub(super) fn text_row(mut payload: &[u8]) -> Result<TextRow> {
    let mut values = Vec::new();
    while !payload.is_empty() {
        if payload[0] == 0xFB {
            values.push(None);
            payload = &payload[1..];
            continue;
        }
        let (value, rest) = text(payload)?;
        values.push(Some(value.to_vec()));
        payload = rest;
    }
    Ok(TextRow::new(values))
}

/// The columns of a prepared statement's row, all of which are text; one with a NULL among them has none.
pub(super) struct BinaryTexts<'a> {
    rest: &'a [u8],
}

impl<'a> BinaryTexts<'a> {
    /// Reads a row of so many columns.
    pub(super) fn of(row: &'a [u8], columns: usize) -> Result<Self> {
        // A zero, and a bit for each column that is NULL, of which two are reserved.
        let head = 1 + (columns + 2).div_ceil(8);
        match row.split_at_checked(head) {
            Some(([0, nulls @ ..], rest)) if nulls.iter().all(|bits| *bits == 0) => Ok(Self { rest }),
            Some(([0, ..], _)) => Ok(Self { rest: &[] }),
            _ => Err(WireError::protocol("a row that is not of a prepared statement")),
        }
    }
}

impl<'a> Iterator for BinaryTexts<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = text(self.rest);
        self.rest = read.as_ref().map_or(&[], |(_, rest)| rest);
        Some(read.map(|(value, _)| value))
    }
}

/// A text with its length before it, and what follows it.
pub(super) fn text(payload: &[u8]) -> Result<(&[u8], &[u8])> {
    length_encoded(payload)
        .and_then(|(length, rest)| rest.split_at_checked(usize::try_from(length).ok()?))
        .ok_or_else(|| WireError::protocol("a row that ends in the middle of a value"))
}

/// With `CLIENT_DEPRECATE_EOF` the end looks like an OK packet that begins with 0xFE; a row that begins so holds a
/// value of 16 MiB or more, which is refused when framed.
fn is_end(payload: &[u8], capabilities: CapabilityFlags) -> bool {
    capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) || payload.len() < 9
}

/// A length-encoded integer and what follows it.
fn length_encoded(payload: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = payload.split_first()?;
    let width = match first {
        0..=0xFA => return Some((first.into(), rest)),
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return None,
    };
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(rest.get(..width)?);
    Some((u64::from_le_bytes(bytes), &rest[width..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ok_says_how_many_rows_were_changed() {
        assert_eq!(Accepted::read(&[3, 0, 2, 0]).unwrap().affected_rows, 3);
        assert_eq!(Accepted::read(&[0xFC, 0, 1, 0]).unwrap().affected_rows, 256);
        assert!(Accepted::read(&[]).is_err() && Accepted::read(&[0xFC, 0]).is_err());
        let warned = Accepted {
            affected_rows: 3,
            warnings: 0x0201,
        };
        let found = Accepted::read(&[3, 0xFC, 9, 9, 2, 0, 1, 2, b'x']).unwrap();
        assert_eq!(found, warned);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_row_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), columns in 0_usize..20) {
            let _ = text_row(&bytes);
            if let Ok(texts) = BinaryTexts::of(&bytes, columns) {
                texts.for_each(drop);
            }
        }

        #[test]
        fn texts_of_prepared_statements_are_read_back(values in prop::collection::vec("[a-z]{0,250}", 0..20)) {
            let mut row = vec![0; 1 + (values.len() + 2).div_ceil(8)];
            for value in &values {
                row.push(value.len() as u8);
                row.extend_from_slice(value.as_bytes());
            }
            let read: Result<Vec<&[u8]>> = BinaryTexts::of(&row, values.len()).unwrap().collect();
            let expected: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
            prop_assert_eq!(read.unwrap(), expected);
        }

        #[test]
        fn text_rows_are_read_back(values in prop::collection::vec(prop::option::of("[a-z]{0,300}"), 0..20)) {
            let mut payload = Vec::new();
            for value in &values {
                match value {
                    None => payload.push(0xFB),
                    Some(text) if text.len() < 0xFB => {
                        payload.push(text.len() as u8);
                        payload.extend_from_slice(text.as_bytes());
                    }
                    Some(text) => {
                        payload.push(0xFC);
                        payload.extend_from_slice(&(text.len() as u16).to_le_bytes());
                        payload.extend_from_slice(text.as_bytes());
                    }
                }
            }
            let row = text_row(&payload).unwrap();
            for (column, value) in values.iter().enumerate() {
                prop_assert_eq!(row.text(column), value.clone().unwrap_or_default());
            }
        }
    }
}
