//! What travels between servers, as the kernel shows it to root: nothing stands in their way.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::os::fd::{AsRawFd, OwnedFd};
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
    reader: JoinHandle<io::Result<Captured>>,
}

/// What was captured.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    flows: Flows,
    /// How much of it was kept, in bytes.
    kept: usize,
    misses_some: bool,
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
        read.map_err(Error::Capture)
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

    /// True if more travelled than was looked at: what was not seen may have been sent all the same.
    pub(crate) fn misses_some(&self) -> bool {
        self.misses_some
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

fn read(socket: &OwnedFd, ports: &[u16], is_over: &AtomicBool) -> io::Result<Captured> {
    let mut captured = Captured::default();
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
            Ok((length, _)) => captured.keep(&packet[..length], ports),
            Err(Errno::AGAIN) if is_over => break,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if is_over && *deadline.get_or_insert_with(|| Instant::now() + REST) < Instant::now() {
            captured.misses_some = true;
            break;
        }
    }
    captured.misses_some |= dropped(socket)? > 0;
    Ok(captured)
}

/// How many packets the kernel had no room for since it was asked last.
fn dropped(socket: &OwnedFd) -> io::Result<u32> {
    // `struct tpacket_stats`: the packets, and those of them that were dropped (packet(7)).
    let mut counts = [0_u32; 2];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: writes at most `length` bytes to `counts`, which outlives the call, as does the socket.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(counts[1]),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Captured {
    /// Keeps what a packet brought, if it is of interest and new. Anybody may send anything to this machine.
    fn keep(&mut self, packet: &[u8], ports: &[u16]) {
        let Ok(parts) = SlicedPacket::from_ip(packet) else {
            return;
        };
        let Some(TransportSlice::Tcp(segment)) = parts.transport else {
            return;
        };
        let (from, to) = (segment.source_port(), segment.destination_port());
        let new = segment.payload();
        if new.is_empty() || !(ports.contains(&from) || ports.contains(&to)) {
            return;
        }
        if self.kept >= LIMIT {
            self.misses_some = true;
            return;
        }
        let pieces = self.flows.entry((from, to)).or_default();
        let known = pieces.entry(segment.sequence_number()).or_default();
        if new.len() > known.len() {
            self.kept += new.len() - known.len();
            *known = new.to_vec();
        }
    }
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
        let captured = read(&socket, &[port], &AtomicBool::new(true)).unwrap();
        assert!(captured.saw(b"a canary") && !captured.misses_some());
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
    fn whoever_misses_some_says_so() {
        if check_capture().is_err() {
            eprintln!("NOT TESTED: looking at packets needs root");
            return;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = open().unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        // More than the kernel keeps for whoever does not read.
        let mut piece = vec![0; 1 << 20];
        for _ in 0..3 * (KEPT >> 20) {
            let sender = thread::spawn({
                let (mut client, piece) = (client.try_clone().unwrap(), piece.clone());
                move || client.write_all(&piece).unwrap()
            });
            server.read_exact(&mut piece).unwrap();
            sender.join().unwrap();
        }
        client.write_all(b"a canary").unwrap();
        server.read_exact(&mut [0; 8]).unwrap();
        let captured = read(&socket, &[port], &AtomicBool::new(true)).unwrap();
        assert!(!captured.saw(b"a canary") && captured.misses_some());
    }

    #[test]
    fn any_bytes_are_a_packet() {
        let mut captured = Captured::default();
        for length in 0..200 {
            let packet: Vec<u8> = (0..length).map(|place| (place * 37 + length) as u8).collect();
            captured.keep(&packet, &[1]);
        }
        captured.keep(&[], &[1]);
        assert_eq!(captured.bytes(), 0);
    }
}
