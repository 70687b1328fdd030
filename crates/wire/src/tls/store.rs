//! Sessions that wait to be taken up.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Result, WireError};

/// Tickets kept at most; the oldest make room.
const MOST_TICKETS: usize = 8192;
/// Age at which a session that is taken up again and again is replaced when there is time: the shortest life that a
/// server gives one by default is 300 s (OpenSSL before 3.0), and a session that expires under load is a full
/// handshake.
const RENEW_AFTER: Duration = Duration::from_secs(120);

/// Sessions that wait to be taken up, shared by all connections of a connector and locked while one connects.
///
/// A ticket of TLS 1.3 is given out once (RFC 8446, appendix C.4), the oldest first, so that none grows old. A session
/// of an older version may be taken up by any number of connections, so only the newest is kept.
#[derive(Debug)]
pub(super) struct SessionStore<Ticket, Older> {
    sessions: Mutex<Sessions<Ticket, Older>>,
}

#[derive(Debug)]
struct Sessions<Ticket, Older> {
    tickets: VecDeque<Ticket>,
    older: Option<(Older, Instant)>,
    received: u64,
}

impl<Ticket, Older: Clone> SessionStore<Ticket, Older> {
    pub(super) fn new() -> Self {
        Self {
            sessions: Mutex::new(Sessions {
                tickets: VecDeque::new(),
                older: None,
                received: 0,
            }),
        }
    }

    pub(super) fn keep_ticket(&self, ticket: Ticket) {
        let mut sessions = self.lock();
        if sessions.tickets.len() == MOST_TICKETS {
            sessions.tickets.pop_front();
        }
        sessions.tickets.push_back(ticket);
        sessions.received += 1;
    }

    pub(super) fn keep_older(&self, session: Older) {
        let mut sessions = self.lock();
        sessions.older = Some((session, Instant::now()));
        sessions.received += 1;
    }

    pub(super) fn take_ticket(&self) -> Option<Ticket> {
        self.lock().tickets.pop_front()
    }

    pub(super) fn older(&self) -> Option<Older> {
        self.lock().older.as_ref().map(|(session, _)| session.clone())
    }

    pub(super) fn forget_older(&self) {
        self.lock().older = None;
    }

    /// A panic elsewhere leaves nothing half done here.
    fn lock(&self) -> MutexGuard<'_, Sessions<Ticket, Older>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects by `handshake`, which must offer nothing, until `connections` connections at a time find an earlier session each.
    pub(super) async fn fill<T>(
        &self,
        connections: usize,
        handshake: impl AsyncFn() -> Result<T>,
    ) -> Result<()> {
        while !self.suffices_for(connections) {
            let before = self.received();
            handshake().await?;
            if self.received() == before {
                return Err(WireError::NoSession);
            }
        }
        Ok(())
    }

    /// True if `connections` connections at a time find a session each.
    fn suffices_for(&self, connections: usize) -> bool {
        let sessions = self.lock();
        let is_fresh = |(_, received): &(Older, Instant)| received.elapsed() < RENEW_AFTER;
        sessions.tickets.len() >= connections.min(MOST_TICKETS)
            || sessions.older.as_ref().is_some_and(is_fresh)
    }

    /// Sessions that servers gave so far.
    fn received(&self) -> u64 {
        self.lock().received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_given_out_once_and_the_oldest_first() {
        let store = SessionStore::<u32, ()>::new();
        assert!(!store.suffices_for(1));
        store.keep_ticket(1);
        store.keep_ticket(2);
        assert!(store.suffices_for(2) && !store.suffices_for(3));
        let found = [store.take_ticket(), store.take_ticket(), store.take_ticket()];
        assert_eq!(found, [Some(1), Some(2), None]);
        assert_eq!(store.received(), 2);
    }

    #[test]
    fn an_older_session_is_given_out_again_and_again() {
        let store = SessionStore::<(), u32>::new();
        store.keep_older(1);
        store.keep_older(2);
        assert!(store.suffices_for(1000));
        assert_eq!([store.older(), store.older()], [Some(2), Some(2)]);
        store.forget_older();
        assert!(!store.suffices_for(1) && store.older().is_none());
    }

    #[test]
    fn tickets_that_nobody_takes_do_not_pile_up() {
        let store = SessionStore::<usize, ()>::new();
        for ticket in 0..MOST_TICKETS + 3 {
            store.keep_ticket(ticket);
        }
        assert!(store.suffices_for(usize::MAX));
        assert_eq!(store.take_ticket(), Some(3));
    }
}
