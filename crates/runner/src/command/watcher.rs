//! A relay that watches while a program is tried.

use std::net::SocketAddr;

use ciphertax_lab::Relay;
use ciphertax_model::Arm;
use ciphertax_wire::{Client, resolve};

use super::server_hello::{Chosen, is_tls};
use crate::database::{Control, Database, Endpoint, ReachedArm};
use crate::error::Result;

/// Where a program goes instead of the server, and what it must negotiate there.
pub(super) struct Watcher {
    relay: Relay,
    /// What the arm's own sessions negotiate, which were proved; `None` in plaintext.
    expected: Option<Chosen>,
    /// True if the arm says which cipher suite. Else every library has its own favourite.
    is_suite_pinned: bool,
    tls_begins_at: fn(&[u8]) -> Option<usize>,
    /// False where the server does not count TLS handshakes: then nobody else sees a connection in plaintext.
    is_counted: bool,
    /// How else than by the environment a program is configured.
    programs_read: &'static str,
}

/// A ServerHello and what a database sends before it are shorter.
const BEGINNING: usize = 4096;

impl Watcher {
    /// For a TLS arm, opens a session of ciphertax itself, with which those of the program are compared. `None` for an arm
    /// over a Unix socket, where there is nothing to look at.
    ///
    /// # Errors
    /// The outer for a session that cannot be opened, the inner says why nobody can watch.
    pub(super) fn before<D: Database>(
        arm: &Arm,
        reached: &ReachedArm<D>,
        own: Option<&D::Options>,
        control: &Control<D>,
    ) -> Result<Result<Option<Self>, String>> {
        let endpoint = &reached.endpoint;
        if endpoint.socket.is_some() {
            return Ok(Ok(None));
        }
        let target = match resolve(&endpoint.host, endpoint.port) {
            Ok(addresses) => addresses[0],
            Err(error) => return Ok(Err(error.to_string())),
        };
        let expected = match (&reached.policy, own) {
            (Some(_), Some(own)) => match seen_of_own::<D>(target, own, control)? {
                None => {
                    return Ok(Err(
                        "what the arm's own session negotiates could not be seen".into()
                    ));
                }
                seen => seen,
            },
            _ => None,
        };
        Ok(Ok(Some(Self {
            relay: Relay::start(target)?,
            expected,
            is_suite_pinned: arm.tls.cipher.is_some(),
            tls_begins_at: D::Session::tls_begins_at,
            is_counted: D::COUNTS_HANDSHAKES,
            programs_read: D::PROGRAMS_READ,
        })))
    }

    /// Where the program goes in place of the server.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.relay.address().into()
    }

    /// Compares what the program negotiated.
    pub(super) fn judge(&self) -> Result<(), String> {
        let seen = chosen(&self.relay, self.tls_begins_at)?;
        if seen.is_empty() {
            return Err(
                "the program made connections, but none to the host and port that its environment names"
                    .into(),
            );
        }
        let connections = seen.len();
        let mut seen = seen.into_iter().flatten();
        let Some(expected) = self.expected else {
            return match seen.next() {
                None => Ok(()),
                Some(seen) => Err(format!(
                    "the program negotiated {seen}, in a plaintext arm; tell it not to, by CIPHERTAX_SSL_MODE or {}",
                    self.programs_read
                )),
            };
        };
        let encrypted = seen.clone().count();
        if !self.is_counted && encrypted < connections {
            return Err(format!(
                "of {connections} connections of the program {encrypted} were over TLS, in a TLS arm; tell it to use TLS on all, \
                 by {}",
                self.programs_read
            ));
        }
        let is_as_expected = |seen: &Chosen| {
            seen.is_of_version(expected) && (!self.is_suite_pinned || seen.suite == expected.suite)
        };
        match seen.find(|seen| !is_as_expected(seen)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "the program negotiated {other}; the arm is {expected}; tell it by CIPHERTAX_TLS_VERSION and CIPHERTAX_CIPHER or \
                 {}",
                self.programs_read
            )),
        }
    }
}

/// What a session of ciphertax itself negotiates.
fn seen_of_own<D: Database>(
    target: SocketAddr,
    own: &D::Options,
    control: &Control<D>,
) -> Result<Option<Chosen>> {
    let relay = Relay::start(target)?;
    let through = D::Session::through(own, relay.address());
    control.visit(&through, async |_| Ok(()))?;
    let seen = chosen(&relay, D::Session::tls_begins_at);
    Ok(seen.unwrap_or_default().into_iter().next().flatten())
}

/// What the server chose on each connection; `None` for one in plaintext, which the server's counters tell too.
///
/// # Errors
/// Says that one was over TLS, and not what was chosen there.
fn chosen(relay: &Relay, tls_begins_at: fn(&[u8]) -> Option<usize>) -> Result<Vec<Option<Chosen>>, String> {
    let chosen = |answers: Vec<u8>| {
        let tls = tls_begins_at(&answers).and_then(|begin| answers.get(begin..));
        match tls.and_then(Chosen::from_tls) {
            None if tls.is_some_and(is_tls) => Err(
                "the server began TLS on a connection of the program and chose no version there: the handshake failed, or cannot \
                 be read; look what the program says of it"
                    .to_owned(),
            ),
            chosen => Ok(chosen),
        }
    };
    relay.answers(BEGINNING).into_iter().map(chosen).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use ciphertax_wire::mongodb::Session;

    use super::*;

    #[test]
    fn a_tls_record_that_cannot_be_read_is_no_connection_in_plaintext() {
        let alert = [21, 3, 3, 0, 2, 2, 40];
        let fragment = [22, 3, 3, 0, 2, 2, 0];
        let plaintext = [26, 0, 0, 0, 1, 0, 0, 0, 2];
        for (answer, is_readable) in [(&alert[..], false), (&fragment, false), (&plaintext, true)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let relay = Relay::start(listener.local_addr().unwrap()).unwrap();
            let mut client = TcpStream::connect(relay.address()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            server.write_all(answer).unwrap();
            drop(server);
            client.read_to_end(&mut Vec::new()).unwrap();
            let watcher = Watcher {
                relay,
                expected: None,
                is_suite_pinned: false,
                tls_begins_at: Session::tls_begins_at,
                is_counted: false,
                programs_read: "its options",
            };
            assert_eq!(watcher.judge().is_ok(), is_readable, "{answer:?}");
        }
    }
}
