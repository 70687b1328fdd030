//! What a server counted while a program ran.

use std::collections::BTreeMap;

use ciphertax_records::counter::CONNECTIONS;

use super::counters::{ASKED, COMMITTED, ROLLED_BACK};
use crate::database::Counted;

/// From the counters' change. It counts neither TLS handshakes nor logins nor statements: a query is a transaction here.
pub(super) fn counted(change: &BTreeMap<String, i64>) -> Counted {
    let of = |name: &str| change.get(name).copied().unwrap_or(0);
    let transactions = of(COMMITTED) + of(ROLLED_BACK) - of(ASKED);
    Counted {
        connections: change.get(CONNECTIONS).copied(),
        handshakes: None,
        completed: 0,
        logins: None,
        queries: transactions.max(0).unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_questions_for_the_counts_are_none_of_the_programs() {
        let change = [(CONNECTIONS, 3), (COMMITTED, 10), (ROLLED_BACK, 1), (ASKED, 2)];
        let change = change.map(|(name, count)| (name.to_owned(), count)).into();
        let seen = counted(&change);
        assert_eq!(
            (seen.connections, seen.handshakes, seen.queries),
            (Some(3), None, 9)
        );
    }

    #[test]
    fn a_server_that_does_not_count_sessions_says_nothing_of_connections() {
        assert_eq!(counted(&BTreeMap::new()), Counted::default());
    }
}
