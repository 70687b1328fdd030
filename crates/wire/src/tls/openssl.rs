//! The OpenSSL back end (vendored, 3.5 LTS series).

pub(super) mod bindings;
mod context;
mod session;

use std::sync::Arc;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslSession, SslStream};

use self::session::{Session, Wire};
use super::policy::{TlsPolicy, Verification};
use super::store::{SessionStore, Stock};
use super::{Offer, TlsSession};
use crate::error::WireError;

/// Name and version of the library, for reports.
pub fn library_version() -> String {
    let version = openssl::version::version();
    version.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Sessions of TLS 1.3 are tickets; those of older versions can be used again.
type Sessions = SessionStore<SslSession, SslSession>;

/// What a connection has to do with earlier sessions.
struct Resumable {
    sessions: Arc<Sessions>,
    /// The session that it offers.
    earlier: Option<SslSession>,
}

/// Makes sessions of one policy.
pub(crate) struct Connector {
    context: SslContext,
    verification: Verification,
    /// `None` where every handshake is a full one.
    sessions: Option<Arc<Sessions>>,
}

impl Connector {
    pub(crate) fn new(policy: &TlsPolicy) -> Result<Self, WireError> {
        let (context, sessions) = context::prepare(policy)?;
        Ok(Self {
            context,
            verification: policy.verification.clone(),
            sessions,
        })
    }

    pub(crate) fn session(&self, offer: Offer) -> Result<Box<dyn TlsSession>, WireError> {
        let mut ssl = Ssl::new(&self.context).map_err(broken)?;
        match self.verification.name() {
            None => {}
            Some(Ok(address)) => ssl.param_mut().set_ip(address).map_err(broken)?,
            Some(Err(name)) => {
                ssl.param_mut().set_host(name).map_err(broken)?;
                ssl.set_hostname(name).map_err(broken)?;
            }
        }
        let earlier = match offer {
            Offer::Nothing => None,
            Offer::WhatThereIs => self.sessions.as_deref().and_then(earlier_session),
        };
        if let Some(earlier) = &earlier {
            // SAFETY: the store holds sessions of this context alone.
            unsafe { ssl.set_session(earlier) }.map_err(broken)?;
        }
        let resumable = self.sessions.as_ref().map(|sessions| Resumable {
            sessions: Arc::clone(sessions),
            earlier,
        });
        let stream = SslStream::new(ssl, Wire::new()).map_err(broken)?;
        Ok(Box::new(Session::new(
            stream,
            self.verification.verified(),
            resumable,
        )))
    }

    pub(crate) fn stock(&self) -> Option<&dyn Stock> {
        self.sessions.as_deref().map(|sessions| sessions as &dyn Stock)
    }
}

/// A session to offer. Of one that can be used again each connection gets a copy, because OpenSSL marks a session that
/// gets a new ticket or fails as not to be offered again, whoever else is about to.
fn earlier_session(sessions: &Sessions) -> Option<SslSession> {
    if let Some(ticket) = sessions.take_ticket() {
        return Some(ticket);
    }
    let session = sessions.older()?;
    if bindings::is_resumable(&session) {
        return bindings::copy(&session);
    }
    sessions.forget_older();
    None
}

fn broken(error: ErrorStack) -> WireError {
    WireError::Tls(reasons(&error))
}

fn reasons(stack: &ErrorStack) -> String {
    let reasons: Vec<&str> = stack.errors().iter().filter_map(|error| error.reason()).collect();
    if reasons.is_empty() {
        "for a reason OpenSSL does not name".into()
    } else {
        reasons.join(", ")
    }
}
