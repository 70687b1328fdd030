//! What a server counts of TLS and logins, and what it counted while a program ran.

use std::collections::BTreeMap;

use ciphertax_records::counter::CONNECTIONS;

use crate::database::Counted;

/// Begins the names of the counters of TLS handshakes, which end in a version.
pub(super) const HANDSHAKES: &str = "transportSecurity.";
/// Begins the names of the counters of logins that succeeded, which end in a mechanism.
pub(super) const LOGINS: &str = "security.authentication.successful.";
/// What programs ask of data. Commands are left out: drivers greet the server with them all the time.
pub(super) const QUERIES: [&str; 5] = [
    "opcounters.query",
    "opcounters.getmore",
    "opcounters.insert",
    "opcounters.update",
    "opcounters.delete",
];

/// From the counters at the end and their change.
pub(super) fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
    let group = |counters: &BTreeMap<String, i64>, prefix: &str| -> BTreeMap<String, i64> {
        let named = |(name, count): (&String, &i64)| Some((name.strip_prefix(prefix)?.to_owned(), *count));
        counters.iter().filter_map(named).collect()
    };
    let counts_handshakes = !group(at_the_end, HANDSHAKES).is_empty();
    let handshakes = group(change, HANDSHAKES).into_values().sum();
    let logins = group(change, LOGINS);
    let queries: i64 = QUERIES.iter().filter_map(|name| change.get(*name)).sum();
    Counted {
        connections: change.get(CONNECTIONS).copied(),
        // One is counted when it is complete.
        handshakes: counts_handshakes.then_some(handshakes),
        completed: handshakes,
        logins: (!logins.is_empty()).then_some(logins),
        queries: queries.max(0).unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(of: &[(&str, i64)]) -> BTreeMap<String, i64> {
        of.iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn handshakes_of_all_versions_and_logins_by_mechanism_are_counted() {
        let change = counters(&[
            (CONNECTIONS, 3),
            ("transportSecurity.1.2", 1),
            ("transportSecurity.1.3", 2),
            ("security.authentication.successful.SCRAM-SHA-256", 2),
            ("opcounters.query", 7),
            ("opcounters.insert", 1),
            ("opcounters.command", 99),
        ]);
        let seen = counted(&change, &change);
        assert_eq!(
            (seen.connections, seen.handshakes, seen.completed, seen.queries),
            (Some(3), Some(3), 3, 8)
        );
        assert_eq!(seen.logins, Some(counters(&[("SCRAM-SHA-256", 2)])));
    }

    #[test]
    fn a_server_that_does_not_say_counts_nothing() {
        assert_eq!(counted(&BTreeMap::new(), &BTreeMap::new()), Counted::default());
    }
}
