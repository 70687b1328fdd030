//! What travels between servers, as the kernel shows it to root: nothing stands in their way.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_supervise::namespace;
use etherparse::{SlicedPacket, TransportSlice};
use memchr::memmem;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size_force, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with};

use crate::error::{Error, Result};

/// The longest packet that a loopback device carries, with what comes before it.
const LONGEST: usize = (64 << 10) + 64;

/// How much the kernel keeps of what was not read yet, in bytes.
const KEPT: usize = 16 << 20;

/// How much is kept of what travelled, in bytes.
const LIMIT: usize = 16 << 20;

/// How long a reading waits for a packet before it looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// Packets that are under way when a capture ends.
const UNDER_WAY: Duration = Duration::from_millis(100);

/// How long what has come by the end may take to be read: more may come without end.
const REST: Duration = Duration::from_secs(1);

/// A capture of TCP segments from and to some ports, of one network namespace. Each is kept once, however often it is seen.
#[derive(Debug)]
pub(crate) struct Capture {
    is_over: Arc<AtomicBool>,
    reader: JoinHandle<io::Result<Flows>>,
}

/// What was captured.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    flows: Flows,
}

/// What was sent from one port to another, each piece at its sequence number.
type Flows = BTreeMap<(u16, u16), BTreeMap<u32, Vec<u8>>>;

impl Capture {
    /// Begins to look at what travels from and to these ports in a network namespace; `None` for that of this process.
    ///
    /// # Errors
    /// If this process may not look at packets.
    pub(crate) fn start(namespace: Option<&Path>, ports: &[u16]) -> Result<Self> {
        let socket = match namespace {
            None => open(),
            Some(path) => namespace::inside(path, open),
        };
        let socket = socket.map_err(Error::Capture)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let reader = thread::Builder::new().name("capture".into());
        let reader = reader.spawn({
            let (is_over, ports) = (Arc::clone(&is_over), ports.to_vec());
            move || read(&socket, &ports, &is_over)
        });
        Ok(Self {
            is_over,
            reader: reader.map_err(Error::Capture)?,
        })
    }

    /// Ends it, a moment after what was sent last.
    ///
    /// # Errors
    /// If the kernel would not go on.
    pub(crate) fn stop(self) -> Result<Captured> {
        thread::sleep(UNDER_WAY);
        self.is_over.store(true, Ordering::Relaxed);
        let read = self.reader.join();
        let read = read.unwrap_or_else(|_| Err(io::Error::other("the thread that captures panicked")));
        Ok(Captured {
            flows: read.map_err(Error::Capture)?,
        })
    }
}

impl Captured {
    /// True if this was sent in plaintext, in one piece or in several that follow each other.
    pub(crate) fn saw(&self, text: &[u8]) -> bool {
        let all = |pieces: &BTreeMap<u32, Vec<u8>>| pieces.values().flatten().copied().collect::<Vec<u8>>();
        self.flows
            .values()
            .any(|pieces| memmem::find(&all(pieces), text).is_some())
    }

    /// What was sent in all, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let pieces = self.flows.values().flat_map(BTreeMap::values);
        pieces.map(|piece| piece.len() as u64).sum()
    }
}

/// Makes sure that this process may look at packets.
///
/// # Errors
/// If it may not, with the remedy.
pub fn check_capture() -> Result<()> {
    open().map(drop).map_err(Error::Capture)
}

/// A socket that sees the packets of the network namespace that this thread is in.
fn open() -> io::Result<OwnedFd> {
    // Of every protocol, which the kernel wants in the order of the network.
    let every = u32::from((libc::ETH_P_ALL as u16).to_be());
    let socket = socket_with(
        AddressFamily::PACKET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        NonZero::new(every).map(Protocol::from_raw),
    )?;
    set_socket_recv_buffer_size_force(&socket, KEPT)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(LOOK))?;
    Ok(socket)
}

fn read(socket: &OwnedFd, ports: &[u16], is_over: &AtomicBool) -> io::Result<Flows> {
    let (mut flows, mut kept) = (Flows::new(), 0);
    let mut packet = vec![0; LONGEST];
    let mut deadline = None;
    loop {
        // What has come by then is read too, however late this thread has its turn.
        let is_over = is_over.load(Ordering::Relaxed);
        let flags = if is_over {
            RecvFlags::DONTWAIT
        } else {
            RecvFlags::empty()
        };
        match recv(socket, &mut packet[..], flags) {
            Ok((length, _)) if kept < LIMIT => kept += keep(&packet[..length], ports, &mut flows),
            Err(Errno::AGAIN) if is_over => return Ok(flows),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if is_over && *deadline.get_or_insert_with(|| Instant::now() + REST) < Instant::now() {
            return Ok(flows);
        }
    }
}

/// Keeps what a packet brought, if it is of interest and new; how much that was. Anybody may send anything to this machine.
fn keep(packet: &[u8], ports: &[u16], flows: &mut Flows) -> usize {
    let Ok(parts) = SlicedPacket::from_ip(packet) else {
        return 0;
    };
    let Some(TransportSlice::Tcp(segment)) = parts.transport else {
        return 0;
    };
    let (from, to) = (segment.source_port(), segment.destination_port());
    if segment.payload().is_empty() || !(ports.contains(&from) || ports.contains(&to)) {
        return 0;
    }
    let pieces = flows.entry((from, to)).or_default();
    let new = segment.payload();
    let known = pieces.entry(segment.sequence_number()).or_default();
    let more = new.len().saturating_sub(known.len());
    if more > 0 {
        *known = new.to_vec();
    }
    more
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_has_come_is_seen_also_by_who_has_its_turn_when_all_is_over() {
        if check_capture().is_err() {
            eprintln!("NOT TESTED: looking at packets needs root");
            return;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = open().unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"a canary").unwrap();
        listener.accept().unwrap().0.read_exact(&mut [0; 8]).unwrap();
        let flows = read(&socket, &[port], &AtomicBool::new(true)).unwrap();
        assert!(Captured { flows }.saw(b"a canary"));
    }

    #[test]
    fn what_travels_is_seen_once_and_only_of_these_ports() {
        if check_capture().is_err() {
            eprintln!("NOT TESTED: looking at packets needs root");
            return;
        }
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (one, other) = (listen(), listen());
        let port = one.local_addr().unwrap().port();
        let capture = Capture::start(None, &[port]).unwrap();
        for (listener, words) in [
            (&one, ["a canary ", "in two pieces"]),
            (&other, ["somebody ", "else"]),
        ] {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_nodelay(true).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            for word in words {
                client.write_all(word.as_bytes()).unwrap();
                server.read_exact(&mut vec![0; word.len()]).unwrap();
            }
        }
        let captured = capture.stop().unwrap();
        assert!(captured.saw(b"canary in two"));
        assert!(!captured.saw(b"somebody"));
        assert_eq!(captured.bytes(), "a canary in two pieces".len() as u64);
    }

    #[test]
    fn any_bytes_are_a_packet() {
        let mut flows = Flows::new();
        for length in 0..200 {
            let packet: Vec<u8> = (0..length).map(|place| (place * 37 + length) as u8).collect();
            keep(&packet, &[1], &mut flows);
        }
        assert_eq!(keep(&[], &[1], &mut flows), 0);
    }
}
