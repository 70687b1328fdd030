//! A relay that looks on while a program is tried in a TLS arm.

use std::net::{Ipv4Addr, ToSocketAddrs};

use ciphertax_lab::Relay;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_wire::tls::Verification;

use super::on_the_wire::Chosen;
use super::told::Told;
use super::{CommandLoad, ToldArm};
use crate::error::RunError;
use crate::site::OpenSite;

/// Where a program goes instead of the server, and what it must negotiate there.
pub(super) struct Onlooker {
    relay: Relay,
    /// What the arm's own sessions negotiate; they were proved.
    expected: Chosen,
    /// True if the arm says which cipher suite. Else every library has its own favourite.
    is_suite_pinned: bool,
}

/// A ServerHello and the greeting before it are shorter.
const BEGINNING: usize = 4096;

impl Onlooker {
    /// Opens a session of ciphertax itself, with which those of the program are compared. `None` for an arm in clear, and
    /// for a server whose certificate is verified by another name than the relay's.
    pub(super) fn before(arm: &ToldArm, site: &OpenSite) -> Result<Option<Self>, RunError> {
        let (options, Some(policy)) = &arm.access else {
            return Ok(None);
        };
        let is_of_other_name = match &policy.verification {
            Verification::HostName(_, name) => *name != Ipv4Addr::LOCALHOST.to_string(),
            Verification::None | Verification::Ca(_) => false,
        };
        let target = (options.host.as_str(), options.port).to_socket_addrs();
        let target = target.ok().and_then(|mut addresses| addresses.next());
        let (Some(target), Some(own), false) = (target, site.access(&arm.arm.name), is_of_other_name) else {
            return Ok(None);
        };
        let relay = Relay::start(target)?;
        site.control.visit(&through(&relay, &own.options))?;
        let expected = chosen(&relay).into_iter().next().flatten();
        drop(relay);
        Ok(match expected {
            Some(expected) => Some(Self {
                relay: Relay::start(target)?,
                expected,
                is_suite_pinned: arm.arm.tls.cipher.is_some(),
            }),
            None => None,
        })
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
        let is_as_expected = |seen: &Chosen| {
            seen.is_of_version(self.expected) && (!self.is_suite_pinned || seen.suite == self.expected.suite)
        };
        match seen.into_iter().flatten().find(|seen| !is_as_expected(seen)) {
            None => Ok(()),
            Some(other) => Err(format!(
                "the program negotiated {other}; the arm is {}; tell it by CIPHERTAX_TLS_VERSION and CIPHERTAX_CIPHER or \
                 the file {{my_cnf}}",
                self.expected
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
