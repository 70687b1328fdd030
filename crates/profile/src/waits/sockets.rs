//! Whether a thread waits for a client: which calls do, and which file descriptors are connections of clients.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;

use super::call::Call;
use super::memory;

/// Bytes that are read of one of the kernel's lists of sockets.
const MOST_LIST: u64 = 16 << 20;
/// Descriptors of a process that are looked at to find its client.
const MOST_DESCRIPTORS: usize = 256;
/// Descriptors that a thread which waits for its client may poll: mostly one.
const MOST_POLLED: u64 = 4;

/// The sockets of a server, by their inodes, that are no connections of clients: those that listen, and those of UDP.
#[derive(Debug, Default)]
pub(super) struct OtherSockets(HashSet<u64>);

impl OtherSockets {
    /// Those in the network namespace of a process.
    pub(super) fn of(pid: u32) -> Self {
        let mut all = HashSet::new();
        for (list, is_other) in LISTS {
            let mut text = String::new();
            if let Ok(file) = File::open(format!("/proc/{pid}/net/{list}")) {
                // What was read until it failed counts.
                let _ = file.take(MOST_LIST).read_to_string(&mut text);
            }
            all.extend(text.lines().skip(1).filter_map(is_other));
        }
        Self(all)
    }

    /// True if a file descriptor of a process is a connection of a client.
    fn is_client(&self, pid: u32, descriptor: u64) -> bool {
        fs::read_link(format!("/proc/{pid}/fd/{descriptor}"))
            .is_ok_and(|target| self.is_client_socket(target.as_os_str().as_encoded_bytes()))
    }

    fn is_client_socket(&self, target: &[u8]) -> bool {
        let inode = || {
            let digits = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        inode().is_some_and(|inode| !self.0.contains(&inode))
    }

    /// True if a process has a connection of a client.
    pub(super) fn has_client(&self, pid: u32) -> bool {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        descriptors
            .take(MOST_DESCRIPTORS)
            .flatten()
            .filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
            .any(|target| self.is_client_socket(target.as_os_str().as_encoded_bytes()))
    }

    /// True if a call of a thread of a process waits until a client says something. A set of descriptors that are watched
    /// (`epoll`) tells that of a process that serves one connection; threads that watch one serve many.
    pub(super) fn awaits_client(&self, pid: u32, serves_one: bool, call: &Call) -> bool {
        match call.number {
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_recvmmsg => self.is_client(pid, call.arguments[0]),
            libc::SYS_poll | libc::SYS_ppoll => self.polls_clients(pid, call),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 if serves_one => {
                self.watches_client(pid, call.arguments[0])
            }
            _ => false,
        }
    }

    /// A server that polls something besides its clients waits for that.
    fn polls_clients(&self, pid: u32, call: &Call) -> bool {
        let [list, count, ..] = call.arguments;
        if count == 0 || count > MOST_POLLED {
            return false;
        }
        let mut polled = [0; 8 * MOST_POLLED as usize];
        let polled = &mut polled[..8 * count as usize];
        if !memory::read(pid, list, polled).is_ok_and(|length| length == polled.len()) {
            return false;
        }
        polled.chunks_exact(8).all(|entry| {
            let descriptor = i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let events = i16::from_ne_bytes([entry[4], entry[5]]);
            let descriptor = u64::try_from(descriptor);
            events & libc::POLLIN != 0 && descriptor.is_ok_and(|descriptor| self.is_client(pid, descriptor))
        })
    }

    fn watches_client(&self, pid: u32, set: u64) -> bool {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/fdinfo/{set}")) else {
            return false;
        };
        text.lines()
            .filter_map(watched)
            .take(MOST_DESCRIPTORS)
            .any(|(descriptor, events)| {
                events & libc::EPOLLIN.cast_unsigned() != 0 && self.is_client(pid, descriptor)
            })
    }
}

/// Descriptor and events of a line `tfd: 9 events: 19 data: …` of a set of descriptors.
fn watched(line: &str) -> Option<(u64, u32)> {
    let mut words = line.strip_prefix("tfd:")?.split_whitespace();
    let descriptor = words.next()?.parse().ok()?;
    let events = (words.next()? == "events:").then(|| words.next())??;
    Some((descriptor, u32::from_str_radix(events, 16).ok()?))
}

type InodeOfOther = fn(&str) -> Option<u64>;

/// The kernel's lists of sockets, and how a line tells of one that is no client's.
const LISTS: [(&str, InodeOfOther); 5] = [
    ("tcp", listens),
    ("tcp6", listens),
    ("udp", inode),
    ("udp6", inode),
    ("unix", accepts),
];

fn inode(line: &str) -> Option<u64> {
    line.split_whitespace().nth(9)?.parse().ok()
}

fn listens(line: &str) -> Option<u64> {
    /// `TCP_LISTEN` of the kernel's `tcp_states.h`.
    const LISTEN: &str = "0A";
    (line.split_whitespace().nth(3)? == LISTEN).then(|| inode(line))?
}

fn accepts(line: &str) -> Option<u64> {
    /// `__SO_ACCEPTCON` of the kernel's `net.h`.
    const ACCEPTS: u32 = 1 << 16;
    let mut words = line.split_whitespace();
    let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
    (flags & ACCEPTS != 0).then(|| words.nth(2)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{AsRawFd, OwnedFd};

    use super::*;

    fn number(socket: &impl AsRawFd) -> u64 {
        socket.as_raw_fd() as u64
    }

    fn call(number: i64, first: u64, second: u64) -> Call {
        Call {
            number,
            arguments: [first, second, 0, 0, 0, 0],
            stack_pointer: 8,
            instruction_pointer: 8,
        }
    }

    #[test]
    fn a_connection_is_a_clients_and_what_listens_or_is_udp_is_not() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let unix = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = OtherSockets::of(own);
        assert!(sockets.is_client(own, number(&client)));
        for other in [
            number(&listener),
            number(&datagrams),
            number(&unix),
            number(&file),
            9999,
        ] {
            assert!(!sockets.is_client(own, other), "{other}");
        }
        assert!(sockets.has_client(own));
        assert!(sockets.awaits_client(own, false, &call(libc::SYS_recvfrom, number(&client), 0)));
        assert!(!sockets.awaits_client(own, false, &call(libc::SYS_accept4, number(&client), 0)));
        let poll = |polled: &[libc::pollfd]| {
            let call = call(libc::SYS_poll, polled.as_ptr().addr() as u64, polled.len() as u64);
            sockets.awaits_client(own, false, &call)
        };
        let of = |descriptor: u64, events| libc::pollfd {
            fd: descriptor as i32,
            events,
            revents: 0,
        };
        let readable = of(number(&client), libc::POLLIN);
        assert!(poll(&[readable]));
        let waits = !poll(&[of(number(&client), libc::POLLOUT)]);
        assert!(waits, "it waits until a client reads");
        let waits = !poll(&[readable, of(number(&file), libc::POLLIN)]);
        assert!(waits, "it waits for something else too");
        assert!(!poll(&[of(u64::from(u32::MAX), libc::POLLIN)]) && !poll(&[]));
        let awaits = !sockets.awaits_client(own, false, &call(libc::SYS_poll, 8, 1));
        assert!(awaits, "nothing is there");
    }

    #[test]
    fn a_set_with_a_client_is_that_of_a_process_which_serves_one() {
        use rustix::event::epoll::{CreateFlags, EventData, EventFlags, add, create};
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sockets = OtherSockets::of(own);
        let awaits = |set: &OwnedFd, serves_one| {
            sockets.awaits_client(own, serves_one, &call(libc::SYS_epoll_wait, number(set), 0))
        };
        let set = create(CreateFlags::CLOEXEC).unwrap();
        add(&set, &listener, EventData::new_u64(1), EventFlags::IN).unwrap();
        assert!(!awaits(&set, true), "it waits for whoever connects");
        add(&set, &client, EventData::new_u64(2), EventFlags::IN).unwrap();
        assert!(awaits(&set, true) && !awaits(&set, false));
        let set = create(CreateFlags::CLOEXEC).unwrap();
        add(&set, &client, EventData::new_u64(2), EventFlags::OUT).unwrap();
        assert!(!awaits(&set, true), "it waits until a client reads");
    }
}
