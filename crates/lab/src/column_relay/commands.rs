//! What a client sends: passed on as it is, and looked at for what will be answered.

use super::connection::{Client, Question, Trouble, Turn};
use super::packet::{HEADER, Header, LONGEST};

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
