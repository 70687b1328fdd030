//! Prepared statements with integer and text parameters, which is all that the workloads bind.

use mysql_common::constants::ColumnType;

use super::framing::{HEADER, command_packet, write_header};
use crate::error::Result;
use crate::sql::{self, Parameter};
use crate::value::check_variable_text;

const COM_STMT_EXECUTE: u8 = 0x17;

/// The longest text in bytes whose length is one byte.
const SHORT: usize = 0xFA;

/// A prepared statement of one session. Its request is built once; values are written into it where they will be sent.
pub struct Statement {
    /// The request that names the parameters' types, which the server wants once; later the request without them, which
    /// begins `start` bytes further on.
    packet: Vec<u8>,
    start: usize,
    places: Vec<Place>,
    /// Where the types are, with the flag before them that says so; `None` once they were sent.
    types: Option<(usize, usize)>,
    /// Columns of its results that are read as text whatever their types, as bits.
    pub(super) text_columns: u64,
}

/// Where a value is in the packet.
struct Place {
    parameter: Parameter,
    /// Where the value begins, after its length.
    offset: usize,
    length: usize,
}

impl Statement {
    pub(super) fn new(id: u32, parameters: &[Parameter]) -> Result<Self> {
        // Statement, no cursor, one iteration, no NULLs, types follow, types, values.
        let mut payload = Vec::new();
        payload.extend_from_slice(&id.to_le_bytes());
        payload.push(0);
        payload.extend_from_slice(&1_u32.to_le_bytes());
        let mut places = Vec::with_capacity(parameters.len());
        let mut types = None;
        if !parameters.is_empty() {
            payload.resize(payload.len() + parameters.len().div_ceil(8), 0);
            payload.push(1);
            let first = BEFORE_PAYLOAD + payload.len();
            for parameter in parameters {
                payload.extend_from_slice(&[parameter.column_type() as u8, 0]);
            }
            types = Some((first, BEFORE_PAYLOAD + payload.len()));
            for &parameter in parameters {
                parameter.extend_with_blank(&mut payload);
                let length = parameter.length();
                let offset = BEFORE_PAYLOAD + payload.len() - length;
                places.push(Place {
                    parameter,
                    offset,
                    length,
                });
            }
        }
        Ok(Self {
            packet: command_packet(COM_STMT_EXECUTE, &payload)?,
            start: 0,
            places,
            types,
            text_columns: 0,
        })
    }

    /// The bytes that execute the statement with the values that were set.
    pub(super) fn request(&self) -> &[u8] {
        &self.packet[self.start..]
    }

    /// Notes that the server knows the types: what comes before them moves up to the values.
    pub(super) fn sent(&mut self) -> Result<()> {
        let Some((first, end)) = self.types.take() else {
            return Ok(());
        };
        let before = self.start..first;
        self.start += end - first;
        self.packet.copy_within(before, self.start);
        self.packet[end - 1] = 0;
        write_header(&mut self.packet[self.start..], 0)
    }
}

impl sql::Statement for Statement {
    fn read_as_text(&mut self, columns: u64) {
        self.text_columns = columns;
    }

    fn set_integer(&mut self, index: usize, value: i64) {
        let place = &self.places[index];
        assert_eq!(place.parameter, Parameter::Integer, "parameter {index} is text");
        self.packet[place.offset..][..size_of::<i64>()].copy_from_slice(&value.to_le_bytes());
    }

    fn text_mut(&mut self, index: usize) -> &mut [u8] {
        let place = &self.places[index];
        let Parameter::Text(length) = place.parameter else {
            panic!("parameter {index} is no text of a fixed length");
        };
        &mut self.packet[place.offset..][..length]
    }

    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<()> {
        let place = &self.places[index];
        assert_eq!(
            place.parameter,
            Parameter::VariableText,
            "parameter {index} has a fixed length"
        );
        check_variable_text(text.len())?;
        let (offset, old) = (place.offset, place.length);
        if old == text.len() {
            self.packet[offset..][..old].copy_from_slice(text);
            return Ok(());
        }
        let before = offset - length_width(old);
        self.packet
            .splice(before..offset + old, length_of(text).chain(text.iter().copied()));
        let begins = before + length_width(text.len());
        for place in &mut self.places[index + 1..] {
            place.offset = place.offset + begins + text.len() - offset - old;
        }
        let place = &mut self.places[index];
        (place.offset, place.length) = (begins, text.len());
        write_header(&mut self.packet[self.start..], 0)
    }
}

/// Bytes of the length before a text of varying length.
fn length_width(length: usize) -> usize {
    if length <= SHORT { 1 } else { 3 }
}

/// The length before such a text.
fn length_of(text: &[u8]) -> impl Iterator<Item = u8> + use<> {
    let [low, high] = (text.len() as u16).to_le_bytes();
    let bytes = if text.len() <= SHORT {
        [low, 0, 0]
    } else {
        [0xFC, low, high]
    };
    bytes.into_iter().take(length_width(text.len()))
}

/// Bytes of a packet before the payload of its command.
const BEFORE_PAYLOAD: usize = HEADER + 1;

impl Parameter {
    fn column_type(self) -> ColumnType {
        match self {
            Self::Integer => ColumnType::MYSQL_TYPE_LONGLONG,
            Self::Text(_) | Self::VariableText => ColumnType::MYSQL_TYPE_VAR_STRING,
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Integer => size_of::<i64>(),
            Self::Text(length) => length,
            Self::VariableText => 0,
        }
    }

    /// Appends room for a value; text has its length before it.
    fn extend_with_blank(self, payload: &mut Vec<u8>) {
        if let Self::Text(_) | Self::VariableText = self {
            let length = self.length();
            match length {
                0..=0xFA => payload.push(length as u8),
                0xFB..=0xFFFF => {
                    payload.push(0xFC);
                    payload.extend_from_slice(&(length as u16).to_le_bytes());
                }
                _ => {
                    payload.push(0xFE);
                    payload.extend_from_slice(&(length as u64).to_le_bytes());
                }
            }
        }
        payload.resize(payload.len() + self.length(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Statement as _;

    #[test]
    fn types_are_named_once_and_values_stay_where_they_are() {
        let mut statement = Statement::new(7, &[Parameter::Integer, Parameter::Text(3)]).unwrap();
        statement.set_integer(0, -2);
        statement.text_mut(1).copy_from_slice(b"abc");
        let values = [&(-2_i64).to_le_bytes()[..], b"\x03abc"].concat();
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let typed = [&[28, 0, 0, 0], &head[..], &[1, 8, 0, 0xFD, 0], &values].concat();
        assert_eq!(statement.request(), typed);

        statement.sent().unwrap();
        let untyped = [&[24, 0, 0, 0], &head[..], &[0], &values].concat();
        assert_eq!(statement.request(), untyped);
        statement.sent().unwrap();
        assert_eq!(statement.request(), untyped);

        statement.text_mut(1).copy_from_slice(b"xyz");
        assert!(statement.request().ends_with(b"\x03xyz"));
    }

    #[test]
    fn short_text_of_any_length_moves_what_follows_it() {
        let parameters = [
            Parameter::VariableText,
            Parameter::Text(2),
            Parameter::VariableText,
            Parameter::Integer,
        ];
        let mut statement = Statement::new(7, &parameters).unwrap();
        for round in 0..3 {
            for (first, third) in [("one", "third"), ("longer", ""), ("longer", "x"), ("", "yes")] {
                statement.set_text(0, first.as_bytes()).unwrap();
                statement.text_mut(1).copy_from_slice(b"ab");
                statement.set_text(2, third.as_bytes()).unwrap();
                statement.set_integer(3, round);
                let mut values = vec![first.len() as u8];
                values.extend_from_slice(first.as_bytes());
                values.extend_from_slice(b"\x02ab");
                values.push(third.len() as u8);
                values.extend_from_slice(third.as_bytes());
                values.extend_from_slice(&round.to_le_bytes());
                let request = statement.request();
                assert!(request.ends_with(&values), "{request:?}");
                assert_eq!(usize::from(request[0]), request.len() - HEADER);
                statement.sent().unwrap();
            }
        }
    }

    #[test]
    fn the_length_of_text_takes_as_many_bytes_as_it_needs() {
        let mut statement = Statement::new(7, &[Parameter::VariableText, Parameter::Integer]).unwrap();
        statement.set_integer(1, -5);
        for length in [250, 251, 65_535, 252, 0, 65_535, 250, 251] {
            let text = vec![b'x'; length];
            statement.set_text(0, &text).unwrap();
            let before: &[u8] = match length {
                ..=250 => &[length as u8],
                _ => &[0xFC, length as u8, (length >> 8) as u8],
            };
            let request = statement.request();
            assert!(
                request.ends_with(&[before, &text, &(-5_i64).to_le_bytes()].concat()),
                "{length}"
            );
            assert_eq!(request[..3], (request.len() as u32 - 4).to_le_bytes()[..3]);
            statement.sent().unwrap();
        }
        assert!(statement.set_text(0, &[b'x'; 65_536]).is_err());
    }

    #[test]
    fn a_statement_without_parameters_is_its_head_alone() {
        let mut statement = Statement::new(1, &[]).unwrap();
        for _ in 0..2 {
            let found = statement.request();
            assert_eq!(found, [10, 0, 0, 0, 0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
            statement.sent().unwrap();
        }
    }
}
