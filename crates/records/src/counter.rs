//! Names of server counters that mean the same whatever the database calls them. A database's own room maps its counters to
//! them; what else it counts keeps the server's name.

use std::collections::BTreeMap;

/// Pages read from disk into the server's cache, those that it read ahead among them: what has to be decrypted.
pub const PAGES_READ: &str = "pages_read";
/// Pages asked of the cache.
pub const PAGES_REQUESTED: &str = "pages_requested";
/// Pages of tables and indexes written from the cache to the disk: what has to be encrypted.
pub const PAGES_WRITTEN: &str = "pages_written";
/// Bytes of changes written to the log that a server recovers from: the redo log, the write-ahead log, the journal.
pub const LOG_BYTES: &str = "log_bytes";
/// Connections accepted.
pub const CONNECTIONS: &str = "connections";

/// What records without a version called them.
const FORMER: [(&str, &str); 4] = [
    ("Innodb_buffer_pool_reads", PAGES_READ),
    ("Innodb_buffer_pool_read_requests", PAGES_REQUESTED),
    ("wiredTiger.cache.pages read into cache", PAGES_READ),
    ("connections.totalCreated", CONNECTIONS),
];

/// Gives the counters of an old sample the names they have now.
pub(crate) fn rename_former(counters: &mut BTreeMap<String, i64>) {
    for (former, name) in FORMER {
        if let Some(rose) = counters.remove(former) {
            counters.insert(name.to_owned(), rose);
        }
    }
}
