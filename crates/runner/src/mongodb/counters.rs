//! What servers count.

use std::collections::BTreeMap;

use ciphertax_base::counter;
use ciphertax_wire::mongodb::bson::raw::RawDocument;

use super::control::number;
use crate::counters::UPTIME;

/// Counters of a slice, by the path that leads to each in the answer to `serverStatus`; those of TLS and logins besides.
const COUNTERS: [(&str, &[&str]); 17] = [
    (counter::CONNECTIONS, &["connections", "totalCreated"]),
    ("opcounters.query", &["opcounters", "query"]),
    ("opcounters.getmore", &["opcounters", "getmore"]),
    ("opcounters.insert", &["opcounters", "insert"]),
    ("opcounters.update", &["opcounters", "update"]),
    ("opcounters.delete", &["opcounters", "delete"]),
    ("opcounters.command", &["opcounters", "command"]),
    ("network.bytesIn", &["network", "bytesIn"]),
    ("network.bytesOut", &["network", "bytesOut"]),
    (
        counter::PAGES_READ,
        &["wiredTiger", "cache", "pages read into cache"],
    ),
    (
        counter::PAGES_REQUESTED,
        &["wiredTiger", "cache", "pages requested from the cache"],
    ),
    (
        counter::PAGES_WRITTEN,
        &["wiredTiger", "cache", "pages written from cache"],
    ),
    (counter::LOG_BYTES, &["wiredTiger", "log", "log bytes written"]),
    (
        counter::LOG_FLUSHES,
        &["wiredTiger", "log", "log sync operations"],
    ),
    (
        counter::COMMITS,
        &["wiredTiger", "transaction", "transactions committed"],
    ),
    // Those that gave way to another, and were tried again.
    (
        "wiredTiger.transaction.update conflicts",
        &["wiredTiger", "transaction", "update conflicts"],
    ),
    (UPTIME, &["uptime"]),
];

/// Counters that are the sum of several, by the paths to these.
const SUMS: [(&str, &[&[&str]]); 1] = [(
    counter::PAGES_EVICTED,
    &[
        &["wiredTiger", "cache", "modified pages evicted"],
        &["wiredTiger", "cache", "unmodified pages evicted"],
    ],
)];

/// What threads that work for clients waited for, by WiredTiger's sections and its names, which all end in the unit.
const WAITED: [(&str, &str); 8] = [
    ("cache", "application threads page read from disk to cache time"),
    ("cache", "application threads page write from cache to disk time"),
    ("lock", "checkpoint lock application thread wait time"),
    ("log", "log sync time duration"),
    ("log", "slot joins yield time"),
    ("thread-yield", "application thread time evicting"),
    ("thread-yield", "application thread time waiting for cache"),
    ("thread-yield", "page acquire time sleeping"),
];
const MICROSECONDS: &str = " (usecs)";

/// What each kind of lock says of waiting for it, by the mode in which it was asked for. What nobody has waited for yet says
/// nothing.
const OF_LOCKS: [(&str, &str); 2] = [
    (counter::LOCK_WAITS, "acquireWaitCount"),
    (counter::LOCK_WAIT_US, "timeAcquiringMicros"),
];

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

/// The counters of an answer to `serverStatus`, by their names in records.
pub(super) fn named(answer: &RawDocument) -> BTreeMap<String, i64> {
    let counter = |(name, path): (&str, &[&str])| Some((name.to_owned(), number(answer, path)?));
    let mut counters: BTreeMap<String, i64> = COUNTERS.into_iter().filter_map(counter).collect();
    let of_each = |path: &[&str], prefix: &str, inner: &[&str]| {
        let names = names_in(answer, path);
        let counter = |name: String| {
            let path: Vec<&str> = [path, &[name.as_str()], inner].concat();
            Some((format!("{prefix}{name}"), number(answer, &path)?))
        };
        names.into_iter().filter_map(counter).collect::<Vec<_>>()
    };
    counters.extend(of_each(&["transportSecurity"], HANDSHAKES, &[]));
    counters.extend(of_each(
        &["security", "authentication", "mechanisms"],
        LOGINS,
        &["authenticate", "successful"],
    ));
    let sum = |(name, paths): (&str, &[&[&str]])| {
        let each: Option<Vec<i64>> = paths.iter().map(|path| number(answer, path)).collect();
        Some((name.to_owned(), each?.into_iter().sum()))
    };
    counters.extend(SUMS.into_iter().filter_map(sum));
    let waited_for = |(section, name): (&str, &str)| {
        let path = ["wiredTiger", section, &format!("{name}{MICROSECONDS}")];
        let us = number(answer, &path)?;
        Some((format!("{}wiredTiger.{section}:{name}", counter::WAITED_US), us))
    };
    counters.extend(WAITED.into_iter().filter_map(waited_for));
    let locks = names_in(answer, &["locks"]);
    let of_locks = |(name, what): (&str, &str)| (name.to_owned(), waited(answer, &locks, what));
    counters.extend(OF_LOCKS.into_iter().filter(|_| !locks.is_empty()).map(of_locks));
    counters
}

fn names_in(answer: &RawDocument, path: &[&str]) -> Vec<String> {
    let mut found = answer;
    for name in path {
        match found.get_document(name) {
            Ok(inner) => found = inner,
            Err(_) => return Vec::new(),
        }
    }
    let names = found
        .iter()
        .filter_map(|element| Some(element.ok()?.0.to_string()));
    names.collect()
}

/// What is said of waiting for locks of all these kinds and in all modes.
fn waited(answer: &RawDocument, locks: &[String], what: &str) -> i64 {
    let of_lock = |lock: &String| -> i64 {
        let path = ["locks", lock, what];
        let modes = names_in(answer, &path);
        let of_mode = |mode: &String| number(answer, &["locks", lock, what, mode]);
        modes.iter().filter_map(of_mode).sum()
    };
    locks.iter().map(of_lock).sum()
}

#[cfg(test)]
mod tests {
    use ciphertax_base::counter::CONNECTIONS;

    use super::*;
    use crate::database::{Clients as _, Counted};
    use crate::mongodb::MongoDb;

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
        let seen = MongoDb::counted(&change, &change);
        let found = (seen.connections, seen.handshakes, seen.completed, seen.queries);
        assert_eq!(found, (Some(3), Some(3), 3, 8));
        assert_eq!(seen.logins, Some(counters(&[("SCRAM-SHA-256", 2)])));
    }

    #[test]
    fn a_server_that_does_not_say_counts_nothing() {
        let found = MongoDb::counted(&BTreeMap::new(), &BTreeMap::new());
        assert_eq!(found, Counted::default());
    }
}
