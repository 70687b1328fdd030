//! Messages of `OP_MSG` (<https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>): a question with a
//! number, and the answer to that number; and commands, which are written anew for every execution.

use bson::raw::{CStr, RawDocument};
use bson::spec::{BinarySubtype, ElementType};

use super::reply::Reply;
use super::unreadable;
use crate::buffer::ReadBuffer;
use crate::error::{Result, WireError};
use crate::stream::Stream;

/// A message of any server has at most so many bytes (`maxMessageSizeBytes`).
const LONGEST: usize = 48_000_000;
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
    pub(super) async fn exchange(&mut self, message: &mut [u8]) -> Result<&RawDocument> {
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
    pub(super) async fn command(&mut self, command: &RawDocument) -> Result<Reply<'_>> {
        Reply::parse(self.exchange(Request::of(command).message()).await?)
    }

    async fn answer(&mut self) -> Result<&RawDocument> {
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
    fn check_header(&self) -> Result<usize> {
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
const HEADER: usize = 20;
/// The kind of a section that is one document.
const BODY: u8 = 0;
/// The kind of a section that is a sequence of documents.
const SEQUENCE: u8 = 1;

/// A command in a buffer of its own, which keeps its memory from one execution to the next.
///
/// BSON is written straight into the message: `bson`'s own documents would each be built apart and copied.
pub struct Request {
    message: Vec<u8>,
}

impl Default for Request {
    fn default() -> Self {
        Self::new()
    }
}

impl Request {
    /// A command without any element.
    pub fn new() -> Self {
        let mut request = Self { message: Vec::new() };
        request.command(|_| {});
        request
    }

    /// A command that was written elsewhere; it names its database as `$db`.
    pub fn of(command: &RawDocument) -> Self {
        let mut request = Self {
            message: Vec::with_capacity(HEADER + 1 + command.as_bytes().len()),
        };
        request.begin();
        request.message.extend_from_slice(command.as_bytes());
        request
    }

    /// Writes the command anew. Its first element is the command's name, and its database is named as `$db`.
    pub fn command(&mut self, write: impl FnOnce(&mut DocumentWriter<'_>)) {
        self.begin();
        write_document(&mut self.message, write);
    }

    /// Appends documents that belong to the command, under the name that an array of them would have there.
    pub fn sequence(&mut self, name: &CStr, write: impl FnOnce(&mut SequenceWriter<'_>)) {
        self.message.push(SEQUENCE);
        let start = self.message.len();
        self.message.extend_from_slice(&[0; 4]);
        write_name(&mut self.message, name);
        write(&mut SequenceWriter {
            message: &mut self.message,
        });
        write_length(&mut self.message, start);
    }

    /// Bytes of the message.
    pub fn size(&self) -> usize {
        self.message.len()
    }

    pub(super) fn message(&mut self) -> &mut [u8] {
        &mut self.message
    }

    fn begin(&mut self) {
        self.message.clear();
        self.message.resize(HEADER, 0);
        self.message.push(BODY);
    }
}

/// Writes the documents of a sequence.
pub struct SequenceWriter<'a> {
    message: &'a mut Vec<u8>,
}

impl SequenceWriter<'_> {
    /// Appends a document.
    pub fn document(&mut self, write: impl FnOnce(&mut DocumentWriter<'_>)) {
        write_document(self.message, write);
    }

    /// Appends a document that was written elsewhere.
    pub fn raw_document(&mut self, document: &RawDocument) {
        self.message.extend_from_slice(document.as_bytes());
    }
}

/// Writes the elements of a document, one after the other.
pub struct DocumentWriter<'a> {
    message: &'a mut Vec<u8>,
}

impl DocumentWriter<'_> {
    /// Appends a text.
    pub fn string(&mut self, name: &CStr, value: &str) {
        self.blank_string(name, value.len())
            .copy_from_slice(value.as_bytes());
    }

    /// Appends a text of `length` blanks, to be written over with UTF-8.
    pub fn blank_string(&mut self, name: &CStr, length: usize) -> &mut [u8] {
        self.name(ElementType::String, name);
        self.message.extend_from_slice(&(length as u32 + 1).to_le_bytes());
        let start = self.message.len();
        self.message.resize(start + length, b' ');
        self.message.push(0);
        &mut self.message[start..start + length]
    }

    /// Appends `length` bytes of the generic subtype, to be written over.
    pub fn blank_binary(&mut self, name: &CStr, length: usize) -> &mut [u8] {
        self.blank(name, BinarySubtype::Generic, length)
    }

    /// Appends `length` bytes of the subtype of values that the client encrypts, to be written over.
    pub fn blank_encrypted(&mut self, name: &CStr, length: usize) -> &mut [u8] {
        self.blank(name, BinarySubtype::Encrypted, length)
    }

    fn blank(&mut self, name: &CStr, subtype: BinarySubtype, length: usize) -> &mut [u8] {
        self.name(ElementType::Binary, name);
        self.message.extend_from_slice(&(length as u32).to_le_bytes());
        self.message.push(subtype.into());
        let start = self.message.len();
        self.message.resize(start + length, 0);
        &mut self.message[start..]
    }

    /// Appends an integer of 32 bits.
    pub fn int32(&mut self, name: &CStr, value: i32) {
        self.name(ElementType::Int32, name);
        self.message.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends true or false.
    pub fn boolean(&mut self, name: &CStr, value: bool) {
        self.name(ElementType::Boolean, name);
        self.message.push(value.into());
    }

    /// Appends a document.
    pub fn document(&mut self, name: &CStr, write: impl FnOnce(&mut DocumentWriter<'_>)) {
        self.name(ElementType::EmbeddedDocument, name);
        write_document(self.message, write);
    }

    /// Appends a document that was written elsewhere.
    pub fn raw_document(&mut self, name: &CStr, document: &RawDocument) {
        self.name(ElementType::EmbeddedDocument, name);
        self.message.extend_from_slice(document.as_bytes());
    }

    fn name(&mut self, kind: ElementType, name: &CStr) {
        self.message.push(kind as u8);
        write_name(self.message, name);
    }
}

fn write_document(message: &mut Vec<u8>, write: impl FnOnce(&mut DocumentWriter<'_>)) {
    let start = message.len();
    message.extend_from_slice(&[0; 4]);
    write(&mut DocumentWriter { message });
    message.push(0);
    write_length(message, start);
}

fn write_name(message: &mut Vec<u8>, name: &CStr) {
    message.extend_from_slice(name.as_str().as_bytes());
    message.push(0);
}

/// Writes the number of bytes from `start` on at `start`. A message too long for it is refused before it is sent.
fn write_length(message: &mut [u8], start: usize) {
    let length = (message.len() - start) as u32;
    message[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use bson::raw::cstr;
    use bson::rawdoc;

    use super::*;

    #[test]
    fn what_is_written_element_by_element_is_what_the_crate_bson_writes() {
        let mut request = Request::new();
        for key in ["user1", "user6284781860667377211"] {
            request.command(|command| {
                command.string(cstr!("find"), "usertable");
                command.document(cstr!("filter"), |filter| filter.string(cstr!("_id"), key));
                command.int32(cstr!("limit"), 1);
                command.boolean(cstr!("singleBatch"), true);
                command.raw_document(cstr!("projection"), &rawdoc! { "field0": 1 });
                command
                    .blank_binary(cstr!("bytes"), 3)
                    .copy_from_slice(&[1, 2, 3]);
                command.blank_encrypted(cstr!("cell"), 2).copy_from_slice(&[4, 5]);
                command.blank_string(cstr!("$db"), 4).copy_from_slice(b"ycsb");
            });
            let expected = rawdoc! {
                "find": "usertable",
                "filter": { "_id": key },
                "limit": 1_i32,
                "singleBatch": true,
                "projection": { "field0": 1_i32 },
                "bytes": bson::Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2, 3] },
                "cell": bson::Binary { subtype: BinarySubtype::Encrypted, bytes: vec![4, 5] },
                "$db": "ycsb",
            };
            assert_eq!(&request.message[HEADER + 1..], expected.as_bytes());
            assert_eq!(request.message, Request::of(&expected).message);
        }
    }

    #[test]
    fn a_sequence_carries_its_length_its_name_and_its_documents() {
        let mut request = Request::of(&rawdoc! { "insert": "t", "$db": "d" });
        let body = request.size();
        let one = rawdoc! { "_id": 1_i32 };
        request.sequence(cstr!("documents"), |documents| {
            documents.document(|document| document.int32(cstr!("_id"), 1));
            documents.raw_document(&one);
        });
        let section = &request.message[body..];
        let length = (section.len() as u32 - 1).to_le_bytes();
        let expected = [
            [SEQUENCE].as_slice(),
            &length,
            b"documents\0",
            one.as_bytes(),
            one.as_bytes(),
        ];
        assert_eq!(section, expected.concat());
    }
}
