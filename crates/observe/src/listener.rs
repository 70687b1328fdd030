//! Processes that listen on an address of this machine, and that serve connections.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{self as unix, UnixStream};
use std::path::Path;
use std::{fs, io, mem};

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};

use crate::{Error, Result};

/// Whose a socket is, as far as it can be seen from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketOwner {
    /// This process, whose CPU time can be read.
    One(u32),
    /// These, of which nobody can say which one answers.
    Several(Vec<u32>),
    /// A process of this user, whom we may not look at.
    Hidden(String),
    /// No process that can be seen from here.
    Nobody,
}

/// Who listens where a client of `address` ends up.
pub fn listener(address: SocketAddr) -> SocketOwner {
    owner_of(&listening_sockets(address))
}

/// Who listens on a port, on whichever addresses: where clients use one that this machine does not know, as behind a router
/// that translates addresses.
pub fn port_listener(port: u16) -> SocketOwner {
    let sockets = listening_on(port).map(|entry| (entry.inode, entry.uid));
    owner_of(&sockets.collect())
}

/// Who serves the connection that comes from there, from any address where none is known, to a port of its own if that is given: in this
/// network namespace, or else in another that this process may look into.
pub fn session_owner(peer: (Option<IpAddr>, u16), port: Option<u16>) -> SocketOwner {
    let is_its_end = |entry: &TcpNetEntry| {
        let (remote, local) = (entry.remote_address, entry.local_address);
        let is_peer = peer
            .0
            .is_none_or(|ip| ip.to_canonical() == remote.ip().to_canonical());
        let is_open = entry.state == TcpState::Established && remote.port() == peer.1;
        is_open && is_peer && port.is_none_or(|port| port == local.port())
    };
    let ends = |tables: [procfs::ProcResult<Vec<TcpNetEntry>>; 2]| -> HashMap<u64, u32> {
        let entries = tables.into_iter().flatten().flatten();
        entries
            .filter(is_its_end)
            .map(|entry| (entry.inode, entry.uid))
            .collect()
    };
    let here = ends([procfs::net::tcp(), procfs::net::tcp6()]);
    if !here.is_empty() {
        return owner_of(&here);
    }
    let mut looked_into = HashSet::new();
    for process in all_processes().into_iter().flatten().flatten() {
        let namespace = fs::read_link(format!("/proc/{}/ns/net", process.pid));
        if namespace.is_ok_and(|namespace| looked_into.insert(namespace)) {
            let there = ends([process.tcp(), process.tcp6()]);
            if !there.is_empty() {
                return owner_of(&there);
            }
        }
    }
    SocketOwner::Nobody
}

/// The number that a process has in the innermost container that it is in, and its parent's here.
///
/// # Errors
/// When it has ended.
pub fn inner_pid_and_parent(pid: u32) -> Result<(u32, u32)> {
    let unreadable = || Error::read(format!("/proc/{pid}/status"));
    let status = Process::new(pid as i32).and_then(|process| process.status());
    let status = status.map_err(|error| unreadable()(io::Error::other(error)))?;
    let inner = status.nspid.and_then(|pids| pids.last().copied());
    Ok((inner.unwrap_or(status.pid) as u32, status.ppid as u32))
}

fn owner_of(sockets: &HashMap<u64, u32>) -> SocketOwner {
    let Some(user) = sockets.values().next() else {
        return SocketOwner::Nobody;
    };
    let (mut found, mut refused) = (Vec::new(), false);
    for process in all_processes().into_iter().flatten().flatten() {
        match has_one_of(&process, sockets) {
            Ok(true) => found.extend(u32::try_from(process.pid)),
            Ok(false) => {}
            Err(_) => refused = true,
        }
    }
    match found[..] {
        [pid] => SocketOwner::One(pid),
        [] if refused => SocketOwner::Hidden(user_name(*user)),
        [] => SocketOwner::Nobody,
        _ => SocketOwner::Several(found),
    }
}

/// Who listens on a Unix socket: the kernel tells everybody who connects.
///
/// # Errors
/// When nobody can connect there.
pub fn socket_listener(path: &Path) -> Result<SocketOwner> {
    let unreadable = || Error::read(path.display().to_string());
    let address = match path.as_os_str().as_bytes() {
        [b'@', name @ ..] => unix::SocketAddr::from_abstract_name(name),
        _ => unix::SocketAddr::from_pathname(path),
    };
    let stream = address.and_then(|address| UnixStream::connect_addr(&address));
    let stream = stream.map_err(unreadable())?;
    let mut peer = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: writes at most `length` bytes to `peer`, which outlives the call, as does the socket.
    let outcome = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if outcome != 0 {
        return Err(unreadable()(io::Error::last_os_error()));
    }
    // 0 is a process of another namespace, and 1 began to listen for a server that it starts when it is asked for.
    Ok(match u32::try_from(peer.pid) {
        Ok(pid @ 2..) => SocketOwner::One(pid),
        _ => SocketOwner::Nobody,
    })
}

/// True for an address of this machine: only those can be bound.
pub fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The name that a user's number stands for; the number where nobody has it.
fn user_name(number: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number.to_string()).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("user {number}"))
}

/// Inodes of the sockets that listen on exactly this address, with their users; if there are none, of those that listen on
/// every address.
fn listening_sockets(address: SocketAddr) -> HashMap<u64, u32> {
    let on_port: Vec<TcpNetEntry> = listening_on(address.port()).collect();
    let inodes = |accept: &dyn Fn(&SocketAddr) -> bool| -> HashMap<u64, u32> {
        on_port
            .iter()
            .filter(|entry| accept(&entry.local_address))
            .map(|entry| (entry.inode, entry.uid))
            .collect()
    };
    let exact = inodes(&|local| local.ip().to_canonical() == address.ip().to_canonical());
    if !exact.is_empty() {
        return exact;
    }
    // A socket on `::` takes IPv4 connections too, unless told otherwise.
    inodes(&|local| local.ip().is_unspecified() && (local.is_ipv6() || address.is_ipv4()))
}

fn listening_on(port: u16) -> impl Iterator<Item = TcpNetEntry> {
    let sockets = [procfs::net::tcp(), procfs::net::tcp6()].into_iter().flatten();
    sockets
        .flatten()
        .filter(move |entry| entry.state == TcpState::Listen && entry.local_address.port() == port)
}

fn has_one_of(process: &Process, sockets: &HashMap<u64, u32>) -> procfs::ProcResult<bool> {
    let is_one = |target: &FDTarget| matches!(target, FDTarget::Socket(inode) if sockets.contains_key(inode));
    Ok(process
        .fd()?
        .flatten()
        .any(|descriptor| is_one(&descriptor.target)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    use ciphertax_testkit::{PATIENCE, within};

    use super::*;

    /// True if that is found before long: what other tests start has our sockets too, until it becomes another program.
    fn is_soon(expected: &SocketOwner, find: impl Fn() -> SocketOwner) -> bool {
        within(PATIENCE, || find() == *expected)
    }

    #[test]
    fn our_own_listener_is_found_on_every_kind_of_address() {
        for (bound, asked) in [
            ("127.0.0.1", "127.0.0.1"),
            ("0.0.0.0", "127.0.0.1"),
            ("[::]", "127.0.0.1"),
            ("[::1]", "[::1]"),
        ] {
            let Ok(own) = TcpListener::bind(format!("{bound}:0")) else {
                assert!(bound.starts_with('['), "only IPv6 may be missing");
                continue;
            };
            let port = own.local_addr().unwrap().port();
            let address = format!("{asked}:{port}").parse().unwrap();
            let is_found = is_soon(&SocketOwner::One(std::process::id()), || listener(address));
            assert!(is_found, "{bound} asked as {asked}: {:?}", listener(address));
        }
    }

    #[test]
    fn another_address_of_the_same_port_is_not_ours() {
        let own = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = own.local_addr().unwrap().port();
        let other = format!("127.0.0.2:{port}").parse().unwrap();
        assert!(is_soon(&SocketOwner::Nobody, || listener(other)));
        assert!(is_soon(&SocketOwner::One(std::process::id()), || port_listener(
            port
        )));
    }

    #[test]
    fn nobody_listens_on_a_closed_port() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(is_soon(&SocketOwner::Nobody, || listener(address)));
    }

    #[test]
    fn a_socket_that_several_processes_share_is_of_no_one_of_them() {
        let own = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = own.local_addr().unwrap();
        let shared = std::os::fd::OwnedFd::from(own.try_clone().unwrap());
        let mut other = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::from(shared))
            .spawn()
            .unwrap();
        let mut expected = vec![std::process::id(), other.id()];
        expected.sort_unstable();
        let is_found = is_soon(&SocketOwner::Several(expected), || match listener(address) {
            SocketOwner::Several(mut pids) => {
                pids.sort_unstable();
                SocketOwner::Several(pids)
            }
            found => found,
        });
        let found = listener(address);
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(is_found, "{found:?}");
    }

    #[test]
    fn who_listens_on_a_unix_socket_is_known_without_any_rights() {
        let folder = std::env::temp_dir().join(format!("ciphertax-listener-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("socket");
        let own = UnixListener::bind(&path).unwrap();
        let found = socket_listener(&path);
        drop(own);
        let gone = socket_listener(&path);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.unwrap(), SocketOwner::One(std::process::id()));
        assert!(gone.unwrap_err().to_string().contains("socket"));
    }

    #[test]
    fn the_addresses_of_this_machine_are_known() {
        assert!(is_of_this_machine("127.0.0.1".parse().unwrap()));
        // One of those kept for examples.
        assert!(!is_of_this_machine("192.0.2.1".parse().unwrap()));
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_000), "user 4000000000");
    }
}
