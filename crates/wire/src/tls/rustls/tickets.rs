//! Sessions to take up again, behind rustls' own interface for them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ciphertax_model::Resumption;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls12Resumption, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use super::super::Offer;
use super::super::store::SessionStore;

type Sessions = SessionStore<Tls13ClientSessionValue, Tls12ClientSessionValue>;

/// The sessions of a connector.
#[derive(Clone)]
pub(super) struct Resumable {
    pub(super) sessions: Arc<Sessions>,
    /// How sessions of TLS 1.2 are taken up. rustls knows no "by ticket alone", so [`OneConnection`] sees to that.
    pub(super) of_tls12: Tls12Resumption,
}

impl Resumable {
    pub(super) fn new(resumption: Resumption) -> Option<Self> {
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
pub(super) struct OneConnection {
    sessions: Arc<Sessions>,
    offer: Offer,
    offered: AtomicBool,
    needs_ticket: bool,
    ticket_follows: AtomicBool,
}

impl OneConnection {
    pub(super) fn new(resumable: &Resumable, offer: Offer) -> Self {
        Self {
            sessions: Arc::clone(&resumable.sessions),
            offer,
            offered: AtomicBool::new(false),
            needs_ticket: resumable.of_tls12 == Tls12Resumption::SessionIdOrTickets,
            ticket_follows: AtomicBool::new(false),
        }
    }

    /// Notes that the server said, in a handshake of TLS 1.2, that it will give a ticket.
    pub(super) fn expect_ticket(&self) {
        self.ticket_follows.store(true, Relaxed);
    }

    /// True if the connection was given an earlier session.
    pub(super) fn offered(&self) -> bool {
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
