//! The relay before servers that are made up.

mod followed;
mod hostile;
mod sockets;

use ciphertax_columns::CellError;

use super::packet::{HEADER, finish, push_counted};
use super::rows::MakeCell;

/// Makes cells that can be read: `<3:value>`.
pub(super) fn stub() -> MakeCell {
    Box::new(|kind, plaintext, cell| {
        if plaintext == b"impossible" {
            return Err(CellError::Library("cannot be worked on".into()));
        }
        cell.extend_from_slice(format!("<{}:", kind.0).as_bytes());
        cell.extend_from_slice(plaintext);
        cell.push(b'>');
        Ok(())
    })
}

/// Packets in one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Packets {
    pub(super) bytes: Vec<u8>,
    sequence: u8,
}

impl Packets {
    pub(super) fn new(sequence: u8) -> Self {
        Self {
            bytes: Vec::new(),
            sequence,
        }
    }

    pub(super) fn add(mut self, payload: &[u8]) -> Self {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER]);
        self.bytes.extend_from_slice(payload);
        let count = finish(&mut self.bytes, begin, self.sequence);
        self.sequence = self.sequence.wrapping_add(count);
        self
    }

    pub(super) fn and(mut self, others: Self) -> Self {
        self.bytes.extend_from_slice(&others.bytes);
        self
    }
}

pub(super) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
pub(super) const GREETING: &[u8] = b"\x0a10.11.0-MariaDB\0and so on";

/// A login; `can` is added to what every client can.
pub(super) fn login(can: u32, extended: u32) -> Vec<u8> {
    const PROTOCOL_41: u32 = 1 << 9;
    let mut payload = Vec::new();
    payload.extend_from_slice(&(PROTOCOL_41 | can).to_le_bytes());
    payload.extend_from_slice(&[0; 24]);
    payload.extend_from_slice(&extended.to_le_bytes());
    payload.extend_from_slice(b"root\0");
    payload
}

/// A text row.
pub(super) fn text_row(values: &[Option<&str>]) -> Vec<u8> {
    let mut row = Vec::new();
    for value in values {
        match value {
            None => row.push(0xFB),
            Some(value) => push_counted(value.as_bytes(), &mut row),
        }
    }
    row
}
