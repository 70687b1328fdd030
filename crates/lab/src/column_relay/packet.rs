//! Packets of MySQL's protocol: a length of three bytes, a sequence number, a payload.

use std::collections::VecDeque;

use ciphertax_columns::CellError;

/// Bytes before a payload.
pub(super) const HEADER: usize = 4;

/// A payload of this length goes on in the next packet.
pub(super) const LONGEST: usize = 0xFF_FFFF;

/// What stands before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the payload.
    pub(super) length: usize,
    pub(super) sequence: u8,
}

impl Header {
    /// That which the bytes begin with; `None` while it is not whole.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let &[low, middle, high, sequence, ..] = bytes else {
            return None;
        };
        Some(Self {
            length: u32::from_le_bytes([low, middle, high, 0]) as usize,
            sequence,
        })
    }

    fn bytes(self) -> [u8; HEADER] {
        let [low, middle, high, _] = (self.length as u32).to_le_bytes();
        [low, middle, high, self.sequence]
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }
}

/// Makes one or more packets of the payload that stands in `out` after room for a header at `begin`; returns how many.
pub(super) fn finish(out: &mut Vec<u8>, begin: usize, first_sequence: u8) -> u8 {
    let length = out.len() - begin - HEADER;
    let whole = length.min(LONGEST);
    let header = Header {
        length: whole,
        sequence: first_sequence,
    };
    out[begin..begin + HEADER].copy_from_slice(&header.bytes());
    if length < LONGEST {
        return 1;
    }
    let rest = out.split_off(begin + HEADER + whole);
    let mut sequence = first_sequence;
    let mut packets = 1_u8;
    // What is a whole number of longest packets is ended by an empty one.
    let mut left = rest.as_slice();
    loop {
        let (part, others) = left.split_at(left.len().min(LONGEST));
        sequence = sequence.wrapping_add(1);
        packets = packets.wrapping_add(1);
        let header = Header {
            length: part.len(),
            sequence,
        };
        header.write(out);
        out.extend_from_slice(part);
        if part.len() < LONGEST {
            return packets;
        }
        left = others;
    }
}

/// A number in front of other bytes, and these; `None` where there is none.
pub(super) fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let width = match first {
        0..=0xFA => return Some((first.into(), rest)),
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return None,
    };
    let (low, rest) = rest.split_at_checked(width)?;
    let mut number = [0; 8];
    number[..width].copy_from_slice(low);
    Some((u64::from_le_bytes(number), rest))
}

/// Bytes with their length before them, and what follows; `None` where there are none.
pub(super) fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// Appends bytes with their length before them.
pub(super) fn push_counted(bytes: &[u8], out: &mut Vec<u8>) {
    let length = bytes.len();
    match length {
        0..=0xFA => out.push(length as u8),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// What a client can do, as it says in the first bytes of its login.
mod capability {
    /// Since 4.1, all later ones.
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    /// MySQL's own clients; without it the extended ones follow.
    pub(super) const MYSQL: u32 = 1;
    pub(super) const COMPRESS: u32 = 1 << 5;
    pub(super) const TLS: u32 = 1 << 11;
    pub(super) const WITHOUT_EOF: u32 = 1 << 24;
    pub(super) const OPTIONAL_DEFINITIONS: u32 = 1 << 25;
    pub(super) const ZSTD: u32 = 1 << 26;
    /// Of MariaDB's extended ones.
    pub(super) const EXTENDED_DEFINITIONS: u32 = 1 << 3;
    /// Of MariaDB's extended ones.
    pub(super) const CACHED_DEFINITIONS: u32 = 1 << 4;
}

/// Bytes of a login that tell what a client can do: of a request for TLS, all.
const LOGIN: usize = 32;

/// Bytes of a command that tell whether it asks for a cursor.
const EXECUTE: usize = 6;

/// The packets of one client.
///
/// They are passed on as they are, and looked at for what will be answered.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Bytes of the packet at hand that have not come yet.
    passing: usize,
    /// True if the next packet goes on with the payload of the last.
    is_continued: bool,
}

impl Commands {
    /// Takes what can be understood of what has arrived, and returns how much that is; it is to be passed on.
    pub(super) fn feed(&mut self, input: &[u8], turn: &mut Turn) -> Result<usize, Trouble> {
        let mut rest = input;
        loop {
            let now = self.passing.min(rest.len());
            self.passing -= now;
            rest = &rest[now..];
            let Some(header) = Header::read(rest) else { break };
            let begin = &rest[HEADER..rest.len().min(HEADER + header.length)];
            if !self.is_continued && !packet(header, begin, turn)? {
                break;
            }
            self.is_continued = header.length == LONGEST;
            self.passing = header.length;
            rest = &rest[HEADER..];
        }
        Ok(input.len() - rest.len())
    }
}

/// Notes what a packet says; false if too little of it has come.
fn packet(header: Header, begin: &[u8], turn: &mut Turn) -> Result<bool, Trouble> {
    if turn.sends_file {
        turn.sends_file = header.length > 0;
        return Ok(true);
    }
    if turn.is_logged_in {
        return command(header, begin, turn);
    }
    if turn.client.is_none() {
        if header.length < LOGIN {
            return Err(Trouble::Client("a login that is too short"));
        }
        let Some(begin) = begin.first_chunk() else {
            return Ok(false);
        };
        turn.client = Some(login(begin)?);
    }
    Ok(true)
}

/// What follows from what a client can do.
fn login(begin: &[u8; LOGIN]) -> Result<Client, Trouble> {
    let number = |at: usize| u32::from_le_bytes([begin[at], begin[at + 1], begin[at + 2], begin[at + 3]]);
    let can = number(0);
    let can_extended = if can & capability::MYSQL == 0 {
        number(LOGIN - 4)
    } else {
        0
    };
    for (is_asked_for, what) in [
        (
            can & capability::PROTOCOL_41 == 0,
            "the protocol before MySQL 4.1",
        ),
        (can & capability::TLS != 0, "TLS"),
        (
            can & (capability::COMPRESS | capability::ZSTD) != 0,
            "compression",
        ),
        (
            can & capability::OPTIONAL_DEFINITIONS != 0,
            "results without definitions (CLIENT_OPTIONAL_RESULTSET_METADATA)",
        ),
        (
            can_extended & capability::CACHED_DEFINITIONS != 0,
            "results without definitions (MARIADB_CLIENT_CACHE_METADATA)",
        ),
    ] {
        if is_asked_for {
            return Err(Trouble::Unsupported(what));
        }
    }
    Ok(Client {
        is_without_eof: can & capability::WITHOUT_EOF != 0,
        is_extended: can_extended & capability::EXTENDED_DEFINITIONS != 0,
    })
}

fn command(header: Header, begin: &[u8], turn: &mut Turn) -> Result<bool, Trouble> {
    if header.sequence != 0 || header.length == 0 {
        return Err(Trouble::Client("a packet that begins no command"));
    }
    let Some(&command) = begin.first() else {
        return Ok(false);
    };
    let question = match command {
        // Quit, long data, close of a statement: not answered.
        0x01 | 0x18 | 0x19 => return Ok(true),
        // Schema, statistics, ping, reset of a statement, option, reset of the session.
        0x02 | 0x09 | 0x0E | 0x1A | 0x1B | 0x1F => Question::One,
        0x03 => Question::Text,
        0x16 => Question::Prepare,
        0x17 if begin.len() < EXECUTE.min(header.length) => return Ok(false),
        0x17 if begin.len() < EXECUTE => {
            return Err(Trouble::Client("a statement's execution that is too short"));
        }
        0x17 if begin[EXECUTE - 1] & 0b111 != 0 => return Err(Trouble::Unsupported("cursors")),
        0x17 => Question::Binary,
        0x11 => return Err(Trouble::Unsupported("a change of the user (COM_CHANGE_USER)")),
        0x04 => return Err(Trouble::Unsupported("lists of fields (COM_FIELD_LIST)")),
        0x1C => return Err(Trouble::Unsupported("cursors (COM_STMT_FETCH)")),
        _ => return Err(Trouble::Unsupported("a command that no workload has")),
    };
    turn.ask(question)?;
    Ok(true)
}

/// Questions that a client may have asked without waiting for an answer.
const MOST_QUESTIONS: usize = 256;

/// What a client's packets say about the server's.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// `None` until the client has answered the greeting.
    pub(super) client: Option<Client>,
    /// True once the server has let the client in.
    pub(super) is_logged_in: bool,
    /// True while the client sends a file that the server asked for.
    pub(super) sends_file: bool,
    questions: VecDeque<Question>,
}

/// What a client says of itself when it logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    /// Definitions and rows end without a packet of their own.
    pub(super) is_without_eof: bool,
    /// Definitions say more about types (MariaDB).
    pub(super) is_extended: bool,
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// One packet, whatever is in it.
    One,
    /// What preparing a statement gives.
    Prepare,
    /// Results whose rows are text.
    Text,
    /// Results whose rows are binary.
    Binary,
}

impl Turn {
    pub(super) fn ask(&mut self, question: Question) -> Result<(), Trouble> {
        if self.questions.len() == MOST_QUESTIONS {
            return Err(Trouble::Client("commands without waiting for their answers"));
        }
        self.questions.push_back(question);
        Ok(())
    }

    /// The question that is answered now.
    pub(super) fn answered(&mut self) -> Option<Question> {
        self.questions.pop_front()
    }
}

/// Something that a connection cannot go on after.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Trouble {
    /// A client asked for a part of the protocol that hides from the relay which cells travel, or that it does not follow.
    #[error("it does not follow {0}; leave that out")]
    Unsupported(&'static str),
    /// What a client sent is not MySQL's protocol.
    #[error("the client sent {0}")]
    Client(&'static str),
    /// What a server sent is not MySQL's protocol.
    #[error("the server sent {0}")]
    Server(&'static str),
    /// A cell could not be made.
    #[error("the cell in column {column} of a row {error}")]
    Cell {
        /// Which column of the result, counted from 1.
        column: usize,
        /// Why not.
        error: CellError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_are_read_as_they_were_written() {
        for length in [0, 1, 250, 251, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000] {
            let bytes = vec![7; length];
            let mut out = Vec::new();
            push_counted(&bytes, &mut out);
            out.push(9);
            assert_eq!(counted(&out), Some((bytes.as_slice(), &[9][..])));
            assert_eq!(counted(&out[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_payload_is_cut_into_packets_whose_last_is_not_the_longest() {
        for (length, lengths) in [
            (0, vec![0]),
            (LONGEST - 1, vec![LONGEST - 1]),
            (LONGEST, vec![LONGEST, 0]),
            (2 * LONGEST + 5, vec![LONGEST, LONGEST, 5]),
        ] {
            let mut out = vec![1, 2, 0, 0, 0, 0];
            out.resize(6 + length, 3);
            assert_eq!(finish(&mut out, 2, 254), lengths.len() as u8);
            let mut rest = &out[2..];
            let mut sequence = 254_u8;
            for length in lengths {
                let header = Header::read(rest).unwrap();
                assert_eq!(header, Header { length, sequence });
                rest = &rest[HEADER + length..];
                sequence = sequence.wrapping_add(1);
            }
            assert_eq!((rest, &out[..2]), (&[][..], &[1, 2][..]));
        }
    }
}
