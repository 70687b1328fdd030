//! Values of columns as BSON's (<https://bsonspec.org/spec.html>), which is what a cell encrypts.
//!
//! | type of MySQL | BSON | plaintext |
//! |---|---|---|
//! | 1 TINY, 2 SHORT, 3 LONG, 9 INT24 | 16, of 32 bits | decimal digits |
//! | 8 LONGLONG | 18, of 64 bits | decimal digits |
//! | 249–252 BLOB | 5, binary of subtype 0 | bytes |
//! | all others | 2, string | bytes |
//!
//! What comes back of a cell is of the type LONG, LONGLONG, BLOB or VAR_STRING (253): BSON knows no others of these.

use crate::cell::{CellError, CellKind};

use super::malformed;

const STRING: u8 = 2;
const BINARY: u8 = 5;
const INT32: u8 = 16;
const INT64: u8 = 18;

const LONG: CellKind = CellKind(3);
const LONGLONG: CellKind = CellKind(8);
const BLOB: CellKind = CellKind(252);
const VAR_STRING: CellKind = CellKind(253);

/// The BSON type of a value.
pub(super) fn type_of(kind: CellKind) -> u8 {
    match kind.0 {
        1 | 2 | 3 | 9 => INT32,
        8 => INT64,
        249..=252 => BINARY,
        _ => STRING,
    }
}

/// Appends a value of this BSON type, which is shorter than 2 GiB.
///
/// # Errors
/// When it is to be a number and is none.
pub(super) fn append(bson_type: u8, plaintext: &[u8], bytes: &mut Vec<u8>) -> Result<(), CellError> {
    // Of a value that is no longer than a document.
    let length = |more: usize| ((plaintext.len() + more) as u32).to_le_bytes();
    match bson_type {
        INT32 => bytes.extend_from_slice(&number::<i32>(plaintext)?.to_le_bytes()),
        INT64 => bytes.extend_from_slice(&number::<i64>(plaintext)?.to_le_bytes()),
        BINARY => {
            bytes.extend_from_slice(&length(0));
            bytes.push(0);
            bytes.extend_from_slice(plaintext);
        }
        _ => {
            bytes.extend_from_slice(&length(1));
            bytes.extend_from_slice(plaintext);
            bytes.push(0);
        }
    }
    Ok(())
}

/// Makes a value from `start` on the plaintext that it was made of.
///
/// # Errors
/// When it is none of its type, or the type is one that no column has.
pub(super) fn strip(bson_type: u8, bytes: &mut Vec<u8>, start: usize) -> Result<CellKind, CellError> {
    let value = &bytes[start..];
    let inside = match bson_type {
        INT32 => {
            let number = i32::from_le_bytes(whole(value)?);
            return Ok(replace(bytes, start, number.into(), LONG));
        }
        INT64 => {
            let number = i64::from_le_bytes(whole(value)?);
            return Ok(replace(bytes, start, number, LONGLONG));
        }
        STRING => match value {
            [a, b, c, d, text @ .., 0] if is_length([a, b, c, d], text.len() + 1) => 4..4 + text.len(),
            _ => return Err(malformed("it holds no string")),
        },
        BINARY => match value {
            [a, b, c, d, 0, data @ ..] if is_length([a, b, c, d], data.len()) => 5..value.len(),
            _ => return Err(malformed("it holds no binary value")),
        },
        _ => return Err(malformed("it holds a BSON type that no column has")),
    };
    let length = inside.len();
    bytes.copy_within(start + inside.start..start + inside.end, start);
    bytes.truncate(start + length);
    Ok(match bson_type {
        BINARY => BLOB,
        _ => VAR_STRING,
    })
}

fn replace(bytes: &mut Vec<u8>, start: usize, number: i64, kind: CellKind) -> CellKind {
    use std::io::Write as _;
    bytes.truncate(start);
    // Writing to a buffer cannot fail.
    let _ = write!(bytes, "{number}");
    kind
}

fn is_length(said: [&u8; 4], length: usize) -> bool {
    u32::try_from(length) == Ok(u32::from_le_bytes(said.map(|byte| *byte)))
}

fn whole<const N: usize>(value: &[u8]) -> Result<[u8; N], CellError> {
    value
        .try_into()
        .map_err(|_| malformed("it holds no whole number of its length"))
}

/// A number that is written as it will be read again: `-7`, and not `-07`.
fn number<N: std::str::FromStr>(digits: &[u8]) -> Result<N, CellError> {
    let written = match digits {
        [b'-', rest @ ..] => rest,
        digits => digits,
    };
    let is_canonical = matches!(written, [b'0'] | [b'1'..=b'9', ..]) && digits != b"-0";
    let number = std::str::from_utf8(digits).ok().filter(|_| is_canonical);
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| malformed("the value of a whole number is not one of its length"))
}
