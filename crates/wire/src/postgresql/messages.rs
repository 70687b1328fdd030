//! Messages: a byte that says what it is, a length of four bytes that counts itself, and what is said.

use super::result::server_error;
use super::row::text;
use crate::buffer::ReadBuffer;
use crate::error::{Result, WireError};
use crate::stream::Stream;

/// Bytes before what a message says.
pub(super) const HEADER: usize = 5;
/// Of a message that says it is long, so much is made room for before so much has come.
const STEP: usize = 256 << 10;
/// A message as long as this is refused, whether it is sent or received.
pub(super) const LONGEST: usize = 16 << 20;
/// The same before the server has let the client in.
const LONGEST_OF_LOGIN: usize = 64 << 10;
/// Messages in a row that nobody asked for.
const MOST_UNASKED: u32 = 10_000;

/// What the server may say at any time (NoticeResponse, ParameterStatus, NotificationResponse).
const NOTICE: u8 = b'N';
const PARAMETER_STATUS: u8 = b'S';
const NOTIFICATION: u8 = b'A';
pub(super) const ERROR: u8 = b'E';

/// A message of the server, where it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message<'a> {
    /// What it is.
    pub(super) kind: u8,
    /// What it says.
    pub(super) body: &'a [u8],
}

impl Message<'_> {
    /// An error that it is, or that it is here at all.
    pub(super) fn unexpected(self, what: &str) -> WireError {
        match self.kind {
            ERROR => server_error(self.body),
            kind => WireError::protocol(format!("a message {:?} came instead of {what}", char::from(kind))),
        }
    }
}

/// A stream cut into messages.
pub(super) struct Messages {
    pub(super) stream: Stream,
    buffer: ReadBuffer,
    /// Bytes of `buffer` that belong to the message last returned.
    returned: usize,
    longest: usize,
    /// Something was asked and the whole answer has not been read.
    asked: bool,
    /// What the server says of its version (`server_version`); empty if it has not.
    pub(super) server_version: String,
}

impl Messages {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: ReadBuffer::new(),
            returned: 0,
            longest: LONGEST_OF_LOGIN,
            asked: true,
            server_version: String::new(),
        }
    }

    /// Takes messages as long as those of a server that has let the client in.
    pub(super) fn logged_in(&mut self) {
        self.longest = LONGEST;
    }

    /// The one byte that answers the request for TLS. After a yes nothing may follow: bytes injected before the handshake
    /// must not be taken for the server's own (CVE-2021-23222).
    pub(super) async fn answer_to_request_for_tls(&mut self) -> Result<u8> {
        self.stream.receive(&mut self.buffer, 1).await?;
        match self.buffer.unread() {
            [b'S', _, ..] => Err(WireError::protocol(
                "plaintext data after the answer to the request for TLS",
            )),
            &[answer, ..] => {
                self.buffer.consume(1);
                Ok(answer)
            }
            [] => Err(WireError::Closed),
        }
    }

    /// Sends what begins an exchange.
    pub(super) async fn ask(&mut self, bytes: &[u8]) -> Result<()> {
        if self.asked {
            return Err(WireError::Request(
                "the answer to an earlier one was not read to its end".into(),
            ));
        }
        self.asked = true;
        self.stream.send(bytes).await
    }

    /// Takes a message that says that the server is ready for the next question, which ends every answer.
    pub(super) fn ready(&mut self) -> Result<()> {
        if !matches!(self.body(), b"I" | b"T" | b"E") {
            return Err(WireError::protocol("a state of a transaction that is none"));
        }
        self.asked = false;
        Ok(())
    }

    /// The next message that is not one the server may send at any time; of those only its version is kept.
    pub(super) async fn read(&mut self) -> Result<Message<'_>> {
        let mut unasked = 0;
        let kind = loop {
            let kind = self.receive().await?;
            match kind {
                NOTICE | NOTIFICATION => {}
                PARAMETER_STATUS => self.keep_version()?,
                kind => break kind,
            }
            unasked += 1;
            if unasked > MOST_UNASKED {
                return Err(WireError::protocol("notices without end"));
            }
        };
        Ok(Message {
            kind,
            body: self.body(),
        })
    }

    /// What the next message says if it is of this kind; else it is read again.
    pub(super) async fn read_if(&mut self, kind: u8) -> Result<Option<&[u8]>> {
        if self.read().await?.kind == kind {
            return Ok(Some(self.body()));
        }
        self.returned = 0;
        Ok(None)
    }

    async fn receive(&mut self) -> Result<u8> {
        self.buffer.consume(std::mem::take(&mut self.returned));
        if self.buffer.unread().len() < HEADER {
            self.stream.receive(&mut self.buffer, HEADER).await?;
        }
        let &[kind, a, b, c, d, ..] = self.buffer.unread() else {
            return Err(WireError::Closed);
        };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length < HEADER - 1 || length > self.longest {
            return Err(WireError::protocol(format!(
                "a message {:?} of {length} bytes; {} to {} are read",
                char::from(kind),
                HEADER - 1,
                self.longest
            )));
        }
        let whole = 1 + length;
        while self.buffer.unread().len() < whole {
            let next = whole.min(self.buffer.unread().len() + STEP);
            self.stream.receive(&mut self.buffer, next).await?;
        }
        self.returned = whole;
        Ok(kind)
    }

    fn body(&self) -> &[u8] {
        &self.buffer.unread()[HEADER..self.returned]
    }

    fn keep_version(&mut self) -> Result<()> {
        let (name, value) = text(self.body())
            .and_then(|(name, rest)| Some((name, text(rest)?.0)))
            .ok_or_else(|| WireError::protocol("a setting that cannot be read"))?;
        if name == b"server_version" {
            self.server_version = String::from_utf8_lossy(value).into_owned();
        }
        Ok(())
    }
}

/// Writes its length into a message that begins at `start`.
pub(super) fn write_length(bytes: &mut [u8], start: usize) -> Result<()> {
    let length = bytes.len() - start - 1;
    if length > LONGEST {
        return Err(WireError::Request("it has more than 16 MiB".into()));
    }
    bytes[start + 1..start + HEADER].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(())
}

/// What `postgres-protocol` does not write: a text with a zero in it, or a message of 2 GiB.
pub(super) fn not_writable(error: std::io::Error) -> WireError {
    WireError::Request(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_written_where_it_belongs() {
        let mut bytes = b"xxQ????SELECT 1\0".to_vec();
        write_length(&mut bytes, 2).unwrap();
        assert_eq!(&bytes[2..7], b"Q\0\0\0\x0D");
        let mut long = vec![0; LONGEST + 2];
        assert!(matches!(write_length(&mut long, 0), Err(WireError::Request(_))));
    }
}
