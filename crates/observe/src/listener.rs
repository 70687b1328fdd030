//! Which process listens on an address of this machine.

use std::collections::HashSet;
use std::net::SocketAddr;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};

/// The process that listens where a client of `address` ends up, so that its CPU time can be read. `None` if nobody does
/// on this machine, or if it belongs to another user whom we may not look at.
pub fn listening_process(address: SocketAddr) -> Option<u32> {
    let sockets = listening_sockets(address);
    if sockets.is_empty() {
        return None;
    }
    all_processes()
        .ok()?
        .flatten()
        .find(|process| has_one_of(process, &sockets))
        .and_then(|process| u32::try_from(process.pid).ok())
}

/// Inodes of the sockets that listen on exactly this address; if there are none, of those that listen on every address.
fn listening_sockets(address: SocketAddr) -> HashSet<u64> {
    let on_port: Vec<TcpNetEntry> = [procfs::net::tcp(), procfs::net::tcp6()]
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.state == TcpState::Listen && entry.local_address.port() == address.port())
        .collect();
    let inodes = |accept: &dyn Fn(&SocketAddr) -> bool| -> HashSet<u64> {
        on_port
            .iter()
            .filter(|entry| accept(&entry.local_address))
            .map(|entry| entry.inode)
            .collect()
    };
    let exact = inodes(&|local| local.ip().to_canonical() == address.ip().to_canonical());
    if !exact.is_empty() {
        return exact;
    }
    // A socket on `::` takes IPv4 connections too, unless told otherwise.
    inodes(&|local| local.ip().is_unspecified() && (local.is_ipv6() || address.is_ipv4()))
}

fn has_one_of(process: &Process, sockets: &HashSet<u64>) -> bool {
    process.fd().is_ok_and(|descriptors| {
        descriptors.flatten().any(
            |descriptor| matches!(descriptor.target, FDTarget::Socket(inode) if sockets.contains(&inode)),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn our_own_listener_is_found_on_every_kind_of_address() {
        for (bound, asked) in [
            ("127.0.0.1", "127.0.0.1"),
            ("0.0.0.0", "127.0.0.1"),
            ("[::]", "127.0.0.1"),
            ("[::1]", "[::1]"),
        ] {
            let Ok(listener) = TcpListener::bind(format!("{bound}:0")) else {
                assert!(bound.starts_with('['), "only IPv6 may be missing");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let found = listening_process(format!("{asked}:{port}").parse().unwrap());
            assert_eq!(found, Some(std::process::id()), "{bound} asked as {asked}");
        }
    }

    #[test]
    fn another_address_of_the_same_port_is_not_ours() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(
            listening_process(format!("127.0.0.2:{port}").parse().unwrap()),
            None
        );
    }

    #[test]
    fn nobody_listens_on_a_closed_port() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(listening_process(address), None);
    }
}
