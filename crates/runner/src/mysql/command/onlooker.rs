//! A relay that looks on while a program is tried.

use std::net::ToSocketAddrs;

use ciphertax_lab::Relay;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_workload::mysql::MysqlAccess;

use super::on_the_wire::Chosen;
use super::told::Told;
use super::{CommandLoad, ToldArm};
use crate::error::RunError;
use crate::mysql::MySqlHost;

/// Where a program goes instead of the server, and what it must negotiate there.
pub(super) struct Onlooker {
    relay: Relay,
    /// What the arm's own sessions negotiate, which were proved; `None` in clear.
    expected: Option<Chosen>,
    /// True if the arm says which cipher suite. Else every library has its own favourite.
    is_suite_pinned: bool,
}

/// A ServerHello and the greeting before it are shorter.
const BEGINNING: usize = 4096;

impl Onlooker {
    /// For a TLS arm, opens a session of ciphertax itself, with which those of the program are compared. `None` for an arm
    /// over a Unix socket, where there is nothing to look at.
    ///
    /// # Errors
    /// The outer for a session that cannot be had, the inner says why nobody can look on.
    pub(super) fn before(
        arm: &ToldArm,
        host: &MySqlHost,
        own: &MysqlAccess,
    ) -> Result<Result<Option<Self>, String>, RunError> {
        let (options, policy) = &arm.access;
        if options.socket.is_some() {
            return Ok(Ok(None));
        }
        let addresses = (options.host.as_str(), options.port).to_socket_addrs();
        let Some(target) = addresses.ok().and_then(|mut addresses| addresses.next()) else {
            return Ok(Err(format!("the host {} has no address", options.host)));
        };
        let expected = match policy {
            None => None,
            Some(_) => {
                let relay = Relay::start(target)?;
                host.control.visit(&through(&relay, &own.options))?;
                match chosen(&relay).into_iter().next().flatten() {
                    None => {
                        return Ok(Err(
                            "what the arm's own session negotiates could not be seen".into()
                        ));
                    }
                    seen => seen,
                }
            }
        };
        Ok(Ok(Some(Self {
            relay: Relay::start(target)?,
            expected,
            is_suite_pinned: arm.arm.tls.cipher.is_some(),
        })))
    }

    /// What the program is told of the arm, with the relay in the server's place.
    pub(super) fn told(&self, load: &CommandLoad, arm: usize) -> Result<Told, RunError> {
        let ToldArm { arm: of, access, .. } = &load.arms[arm];
        let access = (through(&self.relay, &access.0), access.1.clone());
        Told::of(&load.command, of, &access, &load.files, &format!("trial-{arm}"))
    }

    /// Compares what the program negotiated.
    ///
    /// # Errors
    /// Says what was expected and what was seen.
    pub(super) fn judge(&self) -> Result<(), String> {
        let seen = chosen(&self.relay);
        if seen.is_empty() {
            return Err("the program made connections, but none to the host and port that it is told".into());
        }
        let mut seen = seen.into_iter().flatten();
        let Some(expected) = self.expected else {
            return match seen.next() {
                None => Ok(()),
                Some(seen) => Err(format!(
                    "the program negotiated {seen}, in an arm in clear; tell it not to, by CIPHERTAX_SSL_MODE (now DISABLED) or \
                     the file {{my_cnf}}"
                )),
            };
        };
        let is_as_expected = |seen: &Chosen| {
            seen.is_of_version(expected) && (!self.is_suite_pinned || seen.suite == expected.suite)
        };
        match seen.find(|seen| !is_as_expected(seen)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "the program negotiated {other}; the arm is {expected}; tell it by CIPHERTAX_TLS_VERSION and CIPHERTAX_CIPHER or \
                 the file {{my_cnf}}"
            )),
        }
    }
}

/// What the server chose on each connection; `None` for one in clear, which the server's counters tell too.
fn chosen(relay: &Relay) -> Vec<Option<Chosen>> {
    let answers = relay.answers(BEGINNING);
    answers
        .iter()
        .map(|answers| Chosen::from_answers(answers))
        .collect()
}

fn through(relay: &Relay, options: &ConnectOptions) -> ConnectOptions {
    ConnectOptions {
        host: relay.address().ip().to_string(),
        port: relay.address().port(),
        ..options.clone()
    }
}
