//! Where a server of the user's own runs, as far as it can be seen from here.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use ciphertax_observe::{ProcessCpu, listening_process};
use ciphertax_reactor::stop;

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

/// The address of a name. A resolver that nobody answers takes long to say so, and cannot be told to stop: so another thread
/// waits for it.
fn resolved(host: &str, port: u16) -> Option<SocketAddr> {
    let name = (host.to_owned(), port);
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(name.to_socket_addrs().ok().and_then(|mut found| found.next()));
    });
    loop {
        match answer.recv_timeout(stop::LOOK) {
            Err(RecvTimeoutError::Timeout) if !stop::is_requested() => {}
            found => return found.ok().flatten(),
        }
    }
}
