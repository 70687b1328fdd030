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
}

impl<'a> CopyIn<'a> {
    pub(super) fn new(messages: &'a mut Messages) -> Self {
        let mut message = Vec::with_capacity(CHUNK + CHUNK / 4);
        message.extend_from_slice(&[COPY_DATA, 0, 0, 0, 0]);
        Self { messages, message }
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
