//! One client's connection and its own one to the server, and whose turn it is.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use rustix::event::epoll::EventFlags;

use super::answers::Answers;
use super::packet::{Commands, HEADER, Trouble, Turn, finish};

/// Memory that a connection keeps between two readings, in bytes.
const KEPT: usize = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Client,
    Server,
}

/// Why a connection ends, but for its ends having closed it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Socket(#[from] io::Error),
    #[error("{0}")]
    Trouble(#[from] Trouble),
}

/// Memory that all connections use in turns.
pub(super) struct Scratch {
    /// What was received last.
    received: Vec<u8>,
    /// What was made of it.
    made: Vec<u8>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        Self {
            received: vec![0; 64 << 10],
            made: Vec::new(),
        }
    }
}

/// Two sockets, and what is between them.
pub(super) struct Connection {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
    /// `None` to pass everything on without looking at it.
    encrypting: Option<Box<Encrypting>>,
    up: Way,
    down: Way,
    client_is_done: bool,
    /// What each end is asked to tell, as the event loop knows it.
    pub(super) told: [EventFlags; 2],
}

/// What is known of a connection whose cells are encrypted.
struct Encrypting {
    turn: Turn,
    commands: Commands,
    answers: Answers,
}

/// One direction.
#[derive(Debug, Default)]
struct Way {
    /// Received and not yet understood.
    carried: Vec<u8>,
    /// To be sent as soon as there is room. While there is something, nothing more is received.
    unsent: Vec<u8>,
    /// Bytes of it that were sent.
    sent: usize,
}

impl Connection {
    pub(super) fn new(client: TcpStream, server: TcpStream, answers: Option<Answers>) -> Self {
        Self {
            client,
            server,
            encrypting: answers.map(|answers| {
                Box::new(Encrypting {
                    turn: Turn::default(),
                    commands: Commands::default(),
                    answers,
                })
            }),
            up: Way::default(),
            down: Way::default(),
            client_is_done: false,
            told: [EventFlags::IN; 2],
        }
    }

    /// Does what one of the ends is ready for; false when the connection has ended.
    pub(super) fn serve(
        &mut self,
        end: End,
        ready: EventFlags,
        scratch: &mut Scratch,
    ) -> Result<bool, Broken> {
        if ready.contains(EventFlags::OUT) {
            match end {
                End::Client => self.down.flush(&mut self.client)?,
                End::Server => {
                    self.up.flush(&mut self.server)?;
                    self.finish_up()?;
                }
            }
        }
        if !self.wanted(end).contains(EventFlags::IN) {
            // Broken, and nothing can be received any more that the other end would take.
            return Ok(!ready.intersects(EventFlags::ERR | EventFlags::HUP));
        }
        if !ready.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP) {
            return Ok(true);
        }
        match end {
            End::Client => self.receive_from_client(scratch),
            End::Server => self.receive_from_server(scratch),
        }
    }

    /// What an end is to tell.
    pub(super) fn wanted(&self, end: End) -> EventFlags {
        let (reads, writes) = match end {
            End::Client => (
                self.up.unsent.is_empty() && !self.client_is_done,
                !self.down.unsent.is_empty(),
            ),
            End::Server => (self.down.unsent.is_empty(), !self.up.unsent.is_empty()),
        };
        let flag = |is_wanted, flag| if is_wanted { flag } else { EventFlags::empty() };
        flag(reads, EventFlags::IN) | flag(writes, EventFlags::OUT)
    }

    /// Cells encrypted since this was asked last.
    pub(super) fn take_count(&mut self) -> u64 {
        self.encrypting.as_mut().map_or(0, |encrypting| {
            std::mem::take(&mut encrypting.answers.encryptor.count)
        })
    }

    /// Tells the client why its connection ends, if it is not in the middle of a packet. It may be gone.
    pub(super) fn say(&mut self, trouble: &Trouble) {
        let sequence = match &self.encrypting {
            Some(encrypting) if self.down.unsent.is_empty() => encrypting.answers.own_sequence(),
            _ => None,
        };
        let Some(sequence) = sequence else { return };
        let mut packet = vec![0; HEADER];
        packet.push(0xFF);
        // ER_UNKNOWN_ERROR.
        packet.extend_from_slice(&1105_u16.to_le_bytes());
        packet.extend_from_slice(b"#HY000");
        packet.extend_from_slice(
            format!("the relay that encrypts columns ends the connection: {trouble}").as_bytes(),
        );
        finish(&mut packet, 0, sequence);
        let _ = self.client.write(&packet);
    }

    fn receive_from_client(&mut self, scratch: &mut Scratch) -> Result<bool, Broken> {
        let Some(received) = receive(&mut self.client, &mut scratch.received)? else {
            return Ok(true);
        };
        if received.is_empty() {
            self.client_is_done = true;
            self.finish_up()?;
            return Ok(true);
        }
        let Some(encrypting) = &mut self.encrypting else {
            self.up.send(&mut self.server, received)?;
            return Ok(true);
        };
        let Encrypting { turn, commands, .. } = encrypting.as_mut();
        let mut carried = std::mem::take(&mut self.up.carried);
        let bytes = joined(&mut carried, received);
        let understood = commands.feed(bytes, turn)?;
        self.up.send(&mut self.server, &bytes[..understood])?;
        self.up.carried = rest_of(carried, received, understood);
        Ok(true)
    }

    fn receive_from_server(&mut self, scratch: &mut Scratch) -> Result<bool, Broken> {
        let Some(received) = receive(&mut self.server, &mut scratch.received)? else {
            return Ok(true);
        };
        if received.is_empty() {
            return Ok(false);
        }
        let Some(encrypting) = &mut self.encrypting else {
            self.down.send(&mut self.client, received)?;
            return Ok(true);
        };
        let Encrypting { turn, answers, .. } = encrypting.as_mut();
        let mut carried = std::mem::take(&mut self.down.carried);
        let bytes = joined(&mut carried, received);
        scratch.made.clear();
        let understood = answers.feed(bytes, turn, &mut scratch.made);
        // What was understood before the trouble is the client's.
        self.down.send(&mut self.client, &scratch.made)?;
        scratch.made.clear();
        scratch.made.shrink_to(KEPT);
        self.down.carried = rest_of(carried, received, understood?);
        Ok(true)
    }

    /// Tells the server that the client has said all, once it was passed on.
    fn finish_up(&self) -> io::Result<()> {
        match self.client_is_done && self.up.unsent.is_empty() {
            true => self.server.shutdown(Shutdown::Write),
            false => Ok(()),
        }
    }
}

impl Way {
    /// Sends what there is room for, and keeps the rest.
    fn send(&mut self, to: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        let sent = write(to, bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Sends more of what was kept.
    fn flush(&mut self, to: &mut TcpStream) -> io::Result<()> {
        self.sent += write(to, &self.unsent[self.sent..])?;
        if self.sent == self.unsent.len() {
            self.sent = 0;
            self.unsent.clear();
            self.unsent.shrink_to(KEPT);
        }
        Ok(())
    }
}

/// What was carried over and what has come, in one piece.
fn joined<'a>(carried: &'a mut Vec<u8>, received: &'a [u8]) -> &'a [u8] {
    if carried.is_empty() {
        return received;
    }
    carried.extend_from_slice(received);
    carried
}

/// What is to be carried over of what [`joined`] gave.
fn rest_of(mut carried: Vec<u8>, received: &[u8], understood: usize) -> Vec<u8> {
    if carried.is_empty() {
        carried.extend_from_slice(&received[understood..]);
    } else {
        carried.drain(..understood);
    }
    if carried.is_empty() {
        carried.shrink_to(KEPT);
    }
    carried
}

/// Bytes that have come; none at the end, `None` if there are none yet.
fn receive<'a>(from: &mut TcpStream, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
    match from.read(buffer) {
        Ok(count) => Ok(Some(&buffer[..count])),
        Err(error) if is_later(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many bytes there was room for.
fn write(to: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match to.write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
