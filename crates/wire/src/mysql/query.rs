//! Text statements that are written anew for every execution.

use super::framing::{HEADER, write_header};
use crate::error::WireError;

const COM_QUERY: u8 = 0x03;
const BEFORE_TEXT: usize = HEADER + 1;

/// A text statement in a buffer of its own, which keeps its memory from one execution to the next.
pub struct Query {
    packet: Vec<u8>,
}

impl Query {
    /// A statement that begins with this text.
    pub fn new(text: &str) -> Self {
        let mut packet = vec![0; BEFORE_TEXT];
        packet[HEADER] = COM_QUERY;
        packet.extend_from_slice(text.as_bytes());
        Self { packet }
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.packet.len() - BEFORE_TEXT
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps the first `length` bytes of the text.
    pub fn truncate(&mut self, length: usize) {
        self.packet.truncate(BEFORE_TEXT + length);
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        self.packet.extend_from_slice(text);
    }

    /// Appends room for text, to be written over.
    pub fn push_blank(&mut self, length: usize) -> &mut [u8] {
        let end = self.packet.len();
        self.packet.resize(end + length, b' ');
        &mut self.packet[end..]
    }

    /// The bytes that execute the statement.
    pub(super) fn request(&mut self) -> Result<&[u8], WireError> {
        write_header(&mut self.packet, 0)?;
        Ok(&self.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_written_over_its_own_beginning() {
        let mut query = Query::new("SELECT ");
        query.push(b"12345");
        query.truncate("SELECT ".len());
        query.push_blank(1).copy_from_slice(b"7");
        assert_eq!(query.len(), 8);
        assert_eq!(query.request().unwrap(), b"\x09\0\0\0\x03SELECT 7");
    }

    #[test]
    fn a_query_that_no_packet_can_hold_is_refused() {
        let mut query = Query::new("");
        assert!(query.is_empty());
        query.push_blank(16 << 20);
        assert!(matches!(query.request(), Err(WireError::Request(_))));
    }
}
