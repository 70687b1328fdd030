//! A relay for datagrams, which sees what really travels between two ends that keep their ports.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::{Error, Result};

use super::proof::Witness;

/// How much is kept of what travels, in bytes, both directions together.
const LIMIT: usize = 16 << 20;

/// How long the relay listens before it looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(50);

/// Longest payload of a UDP datagram over IPv4, rounded up.
const LONGEST: usize = 1 << 16;

/// Keeps every datagram, and passes it on to the end it does not come from. Both ends must send to the relay.
#[derive(Debug)]
pub(super) struct DatagramRelay {
    shared: Arc<Shared>,
    pump: Option<JoinHandle<()>>,
}

impl DatagramRelay {
    /// Relays between the two ends through `socket`.
    pub(super) fn start(socket: UdpSocket, ends: [SocketAddr; 2]) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let shared = Arc::new(Shared::default());
        let pump = thread::Builder::new().name("relay".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.pump(&socket, ends)
        })?;
        Ok(Self {
            shared,
            pump: Some(pump),
        })
    }
}

impl Witness for DatagramRelay {
    fn saw(&self, needle: &[u8]) -> Result<bool> {
        let state = self.shared.state();
        let found = state.datagrams.iter().any(|datagram| {
            datagram
                .windows(needle.len().max(1))
                .any(|window| window == needle)
        });
        if !found && state.overflowed {
            return Err(Error::RelayFull {
                limit_mb: LIMIT >> 20,
            });
        }
        Ok(found)
    }

    fn bytes_seen(&self) -> u64 {
        self.shared.state().seen
    }
}

impl Drop for DatagramRelay {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        if let Some(pump) = self.pump.take() {
            let _ = pump.join();
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    closing: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    datagrams: Vec<Vec<u8>>,
    kept: usize,
    seen: u64,
    overflowed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pump(&self, socket: &UdpSocket, [one, other]: [SocketAddr; 2]) {
        let mut buffer = vec![0; LONGEST];
        while !self.closing.load(Ordering::SeqCst) {
            // A timeout, or the word that an end is not there yet.
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            let to = match from {
                from if from == one => other,
                from if from == other => one,
                _ => continue,
            };
            self.state().keep(&buffer[..length]);
            // Lost datagrams are sent again by whoever needs them.
            let _ = socket.send_to(&buffer[..length], to);
        }
    }
}

impl State {
    fn keep(&mut self, datagram: &[u8]) {
        self.seen += datagram.len() as u64;
        if self.overflowed || self.kept + datagram.len() > LIMIT {
            self.overflowed = true;
            return;
        }
        self.kept += datagram.len();
        self.datagrams.push(datagram.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::uninterrupted;

    use super::*;

    #[test]
    fn datagrams_pass_both_ways_and_are_seen_but_unknown_senders_are_ignored() {
        let [one, other, unknown, middle] = [0; 4].map(|_| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        });
        let address = middle.local_addr().unwrap();
        let relay =
            DatagramRelay::start(middle, [one.local_addr().unwrap(), other.local_addr().unwrap()]).unwrap();
        let mut buffer = [0; 16];
        unknown.send_to(b"foreign", address).unwrap();
        one.send_to(b"there", address).unwrap();
        let length = uninterrupted(|| other.recv(&mut buffer)).unwrap();
        assert_eq!(&buffer[..length], b"there");
        other.send_to(b"back", address).unwrap();
        let length = uninterrupted(|| one.recv(&mut buffer)).unwrap();
        assert_eq!(&buffer[..length], b"back");
        assert!(relay.saw(b"her").unwrap() && relay.saw(b"back").unwrap());
        assert!(!relay.saw(b"foreign").unwrap() && !relay.saw(b"thereback").unwrap());
        assert_eq!(relay.bytes_seen(), 9);
    }
}
