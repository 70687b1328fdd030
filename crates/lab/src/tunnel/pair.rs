//! Tunnels of two programs that each listen on a TCP port.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_model::Tunnel;
use ciphertax_reactor::stop;
use ciphertax_supervise::guard::{Guard, Helper};

use crate::error::Result;
use crate::link::FarSide;
use crate::relay::Relay;

use super::half::{Half, Side};
use super::proof::{Evidence, Exchange, disproved, send_through};

/// How long a program may take to write about a session that has ended.
const LAST_WORD: Duration = Duration::from_secs(5);

/// A kind of tunnel of two programs.
pub(super) trait Pair: Debug {
    /// The program of the client half and that of the server half.
    fn names(&self) -> [&'static str; 2];

    /// Puts keys and certificates into the tunnel's folder.
    fn prepare(&self, folder: &Path) -> Result<()>;

    /// The server half, which listens on `listen` and connects to `target`.
    fn server_half(&self, folder: &Path, listen: SocketAddr, target: SocketAddr) -> Result<Helper>;

    /// The client half, which listens on `listen` and connects to the server half by `route`.
    fn client_half(&self, folder: &Path, listen: SocketAddr, route: &Route) -> Result<Helper>;

    /// What the client half has written of the ciphers of its sessions; `None` if nothing yet.
    fn word(&self, log: &str) -> Option<Word>;

    /// The cipher that was asked for.
    fn cipher(&self) -> &str;

    /// Names and versions for the record.
    fn facts(&self) -> BTreeMap<String, String>;
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

/// Both programs of a tunnel.
#[derive(Debug)]
pub(super) struct RunningPair {
    pair: Box<dyn Pair>,
    /// Where the server half listens.
    server_half: SocketAddr,
    target: SocketAddr,
}

impl RunningPair {
    /// Starts the server half, on the far side of a link if there is one, then the client half.
    pub(super) fn start(
        pair: Box<dyn Pair>,
        guard: &mut Guard,
        target: SocketAddr,
        far: Option<&FarSide>,
    ) -> Result<(Self, SocketAddr, Vec<Half>)> {
        let folder = guard.folder().to_owned();
        pair.prepare(&folder)?;
        let [_, name] = pair.names();
        let ip = far.map_or(Ipv4Addr::LOCALHOST, |far| far.delayed);
        let (server, server_half) = Half::start_listening(guard, name, Side::Server, ip, |listen| {
            Ok(Helper {
                namespace: far.map(|far| far.namespace.clone()),
                ..pair.server_half(&folder, listen, target)?
            })
        })?;
        let running = Self {
            pair,
            server_half,
            target,
        };
        let (client, address) = running
            .start_client_half(guard, server_half, false)
            .map_err(|error| server.explain(error))?;
        Ok((running, address, vec![client, server]))
    }

    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        self.pair.facts()
    }

    /// Sends a canary through a second, talkative client half that reaches the server half by a relay. The server half
    /// is the one that is measured, and accepts nothing but the cipher asked for.
    pub(super) fn prove(
        &self,
        tunnel: Tunnel,
        guard: &mut Guard,
        canary: &str,
        exchange: &mut Exchange<'_>,
    ) -> Result<Evidence> {
        let between = Relay::start(self.server_half)?;
        let (client, entry) = self.start_client_half(guard, between.address(), true)?;
        let outcome = send_through(tunnel, entry, &between, canary, exchange).and_then(|bytes_between| {
            Ok(Evidence {
                bytes_between,
                word: self.check_cipher(tunnel, &client)?,
            })
        });
        client.end(guard)?;
        outcome
    }

    fn start_client_half(
        &self,
        guard: &mut Guard,
        peer: SocketAddr,
        talkative: bool,
    ) -> Result<(Half, SocketAddr)> {
        let folder = guard.folder().to_owned();
        let [name, _] = self.pair.names();
        let route = Route {
            peer,
            target: self.target,
            talkative,
        };
        Half::start_listening(guard, name, Side::Client, Ipv4Addr::LOCALHOST, |listen| {
            self.pair.client_half(&folder, listen, &route)
        })
    }

    /// Waits for the program's word and compares it with what was asked for.
    fn check_cipher(&self, tunnel: Tunnel, client: &Half) -> Result<String> {
        let deadline = Instant::now() + LAST_WORD;
        loop {
            if let Some(word) = self.pair.word(&client.log()) {
                let asked = self.pair.cipher();
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
}
