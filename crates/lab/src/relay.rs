//! A relay that sees what really travels.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::{Error, Result};

/// How much is kept of what travels, in bytes, all connections and both directions together.
const LIMIT: usize = 16 << 20;

/// How long the relay waits before it accepts again after it could not.
const BREATH: Duration = Duration::from_millis(1);

/// How long the relay waits for its target to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A TCP relay on the loopback address that keeps every byte of both directions. Bytes are kept before they are passed
/// on, so whoever has received an answer knows that the question has been seen.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listens on a port of 127.0.0.1 and passes every connection on to `target`.
    ///
    /// # Errors
    /// If it cannot listen.
    pub fn start(target: SocketAddr) -> Result<Self> {
        Self::with_limit(target, LIMIT)
    }

    fn with_limit(target: SocketAddr, limit: usize) -> Result<Self> {
        let failed = |cause| Error::Relay { target, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            limit,
            closing: AtomicBool::new(false),
            state: Mutex::default(),
        });
        let acceptor = thread::Builder::new()
            .name("relay".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.accept(&listener, target)
            })
            .map_err(failed)?;
        Ok(Self {
            address,
            shared,
            acceptor: Some(acceptor),
        })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// True if `needle` travelled in plaintext on one connection in one direction.
    ///
    /// # Errors
    /// If it was not seen but not everything was kept, so that nothing can be said.
    pub fn saw(&self, needle: &[u8]) -> Result<bool> {
        let state = self.shared.state();
        if state.recordings.iter().any(|bytes| contains(bytes, needle)) {
            return Ok(true);
        }
        if state.overflowed {
            return Err(Error::RelayFull(self.shared.limit >> 20));
        }
        Ok(false)
    }

    /// The first bytes that the target sent, at most `most` for each connection that was kept.
    pub fn answers(&self, most: usize) -> Vec<Vec<u8>> {
        let state = self.shared.state();
        let answers = state.recordings.iter().skip(1).step_by(2);
        answers
            .map(|bytes| bytes[..bytes.len().min(most)].to_vec())
            .collect()
    }

    /// Bytes that travelled so far, both directions together: a relay that nobody used has seen nothing.
    pub fn bytes_seen(&self) -> u64 {
        self.shared.state().seen
    }
}

impl Drop for Relay {
    /// Closes every connection and waits until all threads have ended.
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        for open in self.shared.state().open.values() {
            for end in &open.ends {
                let _ = end.shutdown(Shutdown::Both);
            }
        }
        // Wakes the acceptor.
        let _ = TcpStream::connect_timeout(&self.address, CONNECT);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

#[derive(Debug)]
struct Shared {
    limit: usize,
    closing: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// One for each direction of each connection.
    recordings: Vec<Vec<u8>>,
    /// Bytes kept in all recordings.
    kept: usize,
    seen: u64,
    overflowed: bool,
    /// The connections that are open, by the number of their first recording, to be closed at the end.
    open: BTreeMap<usize, Open>,
}

#[derive(Debug)]
struct Open {
    ends: [TcpStream; 2],
    /// Directions in which bytes may still travel.
    directions: u8,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener, target: SocketAddr) {
        let mut pumps = Vec::new();
        for client in listener.incoming() {
            if self.closing.load(Ordering::SeqCst) {
                break;
            }
            pumps.retain(|pump: &JoinHandle<()>| !pump.is_finished());
            let Ok(client) = client else {
                // Too many open files, most likely: some connection must end first.
                thread::sleep(BREATH);
                continue;
            };
            // A target that cannot be reached shows as a closed connection, as it would without a relay.
            pumps.extend(self.connect(client, target).into_iter().flatten());
        }
        for pump in pumps {
            let _ = pump.join();
        }
    }

    fn connect(self: &Arc<Self>, client: TcpStream, target: SocketAddr) -> io::Result<[JoinHandle<()>; 2]> {
        let server = TcpStream::connect_timeout(&target, CONNECT)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let ends = [client.try_clone()?, server.try_clone()?];
        let mut state = self.state();
        // The end may have come while the target was being connected to.
        if self.closing.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let first = state.recordings.len();
        state.open.insert(first, Open { ends, directions: 2 });
        state.recordings.extend([Vec::new(), Vec::new()]);
        drop(state);
        let there = self.pump(first, client.try_clone()?, server.try_clone()?)?;
        let back = self.pump(first + 1, server, client)?;
        Ok([there, back])
    }

    /// A thread that passes on one direction until its end.
    fn pump(
        self: &Arc<Self>,
        recording: usize,
        mut from: TcpStream,
        mut to: TcpStream,
    ) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(self);
        thread::Builder::new().name("relay".into()).spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let bytes = match from.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => &buffer[..count],
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                shared.state().keep(recording, bytes, shared.limit);
                if to.write_all(bytes).is_err() {
                    break;
                }
            }
            let _ = from.shutdown(Shutdown::Read);
            let _ = to.shutdown(Shutdown::Write);
            shared.state().ended(recording);
        })
    }
}

impl State {
    /// Notes that one direction of a connection has ended; the second lets go of its ends.
    fn ended(&mut self, recording: usize) {
        let first = recording & !1;
        if let Some(open) = self.open.get_mut(&first) {
            open.directions -= 1;
            if open.directions == 0 {
                self.open.remove(&first);
            }
        }
    }

    fn keep(&mut self, recording: usize, bytes: &[u8], limit: usize) {
        self.seen += bytes.len() as u64;
        if self.overflowed || self.kept + bytes.len() > limit {
            self.overflowed = true;
            return;
        }
        self.kept += bytes.len();
        self.recordings[recording].extend_from_slice(bytes);
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && bytes.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::{PATIENCE, within};

    use super::*;

    #[test]
    fn both_directions_are_passed_on_and_seen() {
        let relay = Relay::start(echo_in_capitals()).unwrap();
        assert_eq!(ask(relay.address(), b"canary"), b"CANARY");
        assert!(relay.saw(b"canary").unwrap());
        assert!(relay.saw(b"CANARY").unwrap());
        assert!(!relay.saw(b"raven").unwrap());
        assert_eq!(relay.bytes_seen(), 12);
        assert_eq!(relay.answers(3), [b"CAN"]);
    }

    #[test]
    fn a_needle_is_found_across_reads_but_not_across_connections() {
        let relay = Relay::start(echo_in_capitals()).unwrap();
        let mut stream = TcpStream::connect(relay.address()).unwrap();
        for part in [b"can", b"ary"] {
            stream.write_all(part).unwrap();
            stream.read_exact(&mut [0; 3]).unwrap();
        }
        ask(relay.address(), b"rav");
        ask(relay.address(), b"en");
        assert!(relay.saw(b"canary").unwrap());
        assert!(!relay.saw(b"raven").unwrap());
    }

    #[test]
    fn what_was_not_kept_is_not_called_absent() {
        let relay = Relay::with_limit(echo_in_capitals(), 8).unwrap();
        ask(relay.address(), b"first");
        ask(relay.address(), b"canary");
        assert!(relay.saw(b"first").unwrap());
        assert!(matches!(relay.saw(b"canary"), Err(Error::RelayFull(_))));
    }

    #[test]
    fn dropping_closes_idle_connections_and_the_port() {
        let relay = Relay::start(echo_in_capitals()).unwrap();
        let address = relay.address();
        let mut idle = TcpStream::connect(address).unwrap();
        idle.write_all(b"x").unwrap();
        idle.read_exact(&mut [0]).unwrap();
        let weak = Arc::downgrade(&relay.shared);
        drop(relay);
        assert_eq!(weak.strong_count(), 0, "a thread still runs");
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn a_connection_that_has_ended_holds_no_file() {
        let relay = Relay::start(echo_in_capitals()).unwrap();
        for _ in 0..20 {
            ask(relay.address(), b"x");
        }
        assert!(within(PATIENCE, || relay.shared.state().open.is_empty()));
        assert_eq!(relay.answers(1).len(), 20);
    }

    #[test]
    fn a_target_that_refuses_closes_the_connection() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let relay = Relay::start(closed).unwrap();
        let mut stream = TcpStream::connect(relay.address()).unwrap();
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }

    /// Sends `question`, says that this is all, and reads the whole answer.
    fn ask(address: SocketAddr, question: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(question).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    fn echo_in_capitals() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut stream = stream;
                    let mut buffer = [0; 1024];
                    while let Ok(count @ 1..) = stream.read(&mut buffer) {
                        buffer.make_ascii_uppercase();
                        stream.write_all(&buffer[..count]).unwrap();
                    }
                });
            }
        });
        address
    }
}
