//! One of the programs that make a tunnel, who carries its bytes, its TLS, and tunnels of two programs that each listen on a TCP port.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_model::{CertificateKind, Tunnel};
use ciphertax_reactor::stop;
use ciphertax_supervise::Process;
use ciphertax_supervise::child::descendants;
use ciphertax_supervise::guard::{Ending, Guard, Helper, User};
use procfs::net::TcpState;
use procfs::process;

use super::disproved;
use super::program::Program;
use crate::certificates::Authority;
use crate::error::{Error, Result};
use crate::files::{self, Readiness, write_private};
use crate::link::Endpoints;
use crate::port;

const STARTUP: Duration = Duration::from_secs(10);

const PORT_ATTEMPTS: u32 = 5;

/// A running program of a tunnel, with the processes that it started.
#[derive(Debug)]
pub(crate) struct Half {
    name: &'static str,
    side: Side,
    process: Process,
    log: PathBuf,
}

impl Half {
    /// Starts a program.
    pub(crate) fn start(guard: &mut Guard, name: &'static str, side: Side, helper: Helper) -> Result<Self> {
        let log = guard.folder().join(&helper.log);
        let process = guard.add(helper)?;
        Ok(Self {
            name,
            side,
            process,
            log,
        })
    }

    /// Starts a program on a port of `ip` that is free, and waits until it listens there.
    pub(crate) fn start_listening(
        guard: &mut Guard,
        name: &'static str,
        side: Side,
        ip: Ipv4Addr,
        helper: impl Fn(SocketAddr) -> Result<Helper>,
    ) -> Result<(Self, SocketAddr)> {
        for _ in 0..PORT_ATTEMPTS {
            let port = port::free()?;
            let address = SocketAddrV4::new(ip, port);
            let half = Self::start(guard, name, side, helper(address.into())?)?;
            match half.wait_until_listening(address)? {
                Readiness::Ready => return Ok((half, address.into())),
                Readiness::PortTaken => half.end(guard)?,
            }
        }
        Err(port::none_free())
    }

    /// Ends it and waits until it has ended.
    pub(crate) fn end(&self, guard: &mut Guard) -> Result<()> {
        Ok(guard.end(&self.process)?)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    pub(crate) fn last_words(&self) -> String {
        files::tail_of(&self.log)
    }

    /// What it has written so far.
    pub(super) fn log(&self) -> String {
        files::read_from(&self.log, 0)
    }

    /// Its process and all that came from it.
    pub(super) fn processes(&self) -> impl Iterator<Item = TunnelProcess> {
        let pid = self.pid();
        [pid]
            .into_iter()
            .chain(descendants(pid))
            .map(|pid| TunnelProcess {
                name: self.name,
                side: self.side,
                pid,
            })
    }

    pub(crate) fn wait_until(&self, done: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + STARTUP;
        while !done() {
            if self.has_ended() {
                return Err(Error::Ended {
                    program: self.name,
                    log: self.last_words(),
                });
            }
            if stop::is_over(deadline) {
                return Err(Error::NotReady {
                    program: self.name,
                    seconds: STARTUP.as_secs(),
                    log: self.last_words(),
                });
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Adds this program's last words to the error of one that ended because of it.
    pub(super) fn explain(&self, error: Error) -> Error {
        match error {
            Error::Ended { program, log } => Error::Ended {
                program,
                log: format!("{log}; {} says: {}", self.name, self.last_words()),
            },
            other => other,
        }
    }

    /// Asks the kernel who listens. A connection instead would go on to the server and be counted there as an aborted
    /// one, and each of these programs ends if it cannot have its port.
    fn wait_until_listening(&self, address: SocketAddrV4) -> Result<Readiness> {
        let outcome = self.wait_until(|| is_listening(self.pid(), address) && !self.has_ended());
        match outcome {
            Ok(()) => Ok(Readiness::Ready),
            Err(Error::Ended { .. }) if self.log().contains("Address already in use") => {
                Ok(Readiness::PortTaken)
            }
            Err(error) => Err(error),
        }
    }
}

/// True if somebody in the network namespace of this process listens on exactly this address.
fn is_listening(pid: u32, address: SocketAddrV4) -> bool {
    let sockets = process::Process::new(pid.cast_signed()).and_then(|process| process.tcp());
    sockets.is_ok_and(|sockets| {
        sockets
            .iter()
            .any(|socket| socket.state == TcpState::Listen && socket.local_address == address.into())
    })
}

/// A process that carries a tunnel's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelProcess {
    /// The program.
    pub name: &'static str,
    /// The half it belongs to.
    pub side: Side,
    /// Its process number.
    pub pid: u32,
}

/// A half of a tunnel: who would pay for it if client and server had a machine each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// On the client's machine.
    Client,
    /// On the server's machine.
    Server,
}

/// The TLS version of both halves, as their settings name it.
pub(super) const TLS_VERSION: &str = "TLSv1.3";

/// The cipher suite of both halves: the first that OpenSSL offers. Only this one is allowed, so that no other can be
/// measured.
pub(super) const DEFAULT_SUITE: &str = "TLS_AES_256_GCM_SHA384";

#[derive(Debug)]
pub(super) struct About {
    /// The program of the client half and that of the server half.
    pub(super) names: [&'static str; 2],
    /// The cipher that was asked for.
    pub(super) cipher: String,
    /// Names and versions for the record: `program`, `library`, `cipher`, `topology`.
    pub(super) facts: BTreeMap<String, String>,
}

impl About {
    pub(super) fn new(names: [&'static str; 2], cipher: &str, facts: [(&str, &str); 4]) -> Self {
        Self {
            names,
            cipher: cipher.to_owned(),
            facts: facts
                .map(|(name, fact)| (name.to_owned(), fact.to_owned()))
                .into(),
        }
    }

    /// Of a program that carries connections in TLS.
    pub(super) fn tls(name: &'static str, program: &str, library: &str) -> Self {
        let facts = [
            ("program", program),
            ("library", library),
            ("cipher", &format!("{TLS_VERSION} {DEFAULT_SUITE}")),
            ("topology", "one TLS connection for each, sessions resumed"),
        ];
        Self::new([name; 2], DEFAULT_SUITE, facts)
    }
}

/// A half that reads its settings from a new file, beside which its log is.
pub(super) fn half(program: &Program, options: &[&str], settings: &str, file: PathBuf) -> Result<Helper> {
    write_private(&file, settings)?;
    let log = file.with_extension("log");
    let mut command_line = program.command_line(options);
    command_line.push(file.into());
    Ok(Helper {
        command_line,
        log: log.file_name().unwrap_or_default().to_string_lossy().into(),
        user: User::Owner,
        namespace: None,
        ending: Ending::Terminate,
    })
}

/// How long a program may take to write about a session that has ended.
const LAST_WORD: Duration = Duration::from_secs(5);

/// A kind of tunnel of two programs.
pub(super) trait Pair: Debug {
    fn about(&self) -> &About;

    /// Puts keys and certificates into the tunnel's folder: a certificate for this machine, with the authority that the client half
    /// trusts.
    fn prepare(&self, folder: &Path) -> Result<()> {
        let authority = Authority::new(CertificateKind::EcdsaP256)?;
        authority.issue_for_localhost(folder).map(drop)
    }

    /// The server half, which listens on `listen` and connects to `target`.
    fn server_half(&self, folder: &Path, listen: SocketAddr, target: SocketAddr) -> Result<Helper>;

    /// The client half, which listens on `listen` and connects to the server half by `route`.
    fn client_half(&self, folder: &Path, listen: SocketAddr, route: &Route) -> Result<Helper>;

    /// What the client half has written of the ciphers of its sessions; `None` if nothing yet.
    fn word(&self, log: &str) -> Option<Word>;
}

/// How a client half reaches its server half.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// The server half, or what reads along before it.
    pub(super) peer: SocketAddr,
    /// The server behind the server half.
    pub(super) target: SocketAddr,
    /// Whether to write about ciphers; what is measured does not, because writing takes time.
    pub(super) talkative: bool,
}

/// A program's word on its sessions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Each cipher that is in use, by the program's name for it.
    pub(super) ciphers: Vec<String>,
    /// The words themselves.
    pub(super) text: String,
}

/// Starts the server half, on the far side of a link if there is one. Says where it listens.
pub(super) fn start_server_half(
    pair: &dyn Pair,
    guard: &mut Guard,
    target: SocketAddr,
    far: Option<&Endpoints>,
) -> Result<(Half, SocketAddr)> {
    let folder = guard.folder().to_owned();
    let [_, name] = pair.about().names;
    let ip = far.map_or(Ipv4Addr::LOCALHOST, |far| far.delayed);
    Half::start_listening(guard, name, Side::Server, ip, |listen| {
        Ok(Helper {
            namespace: far.map(|far| far.namespace.clone()),
            ..pair.server_half(&folder, listen, target)?
        })
    })
}

/// Starts a client half. Says where it listens.
pub(super) fn start_client_half(
    pair: &dyn Pair,
    guard: &mut Guard,
    route: &Route,
) -> Result<(Half, SocketAddr)> {
    let folder = guard.folder().to_owned();
    let [name, _] = pair.about().names;
    Half::start_listening(guard, name, Side::Client, Ipv4Addr::LOCALHOST, |listen| {
        pair.client_half(&folder, listen, route)
    })
}

/// Waits for the word of a tunnel's program and compares it with what was asked for.
pub(super) fn check_cipher(pair: &dyn Pair, tunnel: Tunnel, client: &Half) -> Result<String> {
    let deadline = Instant::now() + LAST_WORD;
    loop {
        if let Some(word) = pair.word(&client.log()) {
            let asked = &pair.about().cipher;
            return match word.ciphers.iter().find(|cipher| *cipher != asked) {
                None => Ok(word.text),
                Some(other) => Err(disproved(
                    tunnel,
                    format!("{asked} was asked for, {other} is used"),
                )),
            };
        }
        if stop::is_over(deadline) {
            return Err(disproved(tunnel, "its program does not say which cipher is used"));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use ciphertax_testkit::within;

    use super::*;

    #[test]
    fn a_listener_is_seen_without_being_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            panic!("bound to IPv4");
        };
        assert!(is_listening(std::process::id(), address));
        drop(listener);
        // A program that another test starts at this moment holds a copy until it is executed.
        assert!(within(STARTUP, || !is_listening(std::process::id(), address)));
    }

    #[test]
    fn a_connection_is_no_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let SocketAddr::V4(address) = stream.local_addr().unwrap() else {
            panic!("connected by IPv4");
        };
        assert!(!is_listening(std::process::id(), address));
    }
}
