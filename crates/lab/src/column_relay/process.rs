//! The process of a relay that encrypts cells, and what its owner and it say to each other. They speak over a Unix
//! socket in the private folder (see [`ciphertax_supervise::Conversation`]), so the key is in no file, no argument
//! and no environment.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;
use std::{fmt, io, thread};

use ciphertax_columns::{CellCipher, KeyError, MasterKey};
use ciphertax_model::ColumnEncryption;
use ciphertax_supervise::child::raise_limit_of_files;
use ciphertax_supervise::{Conversation, say};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use serde::{Deserialize, Serialize};

use super::ROLE;
use super::answers::Answers;
use super::connection::{Broken, Connection, End, Scratch};
use super::rows::{MakeCell, Policy};
use crate::helper_process::Answered;
use crate::port;

const PORT_ATTEMPTS: u32 = 5;

/// What the process of a relay that encrypts cells does; the whole of the hidden command `column-relay`.
pub fn main() -> ExitCode {
    ROLE.play(serve)
}

fn serve(mut owner: Conversation) -> io::Result<()> {
    let start = match owner.receive()? {
        None => return Ok(()),
        Some(Request::Start(start)) => start,
        Some(Request::Count) => return owner.send(&refused("was not started")),
    };
    match raise_limit_of_files().and_then(|()| listen(start.host)) {
        Ok(listener) => run(listener, owner, start),
        Err(error) => {
            let problem = format!("cannot be started: cannot listen on {}: {error}", start.host);
            owner.send(&refused(problem))
        }
    }
}

fn refused(problem: impl ToString) -> Answered<Answer> {
    Err(problem.to_string())
}

/// Serves connections; what cannot be encrypted is told before the first.
fn run(listener: TcpListener, mut owner: Conversation, start: Start) -> io::Result<()> {
    let Start { server, cells, .. } = start;
    let encryption = match cells.map(encryption).transpose() {
        Ok(encryption) => encryption,
        Err(problem) => return owner.send(&refused(format!("cannot be started: {problem}"))),
    };
    owner.send(&Answered::Ok(Answer::Started(listener.local_addr()?)))?;
    EventLoop::new(listener, owner, server, encryption)?.run()
}

/// What makes the ciphers of connections, each with a data key of its own.
fn encryption(cells: EncryptedCells) -> Result<Encryption, String> {
    let EncryptedCells {
        encryption,
        columns,
        key,
    } = cells;
    let key = MasterKey::from_hex(&key).map_err(|error| error.to_string())?;
    let open = move || -> Result<MakeCell, KeyError> {
        let mut cipher = CellCipher::open(&encryption, &key)?;
        Ok(Box::new(move |kind, plaintext, cell| {
            cipher.encrypt(kind, plaintext, cell)
        }))
    };
    open().map(drop).map_err(|error| error.to_string())?;
    Ok(Encryption {
        policy: Rc::new(Policy::new(&columns)),
        cells: Box::new(open),
    })
}

/// Listens on a port outside the range from which the kernel gives clients theirs.
fn listen(host: Ipv4Addr) -> io::Result<TcpListener> {
    let ports = port::private_range();
    let mut outcome = Err(io::Error::other("every port tried is taken"));
    for _ in 0..PORT_ATTEMPTS {
        let Some(port) = port::free_in(&ports) else { break };
        outcome = TcpListener::bind((host, port));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// What the owner asks. The first is [`Request::Start`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    Start(Start),
    Count,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Start {
    /// Where it is to listen.
    pub(super) host: Ipv4Addr,
    pub(super) server: SocketAddr,
    /// `None` to pass everything on.
    pub(super) cells: Option<EncryptedCells>,
}

/// Which cells are encrypted, and with what.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EncryptedCells {
    pub(super) encryption: ColumnEncryption,
    pub(super) columns: Vec<String>,
    /// The master key in hexadecimal digits.
    pub(super) key: String,
}

impl fmt::Debug for EncryptedCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncryptedCells({}; key …)", self.encryption)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It listens here.
    Started(SocketAddr),
    Counted(Counts),
}

/// What a relay did since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Cells that it encrypted.
    pub cells: u64,
    /// Connections that clients made.
    pub connections: u64,
    /// Connections that it ended because of what a client or the server sent, or could not begin.
    pub broken: u64,
}

const OWNER: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

const EVENTS_PER_WAIT: usize = 128;

/// How long is waited before the next connection is accepted where there are no descriptors left.
const BREATH: Duration = Duration::from_millis(1);

/// Connections that broke, of which the log tells.
const MOST_TOLD: u64 = 100;

/// What is encrypted, and by what in each connection.
pub(super) struct Encryption {
    pub(super) policy: Rc<Policy>,
    /// Makes what encrypts the cells of one connection.
    pub(super) cells: Box<dyn Fn() -> Result<MakeCell, KeyError>>,
}

/// The relay, as its thread has it.
///
/// One thread serves all connections by one epoll instance. What a row costs is then its bytes twice through the kernel and, where
/// there are cells, their encryption: a thread for each direction of each connection would add a change of context to every packet
/// either way, and with many connections busy one wake-up serves several of them. Sockets are asked level by level, each once for an
/// event, so nobody with much to say keeps the others waiting, and nothing has to be read in vain.
pub(super) struct EventLoop {
    epoll: OwnedFd,
    listener: TcpListener,
    owner: Conversation,
    server: SocketAddr,
    /// `None` to pass everything on.
    encryption: Option<Encryption>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    scratch: Scratch,
    counts: Counts,
}

impl EventLoop {
    pub(super) fn new(
        listener: TcpListener,
        owner: Conversation,
        server: SocketAddr,
        encryption: Option<Encryption>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        listener.set_nonblocking(true)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &owner, EventData::new_u64(OWNER), EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            owner,
            server,
            encryption,
            connections: Vec::new(),
            free: Vec::new(),
            scratch: Scratch::new(),
            counts: Counts::default(),
        })
    }

    /// Serves connections until the owner is gone.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_PER_WAIT);
        let mut ended = Vec::new();
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    OWNER => match self.answer()? {
                        true => {}
                        false => return Ok(()),
                    },
                    LISTENER => self.accept(),
                    token => {
                        let slot = (token / 2) as usize;
                        if !self.serve(slot, end_of(token), event.flags) {
                            self.connections[slot] = None;
                            ended.push(slot);
                        }
                    }
                }
            }
            // Not before: further events may be of those that have ended.
            self.free.append(&mut ended);
        }
    }

    /// Answers the owner; false if it is gone.
    fn answer(&mut self) -> io::Result<bool> {
        let answer = match self.owner.receive()? {
            None => return Ok(false),
            Some(Request::Count) => Ok(Answer::Counted(self.counts)),
            Some(Request::Start(_)) => refused("runs already"),
        };
        self.owner.send(&answer)?;
        Ok(true)
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((client, _)) => {
                // A client that cannot be served finds its connection closed, as one that the server refuses.
                if let Err(error) = self.connect(client) {
                    self.tell(&error.to_string());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => thread::sleep(BREATH),
        }
    }

    fn connect(&mut self, client: TcpStream) -> io::Result<()> {
        let answers = match &self.encryption {
            None => None,
            Some(encryption) => {
                let cells = (encryption.cells)().map_err(io::Error::other)?;
                Some(Answers::new(Rc::clone(&encryption.policy), cells))
            }
        };
        client.set_nonblocking(true)?;
        client.set_nodelay(true)?;
        let server = connect_to(self.server)?;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let connection = Connection::new(client, server, answers);
        let added = [End::Client, End::Server].into_iter().try_for_each(|end| {
            let data = EventData::new_u64(token_of(slot, end));
            epoll::add(&self.epoll, socket(&connection, end), data, EventFlags::IN)
        });
        if let Err(error) = added {
            self.free.push(slot);
            return Err(error.into());
        }
        self.connections[slot] = Some(connection);
        self.counts.connections += 1;
        Ok(())
    }

    /// Serves a connection; false when it has ended.
    fn serve(&mut self, slot: usize, end: End, ready: EventFlags) -> bool {
        let Some(connection) = &mut self.connections[slot] else {
            return true;
        };
        let served = connection.serve(end, ready, &mut self.scratch);
        self.counts.cells += connection.take_count();
        let told = match served {
            Ok(false) => return false,
            Ok(true) => tell_what_is_wanted(&self.epoll, slot, connection),
            Err(Broken::Trouble(trouble)) => {
                connection.say(&trouble);
                self.tell(&trouble.to_string());
                return false;
            }
            // As one of the ends broke it, the other finds it broken.
            Err(Broken::Socket(_)) => return false,
        };
        told.is_ok()
    }

    fn tell(&mut self, problem: &str) {
        self.counts.broken += 1;
        if self.counts.broken <= MOST_TOLD {
            say(format_args!("a connection ends: {problem}"));
        }
    }
}

/// Asks both ends for what is wanted of them, where that has changed. An end of which nothing is wanted is not asked at all: that it has
/// closed its connection would be told again and again, before what it sent last has found room at the other end.
fn tell_what_is_wanted(epoll: &OwnedFd, slot: usize, connection: &mut Connection) -> io::Result<()> {
    for end in [End::Client, End::Server] {
        let (told, wanted) = (connection.told[end as usize], connection.wanted(end));
        if told == wanted {
            continue;
        }
        let data = EventData::new_u64(token_of(slot, end));
        let socket = socket(connection, end);
        if wanted.is_empty() {
            epoll::delete(epoll, socket)?;
        } else if told.is_empty() {
            epoll::add(epoll, socket, data, wanted)?;
        } else {
            epoll::modify(epoll, socket, data, wanted)?;
        }
        connection.told[end as usize] = wanted;
    }
    Ok(())
}

/// Begins to connect to the server. Whether it can be reached is seen when something is to be received or sent.
fn connect_to(server: SocketAddr) -> io::Result<TcpStream> {
    let family = match server {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn socket(connection: &Connection, end: End) -> impl AsFd {
    match end {
        End::Client => connection.client.as_fd(),
        End::Server => connection.server.as_fd(),
    }
}

fn token_of(slot: usize, end: End) -> u64 {
    slot as u64 * 2 + end as u64
}

fn end_of(token: u64) -> End {
    match token % 2 {
        0 => End::Client,
        _ => End::Server,
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{CellEncoding, CellFormat, CellMode, ColumnFeature, ColumnSelection};

    use super::*;

    #[test]
    fn the_key_travels_and_is_not_shown() {
        let start = Request::Start(Start {
            host: Ipv4Addr::LOCALHOST,
            server: SocketAddr::from(([127, 0, 0, 1], 3306)),
            cells: Some(EncryptedCells {
                encryption: ColumnEncryption {
                    feature: ColumnFeature::InResults,
                    format: CellFormat::default(),
                    algorithm: ciphertax_model::CellAlgorithm::default(),
                    mode: CellMode::default(),
                    encoding: CellEncoding::default(),
                    columns: ColumnSelection::All,
                    decrypt: ciphertax_model::Decrypt::default(),
                },
                columns: vec!["customer.c_last".into()],
                key: "00112233445566778899aabbccddeeff".into(),
            }),
        });
        let line = serde_json::to_string(&start).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), start);
        assert!(!format!("{start:?}").contains("00112233"), "{start:?}");
    }
}
