//! Messages of `OP_MSG` (<https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>): a question with a
//! number, and the answer to that number.

use bson::raw::RawDocument;

use super::reply::Reply;
use super::request::Request;
use super::unreadable;
use crate::buffer::ReadBuffer;
use crate::error::WireError;
use crate::stream::Stream;

/// A message of any server has at most so many bytes (`maxMessageSizeBytes`).
pub(super) const LONGEST: usize = 48_000_000;
/// Of an answer that says it is long, so much is made room for before so much has come.
const STEP: usize = 256 << 10;

const OP_MSG: i32 = 2013;
const CHECKSUM_PRESENT: u32 = 1 << 0;
const MORE_TO_COME: u32 = 1 << 1;
/// Flags that a reader must know (bits 0 to 15).
const REQUIRED_FLAGS: u32 = 0xFFFF;

/// A stream of questions and answers.
pub(super) struct Messages {
    pub(super) stream: Stream,
    buffer: ReadBuffer,
    /// Bytes of `buffer` that belong to the answer last returned.
    returned: usize,
    number: i32,
    /// Bytes of a question at most.
    longest: usize,
}

impl Messages {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: ReadBuffer::new(),
            returned: 0,
            number: 0,
            longest: LONGEST,
        }
    }

    /// Notes how many bytes a question may have for this server.
    pub(super) fn limit(&mut self, longest: usize) {
        self.longest = longest.min(LONGEST);
    }

    /// Sends a message, which begins with [`HEADER`] bytes of any content, and reads the answer.
    pub(super) async fn exchange(&mut self, message: &mut [u8]) -> Result<&RawDocument, WireError> {
        self.buffer.consume(std::mem::take(&mut self.returned));
        if !self.buffer.unread().is_empty() {
            return Err(WireError::protocol("an answer that nobody asked for"));
        }
        if message.len() > self.longest {
            return Err(WireError::Request(format!(
                "it has {} bytes, and the server takes {} at most",
                message.len(),
                self.longest
            )));
        }
        self.number = self.number.wrapping_add(1);
        write_header(message, self.number);
        self.stream.send(message).await?;
        self.answer().await
    }

    /// Runs a command that names its database as `$db`.
    pub(super) async fn command(&mut self, command: &RawDocument) -> Result<Reply<'_>, WireError> {
        Reply::parse(self.exchange(Request::of(command).message()).await?)
    }

    async fn answer(&mut self) -> Result<&RawDocument, WireError> {
        self.stream.receive(&mut self.buffer, HEADER).await?;
        let length = self.check_header()?;
        while self.buffer.unread().len() < length {
            let next = length.min(self.buffer.unread().len() + STEP);
            self.stream.receive(&mut self.buffer, next).await?;
        }
        self.returned = length;
        match &self.buffer.unread()[HEADER..length] {
            [BODY, document @ ..] => RawDocument::from_bytes(document).map_err(unreadable),
            _ => Err(WireError::protocol("an answer that does not begin with its body")),
        }
    }

    /// The length of the answer whose header has come.
    fn check_header(&self) -> Result<usize, WireError> {
        let header = self.buffer.unread();
        let field = |index: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&header[4 * index..4 * index + 4]);
            i32::from_le_bytes(bytes)
        };
        let (length, answered, code, flags) = (field(0), field(2), field(3), field(4) as u32);
        if code != OP_MSG {
            return Err(WireError::protocol(
                "the answer is not that of a MongoDB server, or of one before 3.6",
            ));
        }
        let length = usize::try_from(length).unwrap_or(0);
        if !(HEADER + 1..=LONGEST).contains(&length) {
            return Err(WireError::protocol(format!("an answer of {length} bytes")));
        }
        if answered != self.number {
            return Err(WireError::protocol(format!(
                "the answer to question {answered} came instead of that to {}",
                self.number
            )));
        }
        match flags & REQUIRED_FLAGS {
            0 => Ok(length),
            flags if flags & CHECKSUM_PRESENT != 0 => {
                Err(WireError::protocol("a checksum that was not asked for"))
            }
            flags if flags & MORE_TO_COME != 0 => Err(WireError::protocol("several answers to one question")),
            flags => Err(WireError::protocol(format!("unknown flags {flags:#x}"))),
        }
    }
}

/// Writes the header of a message over its first [`HEADER`] bytes. The message's length is at most [`LONGEST`].
fn write_header(message: &mut [u8], number: i32) {
    let fields = [message.len() as i32, number, 0, OP_MSG, 0];
    for (bytes, field) in message.chunks_exact_mut(4).zip(fields) {
        bytes.copy_from_slice(&field.to_le_bytes());
    }
}

/// Bytes of a message before its first section: length, number, number of the question, code (4 each), flags (4).
pub(super) const HEADER: usize = 20;
/// The kind of a section that is one document.
pub(super) const BODY: u8 = 0;
/// The kind of a section that is a sequence of documents.
pub(super) const SEQUENCE: u8 = 1;
