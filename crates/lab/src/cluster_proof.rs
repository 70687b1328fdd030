//! Proof of what servers that hold the same data tell each other: whether it travels in plaintext, as the kernel shows it to root.
//! Nothing stands in their way.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ciphertax_base::{Proof, Witness};
use ciphertax_supervise::namespace;
use etherparse::{SlicedPacket, TransportSlice};
use memchr::memmem;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size_force, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with};

use crate::error::{Error, Result};
use crate::proof::{Objection, ProofError, proof};
use crate::server::PrivateServer;
use crate::server::family::{Canary, family};

/// How often it is looked again where packets were missed: a machine may be busy for a moment.
const ATTEMPTS: u32 = 3;

/// Proves that the members of a server encrypt what they tell each other, or do not, by a row that only a server puts together and
/// that all have to be told of: whoever looks between them can read it, or cannot. It is removed again.
///
/// # Errors
/// Names the arm, and what contradicts it or kept it from being tried.
pub fn prove(arm: &str, server: &PrivateServer, encrypted: bool) -> Result<Proof, ProofError> {
    look(server)
        .map_err(Objection::from)
        .and_then(|seen| seen.verdict(encrypted).map_err(Objection::Disproved))
        .map_err(|objection| objection.of(arm))
}

/// What was seen between them of a row.
struct Seen {
    row: bool,
    bytes: u64,
    members: usize,
}

fn look(server: &PrivateServer) -> Result<Seen> {
    for _ in 0..ATTEMPTS {
        if let Some(seen) = look_once(server)? {
            return Ok(seen);
        }
    }
    Err(Error::MissedPackets)
}

/// `None` if the row was not seen, and perhaps only because not all was.
fn look_once(server: &PrivateServer) -> Result<Option<Seen>> {
    let (halves, family) = ([half()?, half()?], family(server.entry()));
    let capture = Capture::start(server.namespace.as_deref(), &server.ports_between)?;
    let written = family.canary(server, Canary::Replicate([&halves[0], &halves[1]]));
    let captured = capture.stop();
    family.canary(server, Canary::Remove)?;
    written?;
    let captured = captured?;
    let row = captured.saw(halves.concat().as_bytes());
    if !row && captured.misses_some() {
        return Ok(None);
    }
    Ok(Some(Seen {
        row,
        bytes: captured.bytes(),
        members: server.addresses().len(),
    }))
}

/// A text that is nowhere else. MongoDB's members compress what they tell each other (Snappy, which replaces four bytes and more
/// that were there before): of so many letters no four come twice.
fn half() -> Result<String> {
    let mut random = [0; 30];
    openssl::rand::rand_bytes(&mut random)?;
    Ok(openssl::base64::encode_block(&random))
}

impl Seen {
    fn verdict(&self, encrypted: bool) -> Result<Proof, String> {
        let Self { row, bytes, members } = self;
        match (encrypted, row) {
            (_, false) if *bytes == 0 => Err(format!(
                "a row was written to {members} servers, and nothing was seen between them"
            )),
            (false, true) => Ok(proof(
                Witness::Wire,
                "a row travels in plaintext between the servers",
                &format!("a capture between {members} servers read it"),
            )),
            (true, false) => Ok(proof(
                Witness::Wire,
                "a row does not travel in plaintext between the servers",
                &format!("a capture between {members} servers saw {bytes} bytes and not the row"),
            )),
            (false, false) => Err(format!(
                "{bytes} bytes were seen between {members} servers and not the row that they told each other: they encrypt it"
            )),
            (true, true) => Err(
                "a row was read between the servers: what they tell each other travels in plaintext".into(),
            ),
        }
    }
}

/// The longest packet that a loopback device carries, with what comes before it.
const LONGEST: usize = (64 << 10) + 64;

/// How much room the kernel has for what was not read yet, in bytes: for as much that travels over a loopback device, where all is
/// seen twice, in twice the room that was asked for (socket(7)).
const SOCKET_BUFFER: usize = 16 << 20;

/// How much is kept of what travelled, in bytes.
const MOST_CAPTURED: usize = 16 << 20;

/// How long a reading waits for a packet before it looks whether it is over.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Packets that are under way when a capture ends.
const UNDER_WAY: Duration = Duration::from_millis(100);

/// A capture of TCP segments from and to some ports, of one network namespace. Each is kept once, however often it is seen.
#[derive(Debug)]
pub(crate) struct Capture {
    is_over: Arc<AtomicBool>,
    reader: JoinHandle<io::Result<Captured>>,
}

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
        self.kept as u64
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
    set_socket_recv_buffer_size_force(&socket, SOCKET_BUFFER)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(LOOK_AGAIN))?;
    Ok(socket)
}

fn read(socket: &OwnedFd, ports: &[u16], is_over: &AtomicBool) -> io::Result<Captured> {
    let mut captured = Captured::default();
    let mut packet = vec![0; LONGEST];
    let mut next = |captured: &mut Captured, flags| -> rustix::io::Result<()> {
        let (kept, length) = recv(socket, &mut packet[..], flags | RecvFlags::TRUNC)?;
        captured.take(&packet[..kept], length, ports);
        Ok(())
    };
    let mut count = 0_u32;
    while !is_over.load(Ordering::Relaxed) {
        match next(&mut captured, RecvFlags::empty()) {
            Ok(()) => count = count.wrapping_add(1),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // What has come by now is read too, however late this thread has its turn.
    let Arrivals { packets, dropped } = arrivals(socket)?;
    captured.misses_some |= dropped > 0;
    for _ in 0..packets.wrapping_sub(dropped).wrapping_sub(count) {
        match next(&mut captured, RecvFlags::DONTWAIT) {
            Ok(()) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(captured)
}

/// What came to a socket since this was asked last, as the kernel counts it: `struct tpacket_stats` (packet(7)).
#[repr(C)]
#[derive(Default)]
struct Arrivals {
    /// All, those that were dropped included.
    packets: u32,
    /// Those that there was no room for.
    dropped: u32,
}

fn arrivals(socket: &OwnedFd) -> io::Result<Arrivals> {
    let mut arrivals = Arrivals::default();
    let mut length = size_of_val(&arrivals) as libc::socklen_t;
    // SAFETY: writes at most `length` bytes to `arrivals`, which outlives the call, as does the socket.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut arrivals).cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(arrivals),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Captured {
    /// Takes the beginning of a packet of this length.
    fn take(&mut self, beginning: &[u8], length: usize, ports: &[u16]) {
        self.misses_some |= length > beginning.len();
        self.keep(beginning, ports);
    }

    /// Keeps what a packet brought, if it is of interest and new. Anybody may send anything to this machine.
    fn keep(&mut self, packet: &[u8], ports: &[u16]) {
        let Ok(parts) = SlicedPacket::from_ip(packet) else {
            return;
        };
        let Some(TransportSlice::Tcp(segment)) = parts.transport else {
            return;
        };
        let (from, to) = (segment.source_port(), segment.destination_port());
        if !(ports.contains(&from) || ports.contains(&to)) {
            return;
        }
        let (at, new) = (segment.sequence_number(), segment.payload());
        let flow = self.flows.get(&(from, to));
        let known = flow.and_then(|pieces| pieces.get(&at)).map_or(0, Vec::len);
        let more = new.len().saturating_sub(known);
        if self.kept + more > MOST_CAPTURED {
            self.misses_some = true;
        } else if more > 0 {
            self.kept += more;
            self.flows.entry((from, to)).or_default().insert(at, new.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::process::Command;

    use ciphertax_testkit::not_tested;
    use etherparse::PacketBuilder;
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    use super::*;

    #[test]
    fn the_verdict_says_what_was_seen() {
        let seen = |row, bytes| Seen {
            row,
            bytes,
            members: 3,
        };
        assert!(seen(true, 900).verdict(false).is_ok());
        assert!(seen(false, 900).verdict(true).is_ok());
        assert!(seen(true, 900).verdict(true).unwrap_err().contains("plaintext"));
        assert!(
            seen(false, 900)
                .verdict(false)
                .unwrap_err()
                .contains("they encrypt it")
        );
        for encrypted in [false, true] {
            assert!(
                seen(false, 0)
                    .verdict(encrypted)
                    .unwrap_err()
                    .contains("nothing was seen")
            );
        }
    }

    /// Runs a test in a network of its own, where nobody else sends anything.
    fn alone(test: fn()) {
        if check_capture().is_err() {
            not_tested("looking at packets needs root");
            return;
        }
        let in_its_network = move || {
            // SAFETY: a network namespace changes nothing that other threads rely on.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.unwrap();
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
            assert!(up.unwrap().success());
            test();
        };
        thread::spawn(in_its_network).join().unwrap();
    }

    /// A connection over the loopback device, its client first, and its port.
    fn connection() -> (TcpStream, TcpStream, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        client.set_nodelay(true).unwrap();
        (client, listener.accept().unwrap().0, address.port())
    }

    fn pass(client: &mut TcpStream, server: &mut TcpStream, bytes: &[u8]) {
        thread::scope(|scope| {
            scope.spawn(|| client.write_all(bytes).unwrap());
            server.read_exact(&mut vec![0; bytes.len()]).unwrap();
        });
    }

    #[test]
    fn what_has_come_is_seen_also_by_who_has_its_turn_when_all_is_over() {
        alone(|| {
            let socket = open().unwrap();
            let (mut client, mut server, port) = connection();
            pass(&mut client, &mut server, b"a canary");
            let captured = read(&socket, &[port], &AtomicBool::new(true)).unwrap();
            assert!(captured.saw(b"a canary") && !captured.misses_some());
        });
    }

    #[test]
    fn what_the_kernel_had_no_room_for_is_missed() {
        alone(|| {
            let socket = open().unwrap();
            let (mut client, mut server, port) = connection();
            // Nobody asks for what travels first, so that it is not too much to be kept.
            let (mut other, mut its_server, _) = connection();
            pass(&mut other, &mut its_server, &vec![0; 3 * SOCKET_BUFFER]);
            pass(&mut client, &mut server, b"a canary");
            let captured = read(&socket, &[port], &AtomicBool::new(true)).unwrap();
            assert!(!captured.saw(b"a canary") && captured.misses_some());
        });
    }

    #[test]
    fn what_is_too_much_to_be_kept_is_missed() {
        const LENGTH: usize = 32 << 10;
        let segment = |number: usize| {
            let at = (number * LENGTH) as u32;
            let builder = PacketBuilder::ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64).tcp(1, 2, at, 1_000);
            let mut packet = Vec::new();
            builder.write(&mut packet, &[7; LENGTH]).unwrap();
            packet
        };
        let mut captured = Captured::default();
        let mut take = |number| {
            let packet = segment(number);
            captured.take(&packet, packet.len(), &[1]);
            (captured.bytes(), captured.misses_some())
        };
        let all = MOST_CAPTURED / LENGTH;
        let found = (0..all).map(&mut take).last();
        assert_eq!(found, Some((MOST_CAPTURED as u64, false)));
        assert_eq!(take(all - 1), (MOST_CAPTURED as u64, false), "it was known");
        assert_eq!(take(all), (MOST_CAPTURED as u64, true));
    }

    #[test]
    fn what_travels_is_seen_once_and_only_of_these_ports() {
        alone(|| {
            let (mut client, mut server, port) = connection();
            let (mut other, mut its_server, _) = connection();
            let capture = Capture::start(None, &[port]).unwrap();
            for word in ["a canary ", "in two pieces"] {
                pass(&mut client, &mut server, word.as_bytes());
            }
            pass(&mut other, &mut its_server, b"somebody else");
            let captured = capture.stop().unwrap();
            assert!(captured.saw(b"canary in two"));
            assert!(!captured.saw(b"somebody") && !captured.misses_some());
            assert_eq!(captured.bytes(), "a canary in two pieces".len() as u64);
        });
    }

    #[test]
    fn any_bytes_are_a_packet() {
        let mut captured = Captured::default();
        for length in 0..200 {
            let packet: Vec<u8> = (0..length).map(|place| (place * 37 + length) as u8).collect();
            captured.take(&packet, packet.len(), &[1]);
        }
        assert!(captured.bytes() == 0 && !captured.misses_some());
    }

    #[test]
    fn a_packet_of_which_the_end_is_cut_off_is_missed() {
        let mut captured = Captured::default();
        captured.take(&[0; 100], 101, &[1]);
        assert!(captured.misses_some());
    }
}
