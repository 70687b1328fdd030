//! Where a server of the user's own runs, as far as it can be seen from here.

use std::net::{SocketAddr, ToSocketAddrs};

use ciphertax_observe::{ProcessCpu, listening_process};

/// Where a server of the user's own runs, as far as it can be seen from here.
pub(crate) struct Whereabouts {
    /// The CPU clock of its process, where that runs on this machine and may be looked at.
    pub(crate) process: Option<ProcessCpu>,
    /// True for a server on this machine.
    pub(crate) same_host: bool,
}

impl Whereabouts {
    /// Looks for the process that listens there.
    pub(crate) fn of(host: &str, port: u16) -> Self {
        let address = resolved(host, port);
        let process = address
            .and_then(listening_process)
            .and_then(|pid| ProcessCpu::open(pid).ok());
        Self {
            same_host: process.is_some() || address.is_some_and(|address| address.ip().is_loopback()),
            process,
        }
    }
}

fn resolved(host: &str, port: u16) -> Option<SocketAddr> {
    (host, port).to_socket_addrs().ok()?.next()
}
