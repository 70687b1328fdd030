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
/// Pages dropped from the cache to make room for others.
pub const PAGES_EVICTED: &str = "pages_evicted";
/// Times that log was written to its file.
pub const LOG_WRITES: &str = "log_writes";
/// Times that the log's file was flushed to the disk: what the commits of a group wait for together.
pub const LOG_FLUSHES: &str = "log_flushes";
/// Times that the log's buffer was full and had to be written before anybody could go on.
pub const LOG_WAITS: &str = "log_waits";
/// Flushes to the disk of any of the server's files, the log's among them.
pub const FILE_FLUSHES: &str = "file_flushes";
/// Transactions committed, in PostgreSQL those that only read among them.
pub const COMMITS: &str = "commits";
/// Times that a session had to wait for a lock on data that another held: on a row, in MongoDB on a collection or more.
pub const LOCK_WAITS: &str = "lock_waits";
/// Sum of these waits in microseconds.
pub const LOCK_WAIT_US: &str = "lock_wait_us";
/// What the name of a counter begins with that sums up, in microseconds, how long a server's threads waited for one thing; what
/// follows is the server's own name, type before event as in `wiredTiger.log:log sync time duration`.
pub const WAITED_US: &str = "waited_us.";
/// Connections accepted.
pub const CONNECTIONS: &str = "connections";

/// `COMMIT`s that MySQL's family was told, by its name for them. It counts no transactions: those of one statement that nobody
/// began are not among these.
pub const EXPLICIT_COMMITS: &str = "Com_commit";
/// Commits of the storage engine of MySQL's family, by its name for them: one for each statement, within a transaction too, and
/// one for its end.
pub const STATEMENT_COMMITS: &str = "Handler_commit";
/// Transactions written to MariaDB's binary log, by its name for them.
pub const BINLOG_COMMITS: &str = "Binlog_commits";
/// Groups of transactions that were written to it together, by its name for them.
pub const BINLOG_GROUPS: &str = "Binlog_group_commits";

/// The part of the pages asked of the cache that were in it, as a fraction; `None` if none was asked for. Pages that are read
/// ahead are asked for once they are there, or never.
pub fn hit_rate(read: f64, requested: f64) -> Option<f64> {
    (requested > 0.0).then(|| (1.0 - read / requested).max(0.0))
}

/// The part of the pages asked of the cache that were in it, by what a server's counters rose by; `None` where it does not say.
pub fn cache_hit_rate(counters: &BTreeMap<String, i64>) -> Option<f64> {
    hit_rate(rose(counters, PAGES_READ)?, rose(counters, PAGES_REQUESTED)?)
}

/// How many transactions were committed, by what a server's counters rose by; `None` where it does not say. In MySQL's family,
/// where sessions begin transactions or leave it, but do not do both.
pub fn commits(counters: &BTreeMap<String, i64>) -> Option<f64> {
    let explicit = || rose(counters, EXPLICIT_COMMITS).filter(|commits| *commits > 0.0);
    rose(counters, COMMITS)
        .or_else(explicit)
        .or_else(|| rose(counters, STATEMENT_COMMITS))
}

/// How many transactions were committed for each flush of the log, by what a server's counters rose by: of the binary log's
/// groups where there are any, else of the log; where that is not counted, of all files, which is a little less. `None`
/// where the server does not say, or flushed nothing.
pub fn commits_per_flush(counters: &BTreeMap<String, i64>) -> Option<f64> {
    let groups = rose(counters, BINLOG_GROUPS).filter(|groups| *groups > 0.0);
    if let Some(groups) = groups {
        return Some(rose(counters, BINLOG_COMMITS)? / groups);
    }
    let flushes = rose(counters, LOG_FLUSHES).or_else(|| rose(counters, FILE_FLUSHES))?;
    (flushes > 0.0).then_some(commits(counters)? / flushes)
}

/// How long a wait for a lock took on average, in microseconds; `None` where the server does not say, or nobody waited.
pub fn mean_lock_wait_us(counters: &BTreeMap<String, i64>) -> Option<f64> {
    let waits = rose(counters, LOCK_WAITS).filter(|waits| *waits > 0.0)?;
    Some(rose(counters, LOCK_WAIT_US)? / waits)
}

/// The waits that a server counts: its own name of each, and by how many microseconds it rose.
pub fn waited_us(counters: &BTreeMap<String, i64>) -> impl Iterator<Item = (&str, i64)> {
    let waits = counters.iter();
    waits.filter_map(|(name, rose)| Some((name.strip_prefix(WAITED_US)?, *rose)))
}

fn rose(counters: &BTreeMap<String, i64>, name: &str) -> Option<f64> {
    counters.get(name).map(|rose| *rose as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(of: &[(&str, i64)]) -> BTreeMap<String, i64> {
        let named = of.iter().map(|(name, rose)| ((*name).to_owned(), *rose));
        named.collect()
    }

    #[test]
    fn pages_that_were_read_were_no_hits() {
        let of =
            |read, requested| cache_hit_rate(&counters(&[(PAGES_READ, read), (PAGES_REQUESTED, requested)]));
        assert_eq!(of(25, 100), Some(0.75));
        // All were read ahead, some for nothing.
        assert_eq!(of(120, 100), Some(0.0));
        assert_eq!(of(0, 0), None);
        assert_eq!(cache_hit_rate(&counters(&[(PAGES_READ, 1)])), None);
    }

    #[test]
    fn commits_are_held_to_the_flushes_that_they_wait_for() {
        let log = [(COMMITS, 90), (LOG_FLUSHES, 30), (FILE_FLUSHES, 45)];
        assert_eq!(commits_per_flush(&counters(&log)), Some(3.0));
        assert_eq!(commits_per_flush(&counters(&[log[0], log[2]])), Some(2.0));
        let unused = [(BINLOG_COMMITS, 0), (BINLOG_GROUPS, 0), log[0], log[1]];
        assert_eq!(commits_per_flush(&counters(&unused)), Some(3.0));
        let binlog = [(BINLOG_COMMITS, 80), (BINLOG_GROUPS, 8), log[0], log[1]];
        assert_eq!(commits_per_flush(&counters(&binlog)), Some(10.0));
        // Flushed once a second.
        let found = commits_per_flush(&counters(&[(COMMITS, 9), (LOG_FLUSHES, 0), log[2]]));
        assert_eq!(found, None);
        assert_eq!(commits_per_flush(&counters(&[log[1]])), None);
        let statements = [(STATEMENT_COMMITS, 60), (FILE_FLUSHES, 10)];
        assert_eq!(commits_per_flush(&counters(&statements)), Some(6.0));
        let transactions = [(EXPLICIT_COMMITS, 10), statements[0], statements[1]];
        assert_eq!(commits_per_flush(&counters(&transactions)), Some(1.0));
    }

    #[test]
    fn a_lock_wait_has_a_mean_once_somebody_waited() {
        let of = |waits| mean_lock_wait_us(&counters(&[(LOCK_WAITS, waits), (LOCK_WAIT_US, 900)]));
        assert_eq!((of(3), of(0)), (Some(300.0), None));
    }
}
