//! Tunnels between client and server: SSH, stunnel and HAProxy.
//!
//! A tunnel has a client half, to which the client connects in place of the server, and a server half, which connects
//! to the server. Both run on this machine, on loopback addresses, and belong to a guard as private servers do (see
//! [`guard`](ciphertax_supervise::guard)): they end, and their keys go, however their owner ends. Over a
//! [link](crate::link) the server half runs beside the server on its far side, so that what crosses the link is the
//! encrypted stream.
//!
//! What is measured through a tunnel is first proved by [`RunningTunnel::prove`]. Its relays stand in the way only
//! meanwhile.

mod haproxy;
pub(crate) mod pair;
pub(crate) mod program;
mod ssh;
mod stunnel;
#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::{Proof, Witness};
use ciphertax_model::Tunnel;
use ciphertax_supervise::PrivateFolder;
use ciphertax_supervise::guard::{Guard, GuardProgram};

use crate::error::path::TunnelError;
use crate::error::{Error, Result};
use crate::link::RunningLink;
use crate::proof::{proof, random_text};
use crate::relay::Relay;
use crate::server::family::sweep_stale;
use haproxy::Haproxy;
use pair::{Half, Pair, Route, check_cipher, start_client_half, start_server_half};
use ssh::Ssh;
use stunnel::Stunnel;

pub use pair::{Side, TunnelProcess};

/// Space that a tunnel needs: keys, settings and logs.
const NEEDED_MB: u64 = 10;

/// How long a tunnel's processes must have been the same, and how long that is waited for.
const STEADY: Duration = Duration::from_millis(100);
const STEADY_AT_LAST: Duration = Duration::from_secs(2);

/// Starts a tunnel that leads to `target` and waits until it is ready: less than a second, and some round trips of the
/// link. `target` is as seen from inside the link if there is one; the tunnel must be stopped before the link is.
///
/// # Errors
/// If a program of it is missing or does not start.
pub fn start(
    kind: Tunnel,
    target: SocketAddr,
    link: Option<&RunningLink>,
    guard: &GuardProgram,
) -> Result<RunningTunnel> {
    let pair: Box<dyn Pair> = match kind {
        Tunnel::Ssh(cipher) => Box::new(Ssh::find(cipher)?),
        Tunnel::Stunnel => Box::new(Stunnel::find()?),
        Tunnel::Haproxy => Box::new(Haproxy::find()?),
    };
    RunningTunnel::start(kind, pair, target, link, guard)
}

/// A tunnel of our own. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningTunnel {
    kind: Tunnel,
    pair: Box<dyn Pair>,
    address: SocketAddr,
    /// Where the server half listens.
    server_half: SocketAddr,
    target: SocketAddr,
    halves: [Half; 2],
    guard: Guard,
}

impl RunningTunnel {
    fn start(
        kind: Tunnel,
        pair: Box<dyn Pair>,
        target: SocketAddr,
        link: Option<&RunningLink>,
        guard: &GuardProgram,
    ) -> Result<Self> {
        sweep_stale();
        let mut guard = Guard::start(guard, PrivateFolder::create(NEEDED_MB)?)?;
        pair.prepare(guard.folder())?;
        let far = link.map(|link| &link.endpoints);
        let (server, server_half) = start_server_half(pair.as_ref(), &mut guard, target, far)?;
        let route = Route {
            peer: server_half,
            target,
            talkative: false,
        };
        let (client, address) =
            start_client_half(pair.as_ref(), &mut guard, &route).map_err(|error| server.explain(error))?;
        let tunnel = Self {
            kind,
            pair,
            address,
            server_half,
            target,
            halves: [client, server],
            guard,
        };
        tunnel.wait_for_steady_processes();
        Ok(tunnel)
    }

    /// Where clients connect to in place of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The processes that carry bytes now: of SSH, the sessions of sshd too, which do the work and are there from the
    /// start to the end. Their CPU is neither the client's nor the server's.
    pub fn processes(&self) -> Vec<TunnelProcess> {
        self.halves.iter().flat_map(Half::processes).collect()
    }

    /// What was started, for the record: `program` and `library` with their versions, `cipher`,
    /// `topology`.
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.pair.about().facts
    }

    /// Proves that what enters in plaintext travels encrypted, with the cipher asked for.
    ///
    /// `exchange` is given an address and a canary; it must send the canary in plaintext to the server behind that
    /// address and get it back, and is called twice, the second time with [`RunningTunnel::address`].
    /// [`mysql::select_canary`](crate::mysql::select_canary) and [`mongodb::find_canary`](crate::mongodb::find_canary)
    /// do it.
    ///
    /// # Errors
    /// If the canary can be read between the two halves, if it did not travel in plaintext before them (so that its
    /// absence would prove nothing), if the tunnel's programs name another cipher, or if nothing came back.
    pub fn prove(
        &mut self,
        mut exchange: impl FnMut(SocketAddr, &str) -> Result<(), String>,
    ) -> Result<Vec<Proof>> {
        let canary = random_text("canary")?;
        let between = Relay::start(self.server_half)?;
        // A second, talkative client half that reaches the server half by a relay. The server half is the one that is measured, and
        // accepts nothing but the cipher asked for.
        let route = Route {
            peer: between.address(),
            target: self.target,
            talkative: true,
        };
        let pair = self.pair.as_ref();
        let (client, entry) = start_client_half(pair, &mut self.guard, &route)?;
        let seen = send_through(self.kind, entry, &between, &canary, &mut exchange)
            .and_then(|bytes| Ok((bytes, check_cipher(pair, self.kind, &client)?)));
        client.end(&mut self.guard)?;
        let (bytes_between, word) = seen?;
        exchange(self.address, &canary)
            .map_err(|problem| disproved(self.kind, format!("without the relays, {problem}")))?;
        self.wait_for_steady_processes();
        Ok(vec![
            proof(
                Witness::Wire,
                "a canary value that enters the tunnel in plaintext does not travel in plaintext inside it",
                &format!(
                    "a relay before the tunnel read it; a relay between its halves saw {bytes_between} bytes and not the canary"
                ),
            ),
            proof(Witness::Tunnel, "its program names the cipher", &word),
        ])
    }

    /// False once one of its programs has ended.
    pub fn is_alive(&self) -> bool {
        !self.halves.iter().any(Half::has_ended)
    }

    /// The folder of its keys and logs.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        Ok(self.guard.finish()?)
    }

    /// Waits until those processes have ended that only a login needs, so that whoever reads the clocks of the others
    /// finds them all. Only sshd has such.
    fn wait_for_steady_processes(&self) {
        let deadline = Instant::now() + STEADY_AT_LAST;
        let mut processes = self.processes();
        let mut since = Instant::now();
        while since.elapsed() < STEADY && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
            let now = self.processes();
            if now != processes {
                processes = now;
                since = Instant::now();
            }
        }
    }
}

/// Sends a canary in plaintext to the server behind an address, and gets it back.
type Exchange<'a> = dyn FnMut(SocketAddr, &str) -> Result<(), String> + 'a;

/// Sends a canary through the tunnel that begins at `entry` and in whose middle `between` stands. Returns the number of
/// bytes that passed there.
fn send_through(
    tunnel: Tunnel,
    entry: SocketAddr,
    between: &Relay,
    canary: &str,
    exchange: &mut Exchange<'_>,
) -> Result<u64> {
    let before = Relay::start(entry)?;
    exchange(before.address(), canary).map_err(|problem| disproved(tunnel, problem))?;
    if !before.saw(canary.as_bytes())? {
        let problem = "a canary value did not enter it in plaintext, so nothing can be said about its inside";
        return Err(disproved(tunnel, problem));
    }
    if between.saw(canary.as_bytes())? {
        return Err(disproved(
            tunnel,
            "a relay between its halves read a canary value",
        ));
    }
    let bytes = between.bytes_seen();
    if bytes < canary.len() as u64 {
        let problem =
            format!("a canary value reached the server but only {bytes} bytes passed between the halves");
        return Err(disproved(tunnel, problem));
    }
    Ok(bytes)
}

fn disproved(tunnel: Tunnel, problem: impl Into<String>) -> Error {
    TunnelError::Disproved {
        tunnel: tunnel.to_string(),
        problem: problem.into(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;

    use super::*;
    use crate::tunnel::testing::{echo, echoed};

    #[test]
    fn a_tunnel_that_does_not_encrypt_is_found_out() {
        let between = Relay::start(echo()).unwrap();
        let error = send(between.address(), &between, &mut echoed).unwrap_err();
        says(&error, "read a canary value");
    }

    #[test]
    fn a_way_around_the_relay_is_found_out() {
        let between = Relay::start(echo()).unwrap();
        let error = send(echo(), &between, &mut echoed).unwrap_err();
        says(&error, "only 0 bytes passed");
    }

    #[test]
    fn a_canary_that_is_encrypted_before_the_tunnel_proves_nothing() {
        let between = Relay::start(echo()).unwrap();
        let error = send(between.address(), &between, &mut |address, canary| {
            echoed(address, &canary.to_uppercase())
        })
        .unwrap_err();
        says(&error, "nothing can be said");
    }

    #[test]
    fn an_exchange_that_fails_is_no_proof() {
        let between = Relay::start(echo()).unwrap();
        let error = send(between.address(), &between, &mut |_, _| {
            Err("nothing came back".into())
        })
        .unwrap_err();
        says(&error, "SSH aes256-ctr … nothing came back");
    }

    fn send(entry: SocketAddr, between: &Relay, exchange: &mut Exchange<'_>) -> Result<u64, String> {
        let tunnel = Tunnel::Ssh(ciphertax_model::SshCipher::Aes256Ctr);
        send_through(tunnel, entry, between, "canary", exchange).map_err(|error| error.to_string())
    }
}
