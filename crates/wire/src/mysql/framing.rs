//! Packets, and statements as text.

use crate::buffer::ReadBuffer;
use crate::error::{Result, WireError};
use crate::sql::Query;
use crate::stream::Stream;

pub(crate) const HEADER: usize = 4;
/// Of a packet that says it is long, so much is made room for before so much has come.
const STEP: usize = 256 << 10;
/// A payload of this length is continued in the next packet.
const LONGEST: usize = 0xFF_FFFF;

/// A stream cut into packets.
pub(crate) struct Framed {
    pub(crate) stream: Stream,
    buffer: ReadBuffer,
    /// Bytes of `buffer` that belong to the packet last returned.
    returned: usize,
    sequence: u8,
}

impl Framed {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: ReadBuffer::new(),
            returned: 0,
            sequence: 0,
        }
    }

    /// The payload of the next packet.
    pub(crate) async fn read(&mut self) -> Result<&[u8]> {
        self.buffer.consume(std::mem::take(&mut self.returned));
        if self.buffer.unread().len() < HEADER {
            self.stream.receive(&mut self.buffer, HEADER).await?;
        }
        let &[low, middle, high, sequence, ..] = self.buffer.unread() else {
            return Err(WireError::Closed);
        };
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        let expected = self.sequence;
        let wrong_number =
            || WireError::protocol(format!("packet number {sequence} came instead of {expected}"));
        // The last word of a server that ends a session, which answers nothing.
        let is_last_word = sequence == 0 && expected == 1;
        if sequence != expected && !is_last_word {
            return Err(wrong_number());
        }
        if length == LONGEST {
            return Err(WireError::protocol(
                "a row of 16 MiB or more, which no workload of ciphertax asks for",
            ));
        }
        self.sequence = sequence.wrapping_add(1);
        let whole = HEADER + length;
        while self.buffer.unread().len() < whole {
            let next = whole.min(self.buffer.unread().len() + STEP);
            self.stream.receive(&mut self.buffer, next).await?;
        }
        if is_last_word && self.buffer.unread().get(HEADER) != Some(&0xFF) {
            return Err(wrong_number());
        }
        self.returned = whole;
        Ok(&self.buffer.unread()[HEADER..HEADER + length])
    }

    /// Sends a packet in answer to one of the server's. `packet` begins with [`HEADER`] bytes of any content.
    pub(crate) async fn reply(&mut self, packet: &mut [u8]) -> Result<()> {
        write_header(packet, self.sequence)?;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.send(packet).await
    }

    /// Sends a packet that begins a command. `packet` begins with its header, with sequence number 0.
    pub(crate) async fn command(&mut self, packet: &[u8]) -> Result<()> {
        self.sequence = 1;
        self.stream.send(packet).await
    }

    /// True when everything that was received has been read: anything else means that client and server disagree.
    pub(crate) fn is_idle(&self) -> bool {
        self.buffer.unread().len() == self.returned
    }
}

/// A packet that begins a command: header, command byte, payload.
pub(crate) fn command_packet(command: u8, payload: &[u8]) -> Result<Vec<u8>> {
    let mut packet = Vec::with_capacity(HEADER + 1 + payload.len());
    packet.extend_from_slice(&[0; HEADER]);
    packet.push(command);
    packet.extend_from_slice(payload);
    write_header(&mut packet, 0)?;
    Ok(packet)
}

/// Writes the header of a packet over its first [`HEADER`] bytes.
pub(crate) fn write_header(packet: &mut [u8], sequence: u8) -> Result<()> {
    let length = packet.len() - HEADER;
    if length >= LONGEST {
        return Err(WireError::Request(
            "it has 16 MiB or more and does not fit in one packet".into(),
        ));
    }
    packet[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    packet[3] = sequence;
    Ok(())
}

const COM_QUERY: u8 = 0x03;

/// The bytes that run a text statement.
pub(super) fn request(query: &mut Query) -> Result<&[u8]> {
    let packet = query.unended();
    packet[HEADER] = COM_QUERY;
    write_header(packet, 0)?;
    Ok(packet)
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
        assert_eq!(query.text(), b"SELECT 7");
        assert_eq!(request(&mut query).unwrap(), b"\x09\0\0\0\x03SELECT 7");
    }

    #[test]
    fn a_query_that_no_packet_can_hold_is_refused() {
        let mut query = Query::new("");
        query.push_blank(16 << 20);
        assert!(matches!(request(&mut query), Err(WireError::Request(_))));
    }
}
