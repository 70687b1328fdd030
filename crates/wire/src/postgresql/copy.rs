//! Loading rows (`COPY … FROM STDIN`).

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::messages::{HEADER, Messages, not_writable, write_length};
use super::result::{expect, last_word, read_copied};
use crate::error::WireError;

const COPY_DATA: u8 = b'd';
const COPY_DONE: &[u8] = b"c\0\0\0\x04";
/// Rows travel in messages of about so many bytes.
const CHUNK: usize = 64 << 10;

/// Rows on their way to the server. One that is neither finished nor given up leaves its session unusable.
pub struct CopyIn<'a> {
    messages: &'a mut Messages,
    /// A message in the making.
    message: Vec<u8>,
    /// The row in the making has a value already.
    in_row: bool,
}

impl<'a> CopyIn<'a> {
    pub(super) fn new(messages: &'a mut Messages) -> Self {
        let mut message = Vec::with_capacity(CHUNK + CHUNK / 4);
        message.extend_from_slice(&[COPY_DATA, 0, 0, 0, 0]);
        Self {
            messages,
            message,
            in_row: false,
        }
    }

    /// Appends a value to the row; `None` is NULL. This and [`CopyIn::end_row`] write the text format that the server has
    /// for its default.
    pub fn value(&mut self, value: Option<&[u8]>) {
        if self.in_row {
            self.message.push(b'\t');
        }
        self.in_row = true;
        match value {
            None => self.message.extend_from_slice(br"\N"),
            Some(value) => push_escaped(&mut self.message, value),
        }
    }

    /// Ends the row, and sends what there is if it is much.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn end_row(&mut self) -> Result<(), WireError> {
        self.message.push(b'\n');
        self.in_row = false;
        self.send_if_much().await
    }

    /// Appends data as the statement says it is written.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), WireError> {
        for piece in data.chunks(CHUNK) {
            self.message.extend_from_slice(piece);
            self.send_if_much().await?;
        }
        Ok(())
    }

    /// Sends the rest, and returns the number of rows that the server took.
    ///
    /// # Errors
    /// The server's own, after which none of the rows is there, and those of the connection.
    pub async fn finish(mut self) -> Result<u64, WireError> {
        if self.message.len() == HEADER {
            self.message.clear();
        } else {
            write_length(&mut self.message, 0)?;
        }
        self.message.extend_from_slice(COPY_DONE);
        self.send().await?;
        read_copied(self.messages).await
    }

    async fn send(&mut self) -> Result<(), WireError> {
        match self.messages.stream.send(&self.message).await {
            // A server that ends a session says why before it hangs up, while rows are still on their way to it.
            Err(gone @ (WireError::Io(_) | WireError::Closed)) => Err(last_word(self.messages, gone).await),
            sent => sent,
        }
    }

    async fn send_if_much(&mut self) -> Result<(), WireError> {
        if self.message.len() < CHUNK {
            return Ok(());
        }
        write_length(&mut self.message, 0)?;
        self.send().await?;
        self.message.truncate(HEADER);
        Ok(())
    }
}

/// Begins a copy to the server.
pub(super) async fn begin<'a>(messages: &'a mut Messages, sql: &str) -> Result<CopyIn<'a>, WireError> {
    let mut message = BytesMut::new();
    frontend::query(sql, &mut message).map_err(not_writable)?;
    messages.ask(&message).await?;
    expect(messages, super::result::COPY_IN, "a request for rows").await?;
    Ok(CopyIn::new(messages))
}

/// A value as the text format has it (<https://www.postgresql.org/docs/current/sql-copy.html>).
fn push_escaped(message: &mut Vec<u8>, value: &[u8]) {
    for byte in value {
        match byte {
            b'\\' => message.extend_from_slice(br"\\"),
            b'\n' => message.extend_from_slice(br"\n"),
            b'\r' => message.extend_from_slice(br"\r"),
            b'\t' => message.extend_from_slice(br"\t"),
            byte => message.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_else_is_escaped() {
        let mut message = Vec::new();
        push_escaped(&mut message, b"a\tb\nc\rd\\N\\.");
        assert_eq!(message, br"a\tb\nc\rd\\N\\.");
    }
}
