//! The rustls back end, with aws-lc-rs for the cryptography.

mod config;
mod session;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ciphertax_model::Resumption;
use rustls::client::{
    ClientSessionStore, Tls12ClientSessionValue, Tls12Resumption, Tls13ClientSessionValue,
    UnbufferedClientConnection,
};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, Error, NamedGroup};

use self::session::Session;
use super::policy::{TlsPolicy, Verification};
use super::store::SessionStore;
use super::{Offer, TlsSession};
use crate::error::{Distrust, Result, WireError};

pub use self::config::any_certificate;

/// Name and version of the library and of its cryptography, for reports. Neither says its version itself; a test holds
/// these to what is built in.
const LIBRARY: &str = "rustls 0.23.46 (aws-lc-rs 1.19.0)";

pub(crate) struct Connector {
    config: Arc<ClientConfig>,
    /// The name that certificates are held to; `None` where they are held to none.
    verified_name: Option<ServerName<'static>>,
    verification: Verification,
    /// `None` where every handshake is a full one.
    pub(super) resumable: Option<Resumable>,
}

impl Connector {
    pub(crate) fn new(policy: &TlsPolicy) -> Result<Self> {
        let config = config::prepare(policy)?;
        let verified_name = match policy.verification.name() {
            None => None,
            Some(Ok(address)) => Some(ServerName::from(address)),
            Some(Err(name)) => Some(ServerName::try_from(name.to_owned()).map_err(|_| {
                WireError::TlsSettings(format!("rustls verifies no host name like {name:?}"))
            })?),
        };
        Ok(Self {
            config: Arc::new(config),
            verified_name,
            verification: policy.verification.clone(),
            resumable: Resumable::new(policy.resumption),
        })
    }

    pub(crate) fn session(&self, host: &str, offer: Offer) -> Result<Box<dyn TlsSession>> {
        let verified = self.verification.verified();
        let Some(resumable) = &self.resumable else {
            let connection = self.connection(Arc::clone(&self.config), host)?;
            return Ok(Box::new(Session::new(connection, verified, None)));
        };
        let one = Arc::new(OneConnection::new(resumable, offer));
        let mut config = ClientConfig::clone(&self.config);
        config.resumption =
            rustls::client::Resumption::store(one.clone()).tls12_resumption(resumable.of_tls12);
        let connection = self.connection(Arc::new(config), host)?;
        Ok(Box::new(Session::new(connection, verified, Some(one))))
    }

    fn connection(&self, config: Arc<ClientConfig>, host: &str) -> Result<UnbufferedClientConnection> {
        let sent = || ServerName::try_from(self.verification.server_name(host)?.to_owned()).ok();
        // Addresses are not sent.
        let none = ServerName::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let name = self.verified_name.clone().or_else(sent).unwrap_or(none);
        UnbufferedClientConnection::new(config, name).map_err(failure)
    }
}

fn failure(error: Error) -> WireError {
    match error {
        Error::InvalidCertificate(reason) => WireError::NotTrusted {
            why: distrust(&reason),
            reason: match &reason {
                CertificateError::Other(webpkis) => webpkis.to_string(),
                reason => reason.to_string(),
            },
        },
        error => WireError::Tls(error.to_string()),
    }
}

fn distrust(reason: &CertificateError) -> Distrust {
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Distrust::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Distrust::NotYetValid,
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Distrust::OtherAuthority,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Distrust::OtherName
        }
        // Those of webpki, which rustls has no name for.
        CertificateError::Other(other) => match other.to_string().as_str() {
            "UnsupportedCertVersion" => Distrust::Version1,
            "CaUsedAsEndEntity" => Distrust::Authority,
            "UnsupportedCriticalExtension" => Distrust::CriticalExtension,
            _ => Distrust::Other,
        },
        _ => Distrust::Other,
    }
}

pub(super) type Sessions = SessionStore<Tls13ClientSessionValue, Tls12ClientSessionValue>;

/// The sessions of a connector to take up again, behind rustls' own interface for them.
#[derive(Clone)]
pub(super) struct Resumable {
    pub(super) sessions: Arc<Sessions>,
    /// How sessions of TLS 1.2 are taken up. rustls knows no "by ticket alone", so [`OneConnection`] sees to that.
    of_tls12: Tls12Resumption,
}

impl Resumable {
    fn new(resumption: Resumption) -> Option<Self> {
        let of_tls12 = match resumption {
            Resumption::Off => return None,
            Resumption::SessionId => Tls12Resumption::SessionIdOnly,
            Resumption::Ticket => Tls12Resumption::SessionIdOrTickets,
        };
        Some(Self {
            sessions: Arc::new(Sessions::new()),
            of_tls12,
        })
    }
}

/// What one connection sees of the sessions: rustls does not say otherwise whether it offered one, nor whether it got a
/// ticket.
///
/// A connector has one server, so names do not matter. The group that a server chose earlier is not remembered: it
/// would make later ClientHellos differ from the first.
struct OneConnection {
    sessions: Arc<Sessions>,
    offer: Offer,
    offered: AtomicBool,
    needs_ticket: bool,
    ticket_follows: AtomicBool,
}

impl OneConnection {
    fn new(resumable: &Resumable, offer: Offer) -> Self {
        Self {
            sessions: Arc::clone(&resumable.sessions),
            offer,
            offered: AtomicBool::new(false),
            needs_ticket: resumable.of_tls12 == Tls12Resumption::SessionIdOrTickets,
            ticket_follows: AtomicBool::new(false),
        }
    }

    /// Notes that the server said, in a handshake of TLS 1.2, that it will give a ticket.
    fn expect_ticket(&self) {
        self.ticket_follows.store(true, Relaxed);
    }

    fn offered(&self) -> bool {
        self.offered.load(Relaxed)
    }

    fn give<T>(&self, take: impl FnOnce(&Sessions) -> Option<T>) -> Option<T> {
        if self.offer == Offer::Nothing {
            return None;
        }
        let session = take(&self.sessions);
        self.offered.fetch_or(session.is_some(), Relaxed);
        session
    }
}

impl ClientSessionStore for OneConnection {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        // A server without tickets may offer to keep the session itself, which is another arm. A session that was taken
        // up without a new ticket is still in the store.
        if !self.needs_ticket || self.ticket_follows.load(Relaxed) {
            self.sessions.keep_older(session);
        }
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.give(Sessions::older)
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.sessions.forget_older();
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.sessions.keep_ticket(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.give(Sessions::take_ticket)
    }
}

/// Without the sessions, which are as secret as keys.
impl fmt::Debug for OneConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneConnection")
            .field("offer", &self.offer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_in_reports_are_those_that_are_built_in() {
        let lock = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));
        let version = |name: &str| {
            let (_, rest) = lock
                .split_once(&format!("name = \"{name}\"\nversion = \""))
                .unwrap();
            rest.split('"').next().unwrap()
        };
        let built_in = format!(
            "rustls {} (aws-lc-rs {})",
            version("rustls"),
            version("aws-lc-rs")
        );
        assert_eq!(LIBRARY, built_in);
    }
}
