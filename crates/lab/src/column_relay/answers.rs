//! Answers of a server, passed on with cells in place of the values of columns that are encrypted.
//!
//! Only what has to be whole is kept until it is: definitions, and rows with cells. Everything else is passed on as it comes,
//! byte for byte; a packet's number changes only behind a row that takes more packets than it took before.

use std::rc::Rc;

use super::packet::{self, Client, HEADER, Header, LONGEST, Question, Trouble, Turn};
use super::rows::{Column, Encryptor, MakeCell, Policy};

/// Longest packet that is no row, in bytes.
const LONGEST_SAYING: usize = 1 << 20;

/// Longest row with cells, in bytes.
const LONGEST_ROW: usize = 64 << 20;

/// Columns of a result at most: the servers' own limit is 4096.
const MOST_COLUMNS: u64 = 4096;

/// Memory that is kept between rows, in bytes.
const KEPT: usize = 256 << 10;

/// The packets of one server.
pub(super) struct Answers {
    policy: Rc<Policy>,
    pub(super) encryptor: Encryptor,
    state: State,
    columns: Vec<Column>,
    has_cells: bool,
    /// Bytes of a packet that is passed on as it is which have not come yet.
    passing: usize,
    /// True if the next packet goes on with the payload of one that was passed on.
    is_continued: bool,
    /// The parts of a row that takes several packets.
    joined: Vec<u8>,
    /// By how much the packets of this answer have greater numbers than the server's.
    shift: u8,
    /// The number of the next packet, as the client expects it.
    next_sequence: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Greeting and login.
    Login,
    /// The begin of an answer to the next question.
    Idle,
    /// The begin of an answer, or of a further one to the same question.
    Answer(Question),
    /// So many packets with nothing to be read in them.
    Skipping(u64),
    /// So many definitions of columns.
    Definitions(Question, u64),
    /// What ends definitions.
    EndOfDefinitions(Question),
    Rows(Question),
}

/// What is to be done with a packet.
enum Step {
    /// Too little of it has come.
    Wait,
    /// It is passed on as it is.
    Pass,
    /// It was dealt with.
    Taken,
}

impl Answers {
    pub(super) fn new(policy: Rc<Policy>, cells: MakeCell) -> Self {
        Self {
            policy,
            encryptor: Encryptor::new(cells),
            state: State::Login,
            columns: Vec::new(),
            has_cells: false,
            passing: 0,
            is_continued: false,
            joined: Vec::new(),
            shift: 0,
            next_sequence: 0,
        }
    }

    /// Takes what can be understood of what has arrived, and returns how much that is. What the client is to have of it is appended.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> Result<usize, Trouble> {
        let mut rest = input;
        loop {
            let (now, others) = rest.split_at(self.passing.min(rest.len()));
            out.extend_from_slice(now);
            self.passing -= now.len();
            rest = others;
            let Some(header) = Header::read(rest) else { break };
            let begin = &rest[HEADER..rest.len().min(HEADER + header.length)];
            let step = match self.is_continued {
                true => Step::Pass,
                false => self.packet(header, begin, turn, out)?,
            };
            match step {
                Step::Wait => break,
                Step::Pass => {
                    let sequence = header.sequence.wrapping_add(self.shift);
                    Header { sequence, ..header }.write(out);
                    self.next_sequence = sequence.wrapping_add(1);
                    self.is_continued = header.length == LONGEST;
                    self.passing = header.length;
                    rest = &rest[HEADER..];
                }
                Step::Taken => rest = &rest[HEADER + header.length..],
            }
        }
        Ok(input.len() - rest.len())
    }

    /// The number of a packet that the relay says itself; `None` where the client is in the middle of another.
    pub(super) fn own_sequence(&self) -> Option<u8> {
        (self.passing == 0 && !self.is_continued).then_some(self.next_sequence)
    }

    fn packet(
        &mut self,
        header: Header,
        begin: &[u8],
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> Result<Step, Trouble> {
        let is_whole = begin.len() == header.length;
        let Some(&first) = begin.first() else {
            return match (is_whole, self.state) {
                (false, _) => Ok(Step::Wait),
                (true, State::Login) => Ok(Step::Pass),
                // It ends a row whose other parts are the longest packets.
                (true, State::Rows(question)) if !self.joined.is_empty() => {
                    self.row(question, header, begin, out)
                }
                (true, _) => Err(Trouble::Server("an empty packet")),
            };
        };
        if self.state == State::Idle {
            self.shift = 0;
            match turn.answered() {
                Some(question) => self.state = State::Answer(question),
                // It says why it closes the connection.
                None if first == ERROR => {}
                None => return Err(Trouble::Server("an answer that nobody asked for")),
            }
        }
        // A row can be longer, whose begin tells that it is one.
        let is_long = |most| header.length > most;
        match self.state {
            State::Login => {
                if first == OK {
                    // Else it would not be known how results end.
                    turn.client.ok_or(Trouble::Server("a welcome before the login"))?;
                    turn.is_logged_in = true;
                    self.state = State::Idle;
                }
                Ok(Step::Pass)
            }
            State::Idle => Ok(Step::Pass),
            State::Answer(Question::One) => {
                self.state = State::Idle;
                Ok(Step::Pass)
            }
            State::Answer(_) | State::Definitions(..) | State::EndOfDefinitions(_) | State::Skipping(_)
                if is_long(LONGEST_SAYING) =>
            {
                Err(Trouble::Server("a packet that is too long for what it says"))
            }
            State::Answer(_) | State::Definitions(..) if !is_whole => Ok(Step::Wait),
            State::Answer(Question::Prepare) => self.prepared(begin, turn),
            State::Answer(question) => self.answer(question, begin, turn),
            State::Skipping(left) => {
                self.state = match left {
                    2.. => State::Skipping(left - 1),
                    _ => State::Idle,
                };
                Ok(Step::Pass)
            }
            State::Definitions(question, left) => self.definition(question, left, begin, turn),
            State::EndOfDefinitions(question) => {
                if first != END {
                    return Err(Trouble::Server("definitions without an end"));
                }
                self.state = State::Rows(question);
                Ok(Step::Pass)
            }
            State::Rows(question) => {
                if self.joined.is_empty() && is_end(header, first, client(turn)?) {
                    return self.end(question, begin, is_whole, turn);
                }
                if self.joined.is_empty() && first == ERROR {
                    return Ok(self.error(begin, is_whole));
                }
                match (self.has_cells, is_whole) {
                    (false, _) => Ok(Step::Pass),
                    (true, false) if self.joined.len() + header.length > LONGEST_ROW => Err(TOO_LONG),
                    (true, false) => Ok(Step::Wait),
                    (true, true) => self.row(question, header, begin, out),
                }
            }
        }
    }

    /// The answer to a statement's preparation: its number (4), columns (2), parameters (2).
    fn prepared(&mut self, payload: &[u8], turn: &Turn) -> Result<Step, Trouble> {
        self.state = match payload {
            [
                OK,
                _,
                _,
                _,
                _,
                columns_low,
                columns_high,
                parameters_low,
                parameters_high,
                ..,
            ] => {
                let columns = u16::from_le_bytes([*columns_low, *columns_high]);
                let parameters = u16::from_le_bytes([*parameters_low, *parameters_high]);
                let is_without_eof = client(turn)?.is_without_eof;
                let packets = |count: u16| match count {
                    0 => 0,
                    _ => u64::from(count) + u64::from(!is_without_eof),
                };
                match packets(columns) + packets(parameters) {
                    0 => State::Idle,
                    left => State::Skipping(left),
                }
            }
            [ERROR, ..] => State::Idle,
            _ => return Err(Trouble::Server("no answer to a statement's preparation")),
        };
        Ok(Step::Pass)
    }

    /// The begin of a result: done, failed, a file that is asked for, or a number of columns.
    fn answer(&mut self, question: Question, payload: &[u8], turn: &mut Turn) -> Result<Step, Trouble> {
        match payload {
            [OK, rest @ ..] => self.done(question, status_after_numbers(rest)?),
            [ERROR, ..] => return Ok(self.error(payload, true)),
            // The next packet of the server says what became of it.
            [FILE, ..] => turn.sends_file = true,
            _ => {
                let (count, _) = packet::number(payload)
                    .filter(|(count, rest)| (1..=MOST_COLUMNS).contains(count) && rest.is_empty())
                    .ok_or(Trouble::Server("a number of columns that cannot be read"))?;
                self.columns.clear();
                self.has_cells = false;
                self.state = State::Definitions(question, count);
            }
        }
        Ok(Step::Pass)
    }

    fn definition(
        &mut self,
        question: Question,
        left: u64,
        payload: &[u8],
        turn: &Turn,
    ) -> Result<Step, Trouble> {
        let client = client(turn)?;
        let column = Column::read(payload, client.is_extended, &self.policy)
            .ok_or(Trouble::Server("a definition that cannot be read"))?;
        self.has_cells |= column.cell.is_some();
        self.columns.push(column);
        self.state = match left {
            2.. => State::Definitions(question, left - 1),
            _ if client.is_without_eof => State::Rows(question),
            _ => State::EndOfDefinitions(question),
        };
        Ok(Step::Pass)
    }

    /// The end of rows: warnings (2) and status (2), or what an OK has.
    fn end(
        &mut self,
        question: Question,
        begin: &[u8],
        is_whole: bool,
        turn: &Turn,
    ) -> Result<Step, Trouble> {
        if begin.len() > LONGEST_SAYING {
            return Err(Trouble::Server("a packet that is too long for what it says"));
        }
        if !is_whole {
            return Ok(Step::Wait);
        }
        let status = match client(turn)?.is_without_eof {
            true => status_after_numbers(&begin[1..])?,
            false => match begin {
                [END, _, _, low, high] => u16::from_le_bytes([*low, *high]),
                _ => return Err(Trouble::Server("an end of rows that cannot be read")),
            },
        };
        self.done(question, status);
        Ok(Step::Pass)
    }

    fn done(&mut self, question: Question, status: u16) {
        const MORE_RESULTS: u16 = 1 << 3;
        self.state = match status & MORE_RESULTS {
            0 => State::Idle,
            _ => State::Answer(question),
        };
    }

    /// An error ends an answer, but for MariaDB's reports of progress, which have this number.
    fn error(&mut self, begin: &[u8], is_whole: bool) -> Step {
        match begin {
            [_, 0xFF, 0xFF, ..] => Step::Pass,
            [_] | [_, _] if !is_whole => Step::Wait,
            _ => {
                self.state = State::Idle;
                Step::Pass
            }
        }
    }

    /// A whole packet of a row with cells, which is rewritten when its last packet is there.
    fn row(
        &mut self,
        question: Question,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, Trouble> {
        if self.joined.len() + payload.len() > LONGEST_ROW {
            return Err(TOO_LONG);
        }
        if header.length == LONGEST {
            self.joined.extend_from_slice(payload);
            return Ok(Step::Taken);
        }
        let joined;
        let (row, packets) = match self.joined.is_empty() {
            true => (payload, 1_u8),
            false => {
                joined = {
                    let mut joined = std::mem::take(&mut self.joined);
                    joined.extend_from_slice(payload);
                    joined
                };
                (joined.as_slice(), (joined.len() / LONGEST + 1) as u8)
            }
        };
        let begin = out.len();
        out.extend_from_slice(&[0; HEADER]);
        let made = match question {
            Question::Text => self.encryptor.text_row(&self.columns, row, out),
            _ => self.encryptor.binary_row(&self.columns, row, out),
        };
        if let Err(trouble) = made {
            out.truncate(begin);
            return Err(trouble);
        }
        let first = header.sequence.wrapping_sub(packets - 1).wrapping_add(self.shift);
        let made = packet::finish(out, begin, first);
        self.shift = self.shift.wrapping_add(made.wrapping_sub(packets));
        self.next_sequence = first.wrapping_add(made);
        self.encryptor.shrink(KEPT);
        Ok(Step::Taken)
    }
}

const OK: u8 = 0x00;
const FILE: u8 = 0xFB;
const END: u8 = 0xFE;
const ERROR: u8 = 0xFF;

const TOO_LONG: Trouble = Trouble::Unsupported("rows with cells of more than 64 MiB");

fn client(turn: &Turn) -> Result<Client, Trouble> {
    turn.client.ok_or(Trouble::Server("an answer before the login"))
}

/// True if a packet among rows ends them: no row can begin so, unless it is of the longest packets.
fn is_end(header: Header, first: u8, client: Client) -> bool {
    let most = if client.is_without_eof { LONGEST } else { 9 };
    first == END && header.length < most
}

/// The status (2) in an OK, after the numbers of changed rows and of the last id.
fn status_after_numbers(rest: &[u8]) -> Result<u16, Trouble> {
    let numbers = packet::number(rest).and_then(|(_, rest)| packet::number(rest));
    match numbers {
        Some((_, [low, high, ..])) => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(Trouble::Server("an OK that cannot be read")),
    }
}
