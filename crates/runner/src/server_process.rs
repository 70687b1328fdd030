//! Where a server of the user's own runs, as far as it can be seen from here.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use ciphertax_observe::{Listener, ProcessTree, is_of_this_machine, listener, socket_listener};
use ciphertax_reactor::stop;

use crate::database::Endpoint;
use crate::meter::{ServedBy, ServerMeter};

/// Who wants to read a server's processes, and so what would let it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A run on one server.
    Run,
    /// A run on several that form one database, which no agent reads.
    RunOnSeveral,
    /// What takes single connections apart.
    Connect,
    /// An agent on the server's machine.
    Agent,
}

impl Asker {
    /// What reads a server on another machine.
    fn way_to_read_it(self) -> &'static str {
        match self {
            Self::Run => {
                "to have it, add --server-agent ssh://USER@HOST, or --server-cpu-command where nobody can log in"
            }
            Self::RunOnSeveral => {
                "to have it, add --server-cpu-command with a program that prints the CPU time of all of them"
            }
            Self::Connect | Self::Agent => "to have it, run ciphertax there",
        }
    }

    /// What lets it look at processes of this user.
    fn as_user(self, user: &str) -> String {
        match self {
            Self::Agent => format!(
                "to have it, log in as that user, ssh://{user}@HOST, or give ciphertax there the right: setcap \
                 cap_sys_ptrace,cap_dac_read_search+ep FILE"
            ),
            Self::Run | Self::RunOnSeveral | Self::Connect => {
                format!("to have it, run ciphertax as root or as {user}")
            }
        }
    }

    /// What finds processes of which nothing is seen.
    fn where_it_runs(self) -> &'static str {
        match self {
            Self::Agent => "to have it, name the machine where it runs, with ciphertax beside the server",
            Self::Run | Self::RunOnSeveral | Self::Connect => "to have it, run ciphertax where it runs",
        }
    }
}

/// Where a server of the user's own runs, as far as it can be seen from here.
pub(crate) struct ServerProcess {
    /// What reads its process, or all its processes; or why nothing does, and what would change that.
    pub(crate) process: Result<ServerMeter, String>,
    /// True for a server on this machine.
    pub(crate) same_host: bool,
}

impl ServerProcess {
    /// Looks for the process that listens at an endpoint.
    pub(crate) fn of(endpoint: &Endpoint, served_by: ServedBy, asker: Asker) -> Self {
        if let Some(socket) = &endpoint.socket {
            let listener = socket_listener(socket).map_err(|error| error.to_string());
            return Self {
                same_host: true,
                process: listener.and_then(|listener| process_of(&listener, served_by, asker)),
            };
        }
        let address = resolved(&endpoint.host, endpoint.port);
        let address = address.filter(|address| is_of_this_machine(address.ip()));
        Self {
            same_host: address.is_some(),
            process: match address {
                Some(address) => process_of(&listener(address), served_by, asker),
                None => Err(format!("it runs on another machine; {}", asker.way_to_read_it())),
            },
        }
    }
}

/// What reads the process that listens there.
pub(crate) fn process_of(
    listener: &Listener,
    served_by: ServedBy,
    asker: Asker,
) -> Result<ServerMeter, String> {
    let open = |pid| ServerMeter::open(served_by, pid).map_err(|error| error.to_string());
    match listener {
        Listener::One(pid) => open(*pid),
        Listener::Hidden(user) => Err(format!(
            "it runs as the user {user}, whose processes only that user and root may look at; {}",
            asker.as_user(user)
        )),
        Listener::Several(pids) => {
            // One that was just started has not closed yet what its parent listens on.
            if served_by == ServedBy::Processes
                && let Ok([first]) = ProcessTree::open(pids)
                    .as_ref()
                    .map(ProcessTree::roots)
                    .as_deref()
            {
                return open(*first);
            }
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            Err(format!(
                "the processes {} listen there together, and nobody can tell which of them answers",
                pids.join(", ")
            ))
        }
        Listener::Nobody => Err(format!(
            "no process that can be seen from here listens there, so it is in a container or behind a tunnel; {}",
            asker.where_it_runs()
        )),
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
        let why = |listener: &Listener| process_of(listener, ServedBy::Threads, Asker::Run).unwrap_err();
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
        for (asker, words) in [
            (Asker::Run, "add --server-agent ssh://"),
            (Asker::RunOnSeveral, "of all of them"),
            (Asker::Connect, "run ciphertax there"),
        ] {
            let elsewhere = ServerProcess::of(&Endpoint::new("192.0.2.1", 3306), ServedBy::Threads, asker);
            assert!(!elsewhere.same_host);
            let reason = elsewhere.process.unwrap_err();
            assert!(
                reason.contains("another machine") && reason.contains(words),
                "{reason}"
            );
        }
        let agent = |listener: &Listener| process_of(listener, ServedBy::Threads, Asker::Agent).unwrap_err();
        let hidden = agent(&Listener::Hidden("mysql".into()));
        assert!(
            hidden.contains("ssh://mysql@")
                && hidden.contains("setcap cap_sys_ptrace,cap_dac_read_search+ep"),
            "{hidden}"
        );
        assert!(agent(&Listener::Nobody).contains("beside the server"));
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
        let of =
            |pids: &[u32], served_by| process_of(&Listener::Several(pids.to_vec()), served_by, Asker::Run);
        assert!(of(&members, ServedBy::Processes).is_ok());
        assert!(of(&members, ServedBy::Threads).is_err());
        // None of these two has started the other.
        assert!(of(&[*sleeper, process::id()], ServedBy::Processes).is_err());
        Command::new("kill").arg(sleeper.to_string()).status().unwrap();
        shell.wait().unwrap();
    }
}
