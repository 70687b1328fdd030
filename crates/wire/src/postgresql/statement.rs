//! Prepared statements with integer and text parameters, which is all that the workloads bind.

use super::messages::write_length;
use crate::error::{Result, WireError};
use crate::sql::{self, Parameter, wrong_number};
use crate::value::check_variable_text;

/// How values travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// As text, which every type understands.
    Text,
    /// In a form of each type's own.
    Binary,
}

impl Format {
    fn code(self) -> u16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// A prepared statement of one session. Its messages (bind, execute, sync) are built once; values are written into them
/// where they will be sent.
pub struct Statement {
    request: Vec<u8>,
    places: Vec<Place>,
    /// Where the message that binds ends.
    bound: usize,
    /// A parameter whose last value is too large for it.
    misfit: Option<usize>,
}

/// Where a value is in the request.
struct Place {
    parameter: Parameter,
    offset: usize,
    length: usize,
}

impl Statement {
    /// The statement that the server knows by this name, with the types that it has found for the parameters.
    pub(super) fn new(name: &str, parameters: &[Parameter], types: &[u32]) -> Result<Self> {
        let count = u16::try_from(parameters.len())
            .ok()
            .filter(|_| parameters.len() == types.len())
            .ok_or_else(|| wrong_number(types.len(), parameters.len()))?;
        // No name for the portal, the statement's.
        let mut request = [&[b'B', 0, 0, 0, 0, 0], name.as_bytes(), &[0]].concat();
        request.extend_from_slice(&count.to_be_bytes());
        for parameter in parameters {
            let format = if *parameter == Parameter::Integer {
                Format::Binary
            } else {
                Format::Text
            };
            request.extend_from_slice(&format.code().to_be_bytes());
        }
        request.extend_from_slice(&count.to_be_bytes());
        let mut places = Vec::with_capacity(parameters.len());
        for (index, (&parameter, &oid)) in parameters.iter().zip(types).enumerate() {
            let length = match parameter {
                Parameter::Integer => integer_length(oid).ok_or_else(|| not_an_integer(index, oid))?,
                Parameter::Text(length) => length,
                Parameter::VariableText => 0,
            };
            request.extend_from_slice(&(length as u32).to_be_bytes());
            places.push(Place {
                parameter,
                offset: request.len(),
                length,
            });
            let blank = if parameter == Parameter::Integer { 0 } else { b' ' };
            request.resize(request.len() + length, blank);
        }
        // One format for all columns.
        request.extend_from_slice(&1_u16.to_be_bytes());
        request.extend_from_slice(&Format::Binary.code().to_be_bytes());
        let bound = request.len();
        write_length(&mut request, 0)?;
        request.extend_from_slice(EXECUTE_AND_SYNC);
        Ok(Self {
            request,
            places,
            bound,
            misfit: None,
        })
    }

    pub(super) fn request(&mut self, format: Format) -> Result<&[u8]> {
        // The last that the message says is the one format for all columns.
        self.request[self.bound - size_of::<u16>()..self.bound].copy_from_slice(&format.code().to_be_bytes());
        match self.misfit {
            None => Ok(&self.request),
            Some(index) => Err(WireError::Request(format!(
                "the integer for parameter ${} does not fit its {} bytes",
                index + 1,
                self.places[index].length
            ))),
        }
    }
}

impl sql::Statement for Statement {
    fn set_integer(&mut self, index: usize, value: i64) {
        let place = &self.places[index];
        assert_eq!(place.parameter, Parameter::Integer, "parameter {index} is text");
        let bytes = value.to_be_bytes();
        let place = &mut self.request[place.offset..][..place.length];
        let (beyond, within) = bytes.split_at(bytes.len() - place.len());
        place.copy_from_slice(within);
        // What is cut off must be the sign.
        let sign = if within[0] < 0x80 { 0 } else { 0xFF };
        if beyond.iter().any(|byte| *byte != sign) {
            self.misfit = Some(index);
        } else if self.misfit == Some(index) {
            self.misfit = None;
        }
    }

    fn text_mut(&mut self, index: usize) -> &mut [u8] {
        let place = &self.places[index];
        let Parameter::Text(length) = place.parameter else {
            panic!("parameter {index} is no text of a fixed length");
        };
        &mut self.request[place.offset..][..length]
    }

    fn set_text(&mut self, index: usize, text: &[u8]) -> Result<()> {
        let place = &mut self.places[index];
        assert_eq!(
            place.parameter,
            Parameter::VariableText,
            "parameter {index} has a fixed length"
        );
        check_variable_text(text.len())?;
        let (offset, old) = (place.offset, place.length);
        if old == text.len() {
            self.request[offset..][..old].copy_from_slice(text);
            return Ok(());
        }
        place.length = text.len();
        self.request.splice(offset..offset + old, text.iter().copied());
        self.request[offset - size_of::<u32>()..offset].copy_from_slice(&(text.len() as u32).to_be_bytes());
        for place in &mut self.places[index + 1..] {
            place.offset = place.offset + text.len() - old;
        }
        self.bound = self.bound + text.len() - old;
        write_length(&mut self.request[..self.bound], 0)
    }
}

/// Of the portal without a name all rows; then the end of the exchange.
const EXECUTE_AND_SYNC: &[u8] = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// Bytes of `int8`, `int2` and `int4` by their numbers (`pg_type.dat`); `None` for other types.
fn integer_length(oid: u32) -> Option<usize> {
    match oid {
        20 => Some(8),
        21 => Some(2),
        23 => Some(4),
        _ => None,
    }
}

fn not_an_integer(index: usize, oid: u32) -> WireError {
    let number = index + 1;
    WireError::Request(format!(
        "the server takes parameter ${number} for no integer (type {oid}); write ${number}::int8"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::messages::HEADER;
    use super::*;
    use crate::sql::Statement as _;

    const INT2: u32 = 21;
    const INT4: u32 = 23;
    const INT8: u32 = 20;
    const VARCHAR: u32 = 1043;

    #[test]
    fn integers_are_as_long_as_the_server_has_them() {
        let mut statement = Statement::new("s1", &[Parameter::Integer; 3], &[INT2, INT4, INT8]).unwrap();
        for (index, value) in [-2, 3, -4].into_iter().enumerate() {
            statement.set_integer(index, value);
        }
        let bind = [
            b"B\0\0\0\x30\0s1\0\0\x03\0\x01\0\x01\0\x01\0\x03".as_slice(),
            b"\0\0\0\x02\xFF\xFE\0\0\0\x04\0\0\0\x03\0\0\0\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFC",
            b"\0\x01\0\x01",
        ]
        .concat();
        assert_eq!(bind.len(), 0x30 + 1);
        let found = statement.request(Format::Binary).unwrap();
        assert_eq!(found, [&bind, EXECUTE_AND_SYNC].concat());
    }

    #[test]
    fn an_integer_that_does_not_fit_is_not_sent() {
        let mut statement = Statement::new("s", &[Parameter::Integer], &[INT4]).unwrap();
        for (value, fits) in [
            (i64::from(i32::MAX), true),
            (i64::from(i32::MAX) + 1, false),
            (i64::from(i32::MIN), true),
            (i64::from(i32::MIN) - 1, false),
            (-1, true),
            (i64::MIN, false),
            (0, true),
        ] {
            statement.set_integer(0, value);
            assert_eq!(statement.request(Format::Binary).is_ok(), fits, "{value}");
        }
    }

    #[test]
    fn short_text_of_any_length_moves_what_follows_it() {
        let parameters = [
            Parameter::VariableText,
            Parameter::Text(2),
            Parameter::VariableText,
            Parameter::Integer,
        ];
        let types = [VARCHAR, VARCHAR, VARCHAR, INT8];
        let mut statement = Statement::new("s", &parameters, &types).unwrap();
        for round in 0..3 {
            for (first, third) in [("one", "third"), ("longer", ""), ("longer", "x"), ("", "yes")] {
                statement.set_text(0, first.as_bytes()).unwrap();
                statement.text_mut(1).copy_from_slice(b"ab");
                statement.set_text(2, third.as_bytes()).unwrap();
                statement.set_integer(3, round);
                let mut end = Vec::new();
                for value in [first.as_bytes(), b"ab", third.as_bytes(), &round.to_be_bytes()] {
                    end.extend((value.len() as u32).to_be_bytes());
                    end.extend(value);
                }
                end.extend(b"\0\x01\0\x01");
                let bind = statement
                    .request(Format::Binary)
                    .unwrap()
                    .strip_suffix(EXECUTE_AND_SYNC)
                    .unwrap();
                assert!(bind.ends_with(&end), "{bind:?}");
                assert_eq!(bind[1..HEADER], (bind.len() as u32 - 1).to_be_bytes());
            }
        }
        assert!(statement.set_text(0, &vec![b'x'; 16 << 20]).is_err());
    }

    #[test]
    fn parameters_that_are_not_the_statements_are_refused() {
        let refused = |parameters: &[Parameter], types: &[u32]| {
            Statement::new("s", parameters, types)
                .map(drop)
                .unwrap_err()
                .to_string()
        };
        assert!(refused(&[Parameter::Integer], &[]).contains("has 0 parameters, not 1"));
        assert!(refused(&[Parameter::Integer], &[VARCHAR]).contains("write $1::int8"));
        assert!(Statement::new("s", &[], &[]).is_ok());
    }
}
