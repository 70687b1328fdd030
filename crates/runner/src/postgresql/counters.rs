//! What a server counts, and what its sessions wait for.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::counter;
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use super::clients::{APPLICATION, PostgreSql};
use crate::counters::UPTIME;
use crate::database::Control;
use crate::error::Result;
use crate::timeout::TIMEOUT;
use crate::wait_events::Ask;

/// Transactions of ciphertax's own that are among those counted.
pub(crate) const ASKED: &str = "pg_stat_database.asked_by_ciphertax";
/// Transactions that were committed.
pub(super) const COMMITTED: &str = counter::COMMITS;
/// Transactions that were rolled back.
pub(super) const ROLLED_BACK: &str = "pg_stat_database.xact_rollback";

/// A counter of a slice: its name in records, the major versions that have it, and the expression that asks it of all
/// databases together.
struct Counter(&'static str, RangeInclusive<u32>, &'static str);

const ANY_VERSION: RangeInclusive<u32> = 0..=u32::MAX;
/// Major versions that have `pg_stat_wal` and `pg_stat_io`.
const SAYS_WAL: RangeInclusive<u32> = 14..=u32::MAX;
const SAYS_IO: RangeInclusive<u32> = 16..=u32::MAX;

/// What is asked besides the databases, by the major versions that have it: rows of one line each, so that a view is read once.
const BESIDES: [(RangeInclusive<u32>, &str); 3] = [
    (SAYS_WAL, "pg_catalog.pg_stat_wal AS wal"),
    (
        16..=17,
        "(SELECT SUM(writes) AS pages_written, SUM(evictions + COALESCE(reuses, 0)) AS pages_evicted \
         FROM pg_catalog.pg_stat_io WHERE object = 'relation') AS io",
    ),
    (
        18..=u32::MAX,
        "(SELECT SUM(write_bytes) FILTER (WHERE object = 'relation') \
         / pg_catalog.current_setting('block_size')::bigint AS pages_written, \
         SUM(evictions + COALESCE(reuses, 0)) FILTER (WHERE object = 'relation') AS pages_evicted, \
         SUM(writes) FILTER (WHERE object = 'wal') AS log_writes, SUM(fsyncs) FILTER (WHERE object = 'wal') AS log_flushes \
         FROM pg_catalog.pg_stat_io) AS io",
    ),
];

/// What a server does not know is left out of what it is asked.
const COUNTERS: [Counter; 20] = [
    Counter(COMMITTED, ANY_VERSION, "SUM(xact_commit)"),
    Counter(ROLLED_BACK, ANY_VERSION, "SUM(xact_rollback)"),
    Counter(counter::PAGES_READ, ANY_VERSION, "SUM(blks_read)"),
    Counter(counter::PAGES_REQUESTED, ANY_VERSION, "SUM(blks_read + blks_hit)"),
    Counter("pg_stat_database.tup_returned", ANY_VERSION, "SUM(tup_returned)"),
    Counter("pg_stat_database.tup_fetched", ANY_VERSION, "SUM(tup_fetched)"),
    Counter("pg_stat_database.tup_inserted", ANY_VERSION, "SUM(tup_inserted)"),
    Counter("pg_stat_database.tup_updated", ANY_VERSION, "SUM(tup_updated)"),
    Counter("pg_stat_database.tup_deleted", ANY_VERSION, "SUM(tup_deleted)"),
    Counter(
        UPTIME,
        ANY_VERSION,
        "(SELECT EXTRACT(EPOCH FROM pg_catalog.clock_timestamp() - pg_catalog.pg_postmaster_start_time()))::bigint",
    ),
    Counter(counter::CONNECTIONS, 14..=u32::MAX, "SUM(sessions)"),
    // A standby writes no log of its own.
    Counter(
        counter::LOG_BYTES,
        10..=u32::MAX,
        "(SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN \
         pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0') END)::bigint",
    ),
    Counter(
        counter::PAGES_WRITTEN,
        0..=15,
        "(SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_catalog.pg_stat_bgwriter)",
    ),
    Counter(counter::PAGES_WRITTEN, SAYS_IO, "MAX(io.pages_written)::bigint"),
    Counter(counter::PAGES_EVICTED, SAYS_IO, "MAX(io.pages_evicted)::bigint"),
    Counter(counter::LOG_WRITES, 14..=17, "MAX(wal.wal_write)"),
    Counter(counter::LOG_WRITES, 18..=u32::MAX, "MAX(io.log_writes)::bigint"),
    Counter(counter::LOG_FLUSHES, 14..=17, "MAX(wal.wal_sync)"),
    Counter(counter::LOG_FLUSHES, 18..=u32::MAX, "MAX(io.log_flushes)::bigint"),
    Counter(counter::LOG_WAITS, SAYS_WAL, "MAX(wal.wal_buffers_full)"),
];
/// A session tells its counts when it ends, or a second after it told them before; since PostgreSQL 15 it can be asked to have
/// them told now, so that it is known which of its transactions are among them.
const TOLD_NOW: &str = "MAX(pg_catalog.pg_stat_force_next_flush()::text)";
const TELLS_AT_ONCE: u32 = 15;

/// How long sessions that a program has closed are given to end, and how often they are looked for.
const ENDING: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(2);

/// The error of a server that is starting or recovers from the crash of one of its processes (cannot_connect_now).
const NOT_YET: &str = "57P03";

/// What is remembered from one reading of the counters to the next.
#[derive(Default)]
pub(super) struct Readings {
    /// Transactions that asked for them so far.
    pub(super) asked: Cell<i64>,
    /// Sessions of programs and others that there were at the last one.
    pub(super) others: Cell<Option<u64>>,
}

impl Control<PostgreSql> {
    /// The counters, asked once.
    pub(super) fn try_counters(&mut self, readings: &Readings) -> Result<BTreeMap<String, i64>> {
        let version = self.ask(async |session| Ok(session.major_version().unwrap_or(0)))?;
        self.wait_for_ending_sessions(readings)?;
        let known = COUNTERS
            .iter()
            .filter(|Counter(_, versions, _)| versions.contains(&version));
        let known: Vec<&Counter> = known.collect();
        let mut asked: Vec<&str> = known.iter().map(|Counter(_, _, sql)| *sql).collect();
        asked.extend((version >= TELLS_AT_ONCE).then_some(TOLD_NOW));
        let besides = BESIDES.iter().filter(|(versions, _)| versions.contains(&version));
        let besides: String = besides.map(|(_, rows)| format!(", {rows}")).collect();
        let rows = self.allowed(&format!(
            "SELECT {} FROM pg_catalog.pg_stat_database{besides}",
            asked.join(", ")
        ))?;
        let before = readings.asked.replace(readings.asked.get() + 1);
        let Some(row) = rows.first() else {
            return Ok(BTreeMap::new());
        };
        let counter = |(index, Counter(name, ..)): (usize, &&Counter)| {
            Some(((*name).to_owned(), row.text(index).parse().ok()?))
        };
        let counters = known.iter().enumerate().filter_map(counter);
        Ok(counters.chain([(ASKED.to_owned(), before)]).collect())
    }

    /// A session that was closed is counted when its process ends, soon after. Those that were there at the last reading are
    /// not waited for.
    fn wait_for_ending_sessions(&mut self, readings: &Readings) -> Result<()> {
        let others = format!(
            "SELECT COUNT(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' \
             AND application_name <> '{APPLICATION}'"
        );
        let deadline = Instant::now() + ENDING;
        loop {
            let rows = self.allowed(&others)?;
            readings.asked.set(readings.asked.get() + 1);
            let now = rows.first().and_then(|row| row.text(0).parse().ok());
            let has_ended = readings.others.get().is_none_or(|before| now <= Some(before));
            if has_ended || Instant::now() >= deadline {
                readings.others.set(now);
                return Ok(());
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits while the server says that it takes no connections yet: it may have ended all of them because one of its
    /// processes crashed.
    pub(super) fn wait_until_it_takes_connections(&self) -> Result<()> {
        let connects = async {
            loop {
                match Session::connect(&self.reactor, &self.ways[0]).await {
                    Err(WireError::PostgreSql { sql_state, .. }) if sql_state == NOT_YET => {
                        self.reactor.sleep_until(Instant::now() + 10 * LOOK).await;
                    }
                    Err(_) => return,
                    Ok((session, _)) => {
                        // Whether it can be closed is nobody's concern.
                        let _ = session.close().await;
                        return;
                    }
                }
            }
        };
        self.wait_for(TIMEOUT, connects)
    }
}

/// Of all sessions that are at work for a client, those of ciphertax's own questions left out: one is this, others are idle then.
/// The function takes no lock that a view would keep until the end of the transaction.
const QUESTION: &str = "\
    SELECT COALESCE(wait_event_type || ':' || wait_event, ''), COUNT(*) \
    FROM pg_catalog.pg_stat_get_activity(NULL) \
    WHERE backend_type = 'client backend' AND state IN ('active', 'fastpath function call') \
        AND pid <> pg_catalog.pg_backend_pid() \
    GROUP BY 1";
/// A transaction sees the sessions as they were when it looked first, unless it is told to look anew.
const LOOK_ANEW: &str = "SELECT pg_catalog.pg_stat_clear_snapshot()";
/// All questions are one transaction, which ends with the session: a server counts transactions, and so counts none of them.
const BEGIN: &str = "BEGIN READ ONLY";
/// Which session of the server answers: behind a pooler none of that number, which would be kept from all others for the whole run.
const WHO: &str = "SELECT pg_catalog.pg_backend_pid()";
/// It is idle between slices for longer than a server may allow.
const STAY: &str = "\
    SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings \
    WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')";

/// How long the server may take for an answer: one that takes longer is not asked any more.
const ANSWER: Duration = Duration::from_secs(1);

/// Opens a session of its own to ask over.
pub(super) fn asking(options: &ConnectOptions) -> Option<Ask> {
    let reactor = Reactor::new().ok()?;
    let connecting = async {
        let (mut session, _) = Session::connect(&reactor, options).await.ok()?;
        let rows = session.query(WHO).await.ok()?;
        if rows.first()?.text(0) != session.id().to_string() {
            return None;
        }
        session.query(BEGIN).await.ok()?;
        session.query(STAY).await.ok()?;
        Some(session)
    };
    let mut session = reactor.run_one(connecting, Instant::now() + ANSWER).ok()???;
    Some(Box::new(move || {
        let asking = async {
            session.query(LOOK_ANEW).await.ok()?;
            let rows = session.query(QUESTION).await.ok()?;
            let events = rows
                .iter()
                .map(|row| Some((row.text(0), row.text(1).parse().ok()?)));
            events.collect::<Option<BTreeMap<String, u64>>>()
        };
        reactor.run_one(asking, Instant::now() + ANSWER).ok()??
    }))
}

#[cfg(test)]
mod real_servers {
    use ciphertax_testkit::{not_tested, unpacked_tunnels};

    use super::*;
    use crate::footprint::real_servers::server_beside;
    use crate::postgresql::PostgreSql;

    #[test]
    fn a_pooler_before_the_server_is_not_asked() {
        let pooled = "pooler = { program = \"pgbouncer\", pool_mode = \"transaction\" }";
        if unpacked_tunnels().is_none() {
            return not_tested("pgbouncer is not unpacked");
        }
        let Some((server, arm)) = server_beside::<PostgreSql>("postgresql", 64, pooled) else {
            return;
        };
        let direct = server.control.ways[0].clone();
        let mut ask = asking(&direct).unwrap();
        assert!(ask().is_some());
        let pooled = server.arm(&arm).unwrap();
        assert_ne!(pooled.endpoint.port, direct.port);
        let pooled = pooled.options(&server.database, &arm).unwrap();
        assert!(asking(&pooled).is_none());
        drop(ask);
        server.close().unwrap();
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_base::counter::CONNECTIONS;

    use super::*;
    use crate::database::{Clients as _, Counted};

    #[test]
    fn the_questions_for_the_counts_are_none_of_the_programs() {
        let change = [(CONNECTIONS, 3), (COMMITTED, 10), (ROLLED_BACK, 1), (ASKED, 2)];
        let change = change.map(|(name, count)| (name.to_owned(), count)).into();
        let seen = PostgreSql::counted(&BTreeMap::new(), &change);
        let found = (seen.connections, seen.handshakes, seen.queries);
        assert_eq!(found, (Some(3), None, 9));
    }

    #[test]
    fn a_server_that_does_not_count_sessions_says_nothing_of_connections() {
        let found = PostgreSql::counted(&BTreeMap::new(), &BTreeMap::new());
        assert_eq!(found, Counted::default());
    }
}
