//! Text statements that are written anew for every execution.

use super::messages::{HEADER, write_length};
use crate::error::WireError;

const QUERY: u8 = b'Q';

/// A text statement in a buffer of its own, which keeps its memory from one execution to the next.
pub struct Query {
    message: Vec<u8>,
    /// The zero that ends the text is there.
    ended: bool,
}

impl Query {
    /// A statement that begins with this text.
    pub fn new(text: &str) -> Self {
        let mut message = vec![0; HEADER];
        message[0] = QUERY;
        message.extend_from_slice(text.as_bytes());
        Self {
            message,
            ended: false,
        }
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.message.len() - HEADER - usize::from(self.ended)
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps the first `length` bytes of the text.
    pub fn truncate(&mut self, length: usize) {
        self.reopen();
        self.message.truncate(HEADER + length);
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        self.reopen();
        self.message.extend_from_slice(text);
    }

    /// Appends room for text, to be written over.
    pub fn push_blank(&mut self, length: usize) -> &mut [u8] {
        self.reopen();
        let end = self.message.len();
        self.message.resize(end + length, b' ');
        &mut self.message[end..]
    }

    /// The bytes that execute the statement.
    pub(super) fn request(&mut self) -> Result<&[u8], WireError> {
        if !self.ended {
            self.message.push(0);
            self.ended = true;
            write_length(&mut self.message, 0)?;
        }
        Ok(&self.message)
    }

    fn reopen(&mut self) {
        if self.ended {
            self.message.pop();
            self.ended = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_written_over_its_own_beginning() {
        let mut query = Query::new("SELECT ");
        query.push(b"12345");
        assert_eq!(query.request().unwrap(), b"Q\0\0\0\x11SELECT 12345\0");
        query.truncate("SELECT ".len());
        query.push_blank(1).copy_from_slice(b"7");
        for _ in 0..2 {
            assert_eq!(query.request().unwrap(), b"Q\0\0\0\x0DSELECT 7\0");
            assert_eq!(query.len(), 8);
        }
    }

    #[test]
    fn a_query_that_no_message_can_hold_is_refused() {
        let mut query = Query::new("");
        assert!(query.is_empty());
        query.push_blank(16 << 20);
        assert!(matches!(query.request(), Err(WireError::Request(_))));
    }
}
