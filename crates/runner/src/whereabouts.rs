//! Where a server of the user's own runs, as far as it can be seen from here.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use ciphertax_observe::{Listener, ProcessMeter, is_of_this_machine, listener, socket_listener};
use ciphertax_reactor::stop;

/// Where a server of the user's own runs, as far as it can be seen from here.
pub(crate) struct Whereabouts {
    /// What reads its process; or why nothing does, and what would change that.
    pub(crate) process: Result<ProcessMeter, String>,
    /// True for a server on this machine.
    pub(crate) same_host: bool,
}

impl Whereabouts {
    /// Looks for the process that listens there.
    pub(crate) fn of(host: &str, port: u16) -> Self {
        let address = resolved(host, port).filter(|address| is_of_this_machine(address.ip()));
        let process = match address {
            Some(address) => process_of(&listener(address)),
            None => Err("it runs on another machine; to have it, run ciphertax there".into()),
        };
        Self {
            same_host: address.is_some(),
            process,
        }
    }

    /// Looks for the process that listens on a Unix socket.
    pub(crate) fn of_socket(path: &Path) -> Self {
        let listener = socket_listener(path).map_err(|error| error.to_string());
        Self {
            same_host: true,
            process: listener.and_then(|listener| process_of(&listener)),
        }
    }
}

fn process_of(listener: &Listener) -> Result<ProcessMeter, String> {
    match listener {
        Listener::One(pid) => ProcessMeter::open(*pid).map_err(|error| error.to_string()),
        Listener::Hidden(user) => Err(format!(
            "it runs as the user {user}, whose processes only that user and root may look at; to have it, run ciphertax as \
             root or as {user}"
        )),
        Listener::Several(pids) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            Err(format!(
                "the processes {} listen there together, and nobody can tell which of them answers",
                pids.join(", ")
            ))
        }
        Listener::Nobody => Err(
            "no process that can be seen from here listens there, so it is in a container or behind a tunnel; to have it, run \
             ciphertax where it runs"
                .into(),
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_cannot_be_read_has_a_reason_and_a_remedy() {
        let why = |listener: &Listener| process_of(listener).unwrap_err();
        for (listener, words) in [
            (
                Listener::Hidden("mysql".into()),
                ["the user mysql", "as root or as mysql"],
            ),
            (Listener::Several(vec![7, 8]), ["7, 8", "which of them"]),
            (Listener::Nobody, ["container", "where it runs"]),
        ] {
            let reason = why(&listener);
            assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
        }
        // An address that is kept for examples.
        let elsewhere = Whereabouts::of("192.0.2.1", 3306);
        assert!(!elsewhere.same_host);
        assert!(elsewhere.process.unwrap_err().contains("another machine"));
    }
}
