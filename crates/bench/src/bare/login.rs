//! From a connected socket to a prepared statement, without reading or writing: bytes in, bytes out.

use std::io::{self, Read, Write};
use std::mem;
use std::net::TcpStream;

use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use mysql_common::constants::{CapabilityFlags, ColumnType};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, HandshakePacket, HandshakeResponse, StmtPacket};
use mysql_common::proto::{MyDeserialize, MySerialize};

use super::exchange::{ANSWER_ROOM, Exchange, HEADER};
use crate::Result;

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const MAX_PACKET: u32 = 1 << 24;
const SQL: &[u8] = b"SELECT c FROM sbtest1 WHERE id=?";

/// A login under way: each step sends something and waits for a known number of packets.
pub struct Login<'a> {
    login: &'a crate::Login,
    seed: u64,
    step: Step,
    received: Vec<u8>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy)]
enum Step {
    Greeting,
    Welcome,
    Statement,
    /// The first execution, which names the parameter's type.
    Row {
        statement: u32,
    },
}

/// What to do next.
pub enum Next {
    /// These bytes.
    Send(Vec<u8>),
    /// There is more to come.
    Receive,
    /// The connection is ready for this.
    Done(Exchange),
}

impl<'a> Login<'a> {
    /// Begins one; `seed` decides which rows will be asked for.
    pub fn new(login: &'a crate::Login, seed: u64) -> Self {
        Self {
            login,
            seed,
            step: Step::Greeting,
            received: Vec::new(),
        }
    }

    /// Takes what was received since the last call.
    ///
    /// # Errors
    /// What the server says against it, or if it says what no server says.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<Next> {
        self.received.extend_from_slice(bytes);
        if packets(&self.received).count() < self.step.packets() {
            return Ok(Next::Receive);
        }
        let answer = mem::take(&mut self.received);
        let first = packets(&answer).next().unwrap_or_default();
        if let [0xFF, message @ ..] = first {
            return Err(String::from_utf8_lossy(message).into());
        }
        match self.step {
            Step::Greeting => {
                self.step = Step::Welcome;
                Ok(Next::Send(response(self.login, first)?))
            }
            Step::Welcome => {
                self.step = Step::Statement;
                Ok(Next::Send(packet(0, &[&[COM_STMT_PREPARE], SQL])))
            }
            Step::Statement => {
                let statement = StmtPacket::deserialize((), &mut ParseBuf(first))?.statement_id();
                self.step = Step::Row { statement };
                Ok(Next::Send(execute(statement, true)))
            }
            Step::Row { statement } => {
                if answer.len() > ANSWER_ROOM {
                    return Err("a row is larger than expected".into());
                }
                let request = execute(statement, false);
                Ok(Next::Done(Exchange::new(request, answer.len(), self.seed)))
            }
        }
    }
}

impl Step {
    /// Packets of the answer. Without the packets that once ended definitions a statement comes with its parameter and its
    /// column, and a result with number of columns, column, row and end.
    fn packets(self) -> usize {
        match self {
            Self::Greeting | Self::Welcome => 1,
            Self::Statement => 3,
            Self::Row { .. } => 4,
        }
    }
}

/// Connects and logs in, waiting where it must; then the socket waits no more.
///
/// # Errors
/// If the server cannot be reached, does not let this account in, or has no such table.
pub fn blocking(login: &crate::Login, seed: u64) -> Result<(TcpStream, Exchange)> {
    let mut socket = TcpStream::connect((login.host.as_str(), login.port))?;
    socket.set_nodelay(true)?;
    let mut steps = Login::new(login, seed);
    let mut buffer = [0; ANSWER_ROOM];
    let mut count = 0;
    loop {
        match steps.advance(&buffer[..mem::take(&mut count)])? {
            Next::Send(bytes) => socket.write_all(&bytes)?,
            Next::Receive => {
                count = socket.read(&mut buffer)?;
                if count == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
            }
            Next::Done(exchange) => {
                socket.set_nonblocking(true)?;
                return Ok((socket, exchange));
            }
        }
    }
}

/// The payloads of the packets that are complete.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let &[low, middle, high, _, ref rest @ ..] = bytes else {
            return None;
        };
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        let payload = rest.get(..length)?;
        bytes = &rest[length..];
        Some(payload)
    })
}

fn packet(sequence: u8, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let mut packet = Vec::with_capacity(HEADER + payload.len());
    packet.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
    packet.push(sequence);
    packet.extend_from_slice(&payload);
    packet
}

fn response(login: &crate::Login, greeting: &[u8]) -> Result<Vec<u8>> {
    let greeting = HandshakePacket::deserialize((), &mut ParseBuf(greeting))?;
    let scramble = scramble_native(&greeting.nonce(), login.password.as_bytes());
    let capabilities = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    let mut payload = Vec::new();
    HandshakeResponse::new(
        scramble.as_ref().map(|scramble| &scramble[..]),
        (10, 0, 0),
        Some(login.user.as_bytes()),
        Some(login.database.as_bytes()),
        Some(AuthPlugin::MysqlNativePassword),
        capabilities,
        None,
        MAX_PACKET,
    )
    .serialize(&mut payload);
    Ok(packet(1, &[&payload]))
}

/// `COM_STMT_EXECUTE`: statement, no cursor, one iteration, no NULLs, the parameter's type if asked for, the parameter.
fn execute(statement: u32, typed: bool) -> Vec<u8> {
    let types: &[u8] = if typed {
        &[1, ColumnType::MYSQL_TYPE_LONGLONG as u8, 0]
    } else {
        &[0]
    };
    packet(
        0,
        &[
            &[COM_STMT_EXECUTE],
            &statement.to_le_bytes(),
            &[0],
            &1_u32.to_le_bytes(),
            &[0],
            types,
            &1_i64.to_le_bytes(),
        ],
    )
}
