//! Where a server of the user's own runs, as far as it can be seen from here.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use ciphertax_observe::{Listener, ProcessTree, is_of_this_machine, listener, socket_listener};
use ciphertax_reactor::stop;

use crate::meter::{ServedBy, ServerMeter};

/// Where a server of the user's own runs, as far as it can be seen from here.
pub(crate) struct Whereabouts {
    /// What reads its process, or all its processes; or why nothing does, and what would change that.
    pub(crate) process: Result<ServerMeter, String>,
    /// True for a server on this machine.
    pub(crate) same_host: bool,
}

impl Whereabouts {
    /// Looks for the process that listens there.
    pub(crate) fn of(host: &str, port: u16, served_by: ServedBy) -> Self {
        let address = resolved(host, port).filter(|address| is_of_this_machine(address.ip()));
        let process = match address {
            Some(address) => process_of(&listener(address), served_by),
            None => Err("it runs on another machine; to have it, run ciphertax there".into()),
        };
        Self {
            same_host: address.is_some(),
            process,
        }
    }

    /// Looks for the process that listens on a Unix socket.
    pub(crate) fn of_socket(path: &Path, served_by: ServedBy) -> Self {
        let listener = socket_listener(path).map_err(|error| error.to_string());
        Self {
            same_host: true,
            process: listener.and_then(|listener| process_of(&listener, served_by)),
        }
    }
}

fn process_of(listener: &Listener, served_by: ServedBy) -> Result<ServerMeter, String> {
    let open = |pid| ServerMeter::open(served_by, pid).map_err(|error| error.to_string());
    match listener {
        Listener::One(pid) => open(*pid),
        Listener::Hidden(user) => Err(format!(
            "it runs as the user {user}, whose processes only that user and root may look at; to have it, run ciphertax as \
             root or as {user}"
        )),
        Listener::Several(pids) => {
            // One that was just started has not closed yet what its parent listens on.
            if served_by == ServedBy::Processes
                && let Ok([first]) = ProcessTree::open(pids).as_ref().map(ProcessTree::roots).as_deref()
            {
                return open(*first);
            }
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

/// The address of a name. A resolver that nobody answers takes long to say so, and cannot be stopped: so another thread
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
    use std::io::Read;
    use std::process::{self, Command, Stdio};

    use super::*;

    #[test]
    fn a_clock_that_cannot_be_read_has_a_reason_and_a_remedy() {
        let why = |listener: &Listener| process_of(listener, ServedBy::Threads).unwrap_err();
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
        let elsewhere = Whereabouts::of("192.0.2.1", 3306, ServedBy::Threads);
        assert!(!elsewhere.same_host);
        assert!(elsewhere.process.unwrap_err().contains("another machine"));
    }

    #[test]
    fn processes_of_one_server_that_listen_together_are_read_as_one() {
        // A shell that waits for what it started; the newline comes when both are there.
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let members = ProcessTree::open(&[shell.id()]).unwrap().members().unwrap();
        let sleeper = members.iter().find(|pid| **pid != shell.id()).unwrap();
        let of = |pids: &[u32], served_by| process_of(&Listener::Several(pids.to_vec()), served_by);
        assert!(of(&members, ServedBy::Processes).is_ok());
        assert!(of(&members, ServedBy::Threads).is_err());
        // None of these two has started the other.
        assert!(of(&[*sleeper, process::id()], ServedBy::Processes).is_err());
        Command::new("kill").arg(sleeper.to_string()).status().unwrap();
        shell.wait().unwrap();
    }
}
