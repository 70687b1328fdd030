//! What a server counts.

use std::collections::BTreeMap;

use ciphertax_base::counter;

/// A counter of a slice: the server's name, the name in records, and how many of the records' units one of the server's is.
struct Counter(&'static str, &'static str, i64);

/// One that keeps the server's name.
const fn own(name: &'static str) -> Counter {
    Counter(name, name, 1)
}

/// All are kept by the server at all times. What it does not know is left out of its answer: which server has which is in
/// METHODOLOGY.
const COUNTERS: [Counter; 24] = [
    own(counter::BINLOG_COMMITS),
    own(counter::BINLOG_GROUPS),
    own(counter::EXPLICIT_COMMITS),
    own("Connections"),
    own(counter::STATEMENT_COMMITS),
    own("Handler_read_key"),
    own("Innodb_adaptive_hash_hash_searches"),
    own("Innodb_adaptive_hash_non_hash_searches"),
    Counter("Innodb_buffer_pool_pages_lru_freed", counter::PAGES_EVICTED, 1),
    Counter("Innodb_buffer_pool_read_requests", counter::PAGES_REQUESTED, 1),
    own("Innodb_buffer_pool_wait_free"),
    Counter("Innodb_data_fsyncs", counter::FILE_FLUSHES, 1),
    Counter("Innodb_log_waits", counter::LOG_WAITS, 1),
    Counter("Innodb_log_writes", counter::LOG_WRITES, 1),
    Counter("Innodb_os_log_fsyncs", counter::LOG_FLUSHES, 1),
    Counter("Innodb_os_log_written", counter::LOG_BYTES, 1),
    Counter("Innodb_pages_read", counter::PAGES_READ, 1),
    Counter("Innodb_pages_written", counter::PAGES_WRITTEN, 1),
    // In milliseconds.
    Counter("Innodb_row_lock_time", counter::LOCK_WAIT_US, 1_000),
    Counter("Innodb_row_lock_waits", counter::LOCK_WAITS, 1),
    own("Questions"),
    own("Ssl_accepts"),
    own("Ssl_finished_accepts"),
    own("Uptime"),
];

/// The counters of an answer, by their names in records.
pub(super) fn named(pairs: BTreeMap<String, String>) -> BTreeMap<String, i64> {
    let counter = |(name, value): (String, String)| {
        let value: i64 = value.parse().ok()?;
        let known = COUNTERS
            .iter()
            .find(|Counter(servers, ..)| servers.eq_ignore_ascii_case(&name));
        Some(match known {
            Some(Counter(_, records, factor)) => ((*records).to_owned(), value.saturating_mul(*factor)),
            None => (name, value),
        })
    };
    pairs.into_iter().filter_map(counter).collect()
}

pub(super) fn question() -> String {
    let names = COUNTERS.map(|Counter(name, ..)| format!("'{name}'")).join(", ");
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Clients as _;
    use crate::mysql::MySql;

    #[test]
    fn the_question_for_the_counts_is_none_of_the_programs() {
        let change = BTreeMap::from([("Connections".to_owned(), 1), ("Questions".to_owned(), 8)]);
        assert_eq!(MySql::counted(&change, &change).queries, 7);
        assert_eq!(MySql::counted(&BTreeMap::new(), &BTreeMap::new()).queries, 0);
    }

    #[test]
    fn a_server_that_never_counted_a_handshake_counts_none() {
        let counters = |accepts| BTreeMap::from([("Ssl_accepts".to_owned(), accepts)]);
        assert_eq!(MySql::counted(&counters(0), &counters(0)).handshakes, None);
        assert_eq!(MySql::counted(&counters(9), &counters(4)).handshakes, Some(4));
    }
}
