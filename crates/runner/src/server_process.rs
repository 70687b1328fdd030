//! Where a server of the user's own runs, as far as it can be seen from here.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::{fs, thread};

use ciphertax_base::SeenByServer;
use ciphertax_observe::{
    ProcessTree, SocketOwner, inner_pid_and_parent, is_of_this_machine, listener, session_owner,
    socket_listener,
};
use ciphertax_reactor::stop;
use ciphertax_wire::resolve;
use rustix::process::geteuid;

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
    /// What listens in its place and passes connections on.
    pub(crate) through: Option<String>,
    /// What reads that; `None` where it cannot be read.
    pub(crate) between: Option<ProcessTree>,
}

impl ServerProcess {
    /// The process that listens at an endpoint, which may be another than the server's.
    pub(crate) fn listening_at(endpoint: &Endpoint, served_by: ServedBy, asker: Asker) -> Self {
        Self::of_listener(listener_at(endpoint), served_by, asker)
    }

    fn of_listener(listener: Result<Option<SocketOwner>, String>, served_by: ServedBy, asker: Asker) -> Self {
        Self {
            same_host: !matches!(listener, Ok(None)),
            through: None,
            between: None,
            process: match listener {
                Ok(Some(listener)) => process_of(&listener, served_by, asker),
                Ok(None) => Err(format!("it runs on another machine; {}", asker.way_to_read_it())),
                Err(error) => Err(error),
            },
        }
    }

    /// The process that serves a session which is open, and of which the server says what is `seen`: what listens at the endpoint may
    /// only pass connections on.
    pub(crate) fn of(endpoint: &Endpoint, seen: &SeenByServer, served_by: ServedBy, asker: Asker) -> Self {
        let mut server = serving(seen, served_by);
        let listener = match listener_at(endpoint) {
            // By the address of its container it is not of this machine.
            Ok(None) if server != SocketOwner::Nobody => server.clone(),
            Ok(Some(listener)) if seen.peer_port.is_some() || endpoint.socket.is_none() => listener,
            listener => return Self::of_listener(listener, served_by, asker),
        };
        if server == SocketOwner::Nobody && is_database(&listener) {
            // It listens on another port than it says, or says of a session what is no port.
            server = listener.clone();
        }
        let through = name_of_another(&listener, &server);
        let process = match (&server, &through) {
            (SocketOwner::Nobody, None) => process_of(&listener, served_by, asker),
            (SocketOwner::Nobody, Some(through)) => Err(match seen.peer_port {
                Some(_) => format!(
                    "{through} listens there and passes connections on to a server that cannot be seen from here; {}",
                    asker.way_to_read_it()
                ),
                None => format!(
                    "{through} listens there, and may only pass connections on: the server does not say from where it sees them"
                ),
            }),
            _ => process_of(&server, served_by, asker),
        };
        let between = match &listener {
            SocketOwner::One(pid) if through.is_some() => ProcessTree::open(&[*pid]).ok(),
            SocketOwner::Several(pids) if through.is_some() => ProcessTree::open(pids).ok(),
            _ => None,
        };
        // What has started the server too would be billed for it.
        let started = |between: &ProcessTree| match &process {
            Ok(server) => between
                .members()
                .is_ok_and(|pids| pids.contains(&server.root.pid())),
            Err(_) => false,
        };
        let between = between.filter(|between| !started(between));
        Self {
            process,
            between,
            // Root alone may look into other network namespaces, and not where it does not see who listens either.
            same_host: server != SocketOwner::Nobody
                || listener == SocketOwner::Nobody
                || seen.peer_port.is_none()
                || !geteuid().is_root(),
            through,
        }
    }
}

/// Who listens at an endpoint; `None` on another machine.
fn listener_at(endpoint: &Endpoint) -> Result<Option<SocketOwner>, String> {
    if let Some(socket) = &endpoint.socket {
        return socket_listener(socket)
            .map(Some)
            .map_err(|error| error.to_string());
    }
    let address = resolved(&endpoint.host, endpoint.port);
    Ok(address
        .filter(|address| is_of_this_machine(address.ip()))
        .map(listener))
}

/// The server's first process, by the session that it says to see; nobody where it does not say, or where the process that has the
/// session is another than it says.
pub(crate) fn serving(seen: &SeenByServer, served_by: ServedBy) -> SocketOwner {
    let owner = seen
        .peer_port
        .map(|port| session_owner((seen.peer_ip, port), seen.port));
    let pids = match owner.unwrap_or(SocketOwner::Nobody) {
        SocketOwner::One(pid) => vec![pid],
        SocketOwner::Several(pids) => pids,
        nobody => return nobody,
    };
    let first = |pid: &u32| {
        let (inner, parent) = inner_pid_and_parent(*pid).ok()?;
        let is_said = seen.pid.is_none_or(|said| said == inner);
        is_said.then_some(match served_by {
            ServedBy::Threads => *pid,
            ServedBy::Processes => parent,
        })
    };
    let found: BTreeSet<u32> = pids.iter().filter_map(first).collect();
    let found = Vec::from_iter(found);
    match found[..] {
        [] => SocketOwner::Nobody,
        [pid] => SocketOwner::One(pid),
        _ => SocketOwner::Several(found),
    }
}

/// True for a program that passes no connection on.
pub(crate) fn is_database(listener: &SocketOwner) -> bool {
    const DATABASES: [&str; 6] = [
        "mysqld",
        "mariadbd",
        "postgres",
        "mongod",
        "cockroach",
        "tidb-server",
    ];
    matches!(listener, SocketOwner::One(pid) if DATABASES.contains(&program(*pid).as_str()))
}

/// What listens, where that is not the server.
fn name_of_another(listener: &SocketOwner, server: &SocketOwner) -> Option<String> {
    if listener == server {
        return None;
    }
    match listener {
        SocketOwner::Nobody => None,
        // A service manager may listen for it.
        SocketOwner::Hidden(_) if matches!(server, SocketOwner::Hidden(_)) => None,
        SocketOwner::Hidden(user) => Some(format!("a process of the user {user}")),
        SocketOwner::One(pid) => Some(program(*pid)),
        // One that was just started has not closed yet what its parent listens on.
        SocketOwner::Several(pids) if matches!(server, SocketOwner::One(server) if pids.contains(server)) => {
            None
        }
        SocketOwner::Several(pids) => pids.first().copied().map(program),
    }
}

/// The name of a process's program as the kernel has it; empty if it does not say.
pub(crate) fn program(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// What reads the process that listens there.
pub(crate) fn process_of(
    listener: &SocketOwner,
    served_by: ServedBy,
    asker: Asker,
) -> Result<ServerMeter, String> {
    let open = |pid| ServerMeter::open(served_by, pid).map_err(|error| error.to_string());
    match listener {
        SocketOwner::One(pid) => open(*pid),
        SocketOwner::Hidden(user) => Err(format!(
            "it runs as the user {user}, whose processes only that user and root may look at; {}",
            asker.as_user(user)
        )),
        SocketOwner::Several(pids) => {
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
        SocketOwner::Nobody => Err(format!(
            "no process that can be seen from here listens there, so it is in a container or behind a tunnel; {}",
            asker.where_it_runs()
        )),
    }
}

/// The address of a name that sessions go to. A resolver that nobody answers takes long to say so, and cannot be stopped: so another thread
/// waits for it.
fn resolved(host: &str, port: u16) -> Option<SocketAddr> {
    let name = (host.to_owned(), port);
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(
            resolve(&name.0, name.1)
                .ok()
                .and_then(|found| found.first().copied()),
        );
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
    use std::io::{BufRead, BufReader, Read};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::process::parent_id;
    use std::process::{self, Command, Stdio};

    use ciphertax_testkit::{PATIENCE, is_root, not_tested, says, within};

    use super::*;

    #[test]
    fn a_clock_that_cannot_be_read_has_a_reason_and_a_remedy() {
        let why = |listener: &SocketOwner| process_of(listener, ServedBy::Threads, Asker::Run).unwrap_err();
        for (listener, words) in [
            (
                SocketOwner::Hidden("mysql".into()),
                ["the user mysql", "as root or as mysql"],
            ),
            (SocketOwner::Several(vec![7, 8]), ["7, 8", "which of them"]),
            (SocketOwner::Nobody, ["container", "where it runs"]),
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
            let elsewhere =
                ServerProcess::listening_at(&Endpoint::new("192.0.2.1", 3306), ServedBy::Threads, asker);
            assert!(!elsewhere.same_host);
            let reason = elsewhere.process.unwrap_err();
            let holds = reason.contains("another machine") && reason.contains(words);
            assert!(holds, "{reason}");
        }
        let agent =
            |listener: &SocketOwner| process_of(listener, ServedBy::Threads, Asker::Agent).unwrap_err();
        let hidden = agent(&SocketOwner::Hidden("mysql".into()));
        says(
            &hidden,
            "ssh://mysql@ … setcap cap_sys_ptrace,cap_dac_read_search+ep",
        );
        assert!(agent(&SocketOwner::Nobody).contains("beside the server"));
    }

    #[test]
    fn the_server_is_the_process_that_has_the_session_and_is_what_the_server_says() {
        let listens = TcpListener::bind("127.0.0.1:0").unwrap();
        let session = TcpStream::connect(listens.local_addr().unwrap()).unwrap();
        let _its_end = listens.accept().unwrap();
        let said = SeenByServer::from_peer(&session.local_addr().unwrap().to_string());
        let own = process::id();
        let port = listens.local_addr().unwrap().port();
        for (seen, served_by, expected) in [
            (said, ServedBy::Threads, SocketOwner::One(own)),
            (said, ServedBy::Processes, SocketOwner::One(parent_id())),
            (
                SeenByServer {
                    pid: Some(own),
                    port: Some(port),
                    ..said
                },
                ServedBy::Threads,
                SocketOwner::One(own),
            ),
            // Another port of its own, or another process, than has the session: that only passes it on.
            (
                SeenByServer {
                    port: Some(1),
                    ..said
                },
                ServedBy::Threads,
                SocketOwner::Nobody,
            ),
            (
                SeenByServer { pid: Some(1), ..said },
                ServedBy::Threads,
                SocketOwner::Nobody,
            ),
            (
                SeenByServer {
                    peer_ip: "192.0.2.1".parse().ok(),
                    ..said
                },
                ServedBy::Threads,
                SocketOwner::Nobody,
            ),
            (
                SeenByServer::from_peer("localhost"),
                ServedBy::Threads,
                SocketOwner::Nobody,
            ),
        ] {
            // What other tests start has our sockets too, until it becomes another program.
            let in_time = within(PATIENCE, || serving(&seen, served_by) == expected);
            assert!(in_time, "{seen:?}");
        }
        let [one, both] = [vec![own], vec![own, 1]].map(SocketOwner::Several);
        for (listener, server, name) in [
            (SocketOwner::One(own), SocketOwner::One(own), None),
            (both, SocketOwner::One(own), None),
            (one, SocketOwner::One(1), Some(program(own))),
            (SocketOwner::One(own), SocketOwner::Nobody, Some(program(own))),
            (
                SocketOwner::Hidden("app".into()),
                SocketOwner::Nobody,
                Some("a process of the user app".to_owned()),
            ),
        ] {
            assert_eq!(name_of_another(&listener, &server), name);
        }
    }

    #[test]
    fn a_server_in_a_network_namespace_of_its_own_is_found() {
        if !is_root() {
            return not_tested("only root may look into other network namespaces");
        }
        let script = "use IO::Socket::INET; $| = 1; system('ip', 'link', 'set', 'lo', 'up'); \
                      my $listens = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1'); \
                      my $client = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $listens->sockport); \
                      my $end = $listens->accept; print '127.0.0.1:', $client->sockport, ' ', $listens->sockport, \"\\n\"; sleep 60;";
        let mut server = Command::new("unshare")
            .args(["--net", "perl", "-e", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let Some((peer, port)) = said.trim().split_once(' ') else {
            server.wait().unwrap();
            return not_tested("root may not make a network here");
        };
        let seen = SeenByServer {
            port: port.parse().ok(),
            ..SeenByServer::from_peer(peer)
        };
        // As if it were another machine.
        let found = ServerProcess::of(
            &Endpoint::new("192.0.2.1", 3306),
            &seen,
            ServedBy::Threads,
            Asker::Run,
        );
        let pid = found.process.map(|meter| meter.root.pid());
        server.kill().unwrap();
        server.wait().unwrap();
        let what_is_there = (pid, found.same_host, found.through);
        assert_eq!(what_is_there, (Ok(server.id()), true, None));
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
            |pids: &[u32], served_by| process_of(&SocketOwner::Several(pids.to_vec()), served_by, Asker::Run);
        assert!(of(&members, ServedBy::Processes).is_ok());
        assert!(of(&members, ServedBy::Threads).is_err());
        // None of these two has started the other.
        assert!(of(&[*sleeper, process::id()], ServedBy::Processes).is_err());
        Command::new("kill").arg(sleeper.to_string()).status().unwrap();
        shell.wait().unwrap();
    }
}
