//! Proof that sessions go through a pooler, and that what is behind it is what it should be: by the kernel's word on whose socket the
//! server's session comes from, and by a relay behind another run of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use ciphertax_base::{Proof, Witness};
use ciphertax_model::Transport;
use ciphertax_reactor::Reactor;
use ciphertax_supervise::child::descendants;
use procfs::net::TcpNetEntry;
use procfs::process::{FDTarget, Process};
use procfs::{ProcError, ProcResult};

use super::RunningPooler;
use crate::proof::{self, Canary, Objection, ProofError, Provable, exchange, proof, random_text};
use crate::relay::Relay;

impl RunningPooler {
    /// Proves that sessions opened by `options` go through this pooler, and that what is behind it is what it should be: by whose
    /// socket the server's session comes from, by the server's word on its TLS, and by a canary that a relay between another run
    /// of the pooler and the server can read or not; not over a link, where no relay can be.
    ///
    /// # Errors
    /// Names the arm, and what contradicts it or keeps it from being tried.
    #[expect(
        private_bounds,
        reason = "it is for the clients of the databases that poolers stand before"
    )]
    pub fn prove<S: Provable>(&self, arm: &str, options: &S::Options) -> Result<Vec<Proof>, ProofError> {
        proof::prove_helper(arm, "its pooler", async |reactor| {
            let mut proofs = vec![self.passage::<S>(reactor, options).await?];
            if self.start.far.is_none() {
                proofs.push(self.canary::<S>(reactor, options).await?);
            }
            Ok(proofs)
        })
    }

    /// That the server's end of a session is connected to a socket of this pooler.
    async fn passage<S: Provable>(
        &self,
        reactor: &Rc<Reactor>,
        options: &S::Options,
    ) -> Result<Proof, Objection> {
        let (mut session, _) = S::connect(reactor, options).await?;
        let [backend, address, tls] = session.behind_pooler().await?;
        let owner = address.parse().ok().and_then(|address| self.owner_of(address));
        let _ = session.close().await;
        let program = self.start.pooler.program.name();
        let owner = owner.ok_or_else(|| {
            Objection::Disproved(format!(
                "{backend} of the server has a session from {address}, which is no socket of {program}"
            ))
        })?;
        check(&tls, self.server_transport())?;
        Ok(proof(
            Witness::Pooler,
            "a session goes through it as the arm says",
            &format!(
                "{backend} of the server says: {} from {address}, which is a socket of {program} ({owner})",
                said(&tls)
            ),
        ))
    }

    /// Which of its processes has a socket with this address of its own; where the kernel does not show that to this process, as in
    /// containers without `CAP_SYS_PTRACE`, whose the socket is.
    fn owner_of(&self, address: SocketAddr) -> Option<String> {
        let mut owner = None;
        for pid in [self.pid()].into_iter().chain(descendants(self.pid())) {
            match has_socket(pid, address) {
                Ok(true) => return Some(format!("process {pid}")),
                Ok(false) | Err(ProcError::NotFound(_)) => {}
                Err(_) => owner = owner.or_else(|| user_with_socket(pid, address).ok()?),
            }
        }
        owner.map(|user| format!("user {user}; which process may not be seen here"))
    }

    /// Sends a canary through another run of it, which reaches the server by a relay.
    async fn canary<S: Provable>(
        &self,
        reactor: &Rc<Reactor>,
        options: &S::Options,
    ) -> Result<Proof, Objection> {
        let relay = Relay::start((Ipv4Addr::LOCALHOST, self.server_port).into())?;
        let canary = random_text("canary")?;
        let (_process, address, mut guard) = self.start.run(relay.address().port())?;
        let is_back = exchange::<S>(reactor, options, address, &canary).await?;
        guard.finish().map_err(crate::Error::from)?;
        if !is_back {
            return Err(Objection::Disproved(
                "a canary did not come back through its pooler".into(),
            ));
        }
        let seen = Canary::seen_by(&relay, &canary, self.server_transport().is_encrypted())?;
        let seen = seen
            .verdict()
            .map_err(|problem| Objection::Disproved(format!("behind its pooler {problem}")))?;
        Ok(Proof {
            claim: format!("behind the pooler {}", seen.claim),
            ..seen
        })
    }
}

/// True if a process has a TCP socket with this address of its own.
fn has_socket(pid: u32, address: SocketAddr) -> ProcResult<bool> {
    let process = Process::new(pid.cast_signed())?;
    let mut sockets = process.tcp()?;
    sockets.retain(|socket| socket.local_address == address);
    let is_one = |target: &FDTarget| matches!(target, FDTarget::Socket(inode) if sockets.iter().any(|socket| socket.inode == *inode));
    for open in process.fd()? {
        match open {
            Ok(open) if is_one(&open.target) => {
                return Ok(true);
            }
            // What was closed meanwhile.
            Ok(_) | Err(ProcError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The user of a process, if a socket with this address of its own is theirs.
fn user_with_socket(pid: u32, address: SocketAddr) -> ProcResult<Option<u32>> {
    let process = Process::new(pid.cast_signed())?;
    let user = process.uid()?;
    let is_theirs = |socket: &TcpNetEntry| socket.local_address == address && socket.uid == user;
    Ok(process.tcp()?.iter().any(is_theirs).then_some(user))
}

/// Compares the server's word on the TLS of a session with how it should travel.
fn check(tls: &str, expected: Transport) -> Result<(), Objection> {
    let is_as_expected = match expected.tls_version() {
        Some(expected) => tls == expected.name(),
        None => expected.is_encrypted() != tls.is_empty(),
    };
    match is_as_expected {
        true => Ok(()),
        false => Err(Objection::Disproved(format!(
            "the server says that the connection of its pooler has {}; expected {expected}",
            said(tls)
        ))),
    }
}

fn said(tls: &str) -> &str {
    if tls.is_empty() { "no TLS" } else { tls }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_session_is_what_it_should_be_and_nothing_else() {
        for (tls, transport, is) in [
            ("TLSv1.3", Transport::Tls13, true),
            ("TLSv1.3", Transport::Tls, true),
            ("TLSv1.3", Transport::Tls12, false),
            ("TLSv1.3", Transport::Plain, false),
            ("", Transport::Plain, true),
            ("", Transport::Tls13, false),
            ("", Transport::Tls, false),
        ] {
            assert_eq!(check(tls, transport).is_ok(), is, "{tls}, {transport}");
        }
        assert_eq!(said(""), "no TLS");
    }

    #[test]
    fn a_socket_belongs_to_the_process_that_has_it_alone() {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (own, address) = (std::process::id(), socket.local_addr().unwrap());
        assert!(has_socket(own, address).unwrap());
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(user_with_socket(own, address).unwrap(), Some(user));
        let parent = std::os::unix::process::parent_id();
        assert!(!has_socket(parent, address).unwrap_or(false));
        drop(socket);
        assert!(!has_socket(own, address).unwrap());
        assert_eq!(user_with_socket(own, address).unwrap(), None);
    }
}
