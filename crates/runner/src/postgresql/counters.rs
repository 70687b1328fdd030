//! What a server counts.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_records::counter;
use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::Session;

use super::clients::{APPLICATION, PostgreSql};
use super::readings::Readings;
use crate::counters::UPTIME;
use crate::database::Control;
use crate::error::RunError;
use crate::patience::PATIENCE;

/// Transactions of ciphertax's own that are among those counted.
pub(super) const ASKED: &str = "pg_stat_database.asked_by_ciphertax";
/// Transactions that were committed.
pub(super) const COMMITTED: &str = "pg_stat_database.xact_commit";
/// Transactions that were rolled back.
pub(super) const ROLLED_BACK: &str = "pg_stat_database.xact_rollback";

/// Counters of a slice, of all databases, in the order of their columns.
const NAMES: [&str; 11] = [
    COMMITTED,
    ROLLED_BACK,
    counter::PAGES_READ,
    counter::PAGES_REQUESTED,
    "pg_stat_database.tup_returned",
    "pg_stat_database.tup_fetched",
    "pg_stat_database.tup_inserted",
    "pg_stat_database.tup_updated",
    "pg_stat_database.tup_deleted",
    UPTIME,
    counter::CONNECTIONS,
];

/// The same, as they are asked. A session tells its counts when it ends, or a second after it told them before; the server is
/// asked to have those of this session told now, so that it is known which of its transactions are among them.
const COUNTERS: &str = "\
    SELECT SUM(xact_commit), SUM(xact_rollback), SUM(blks_read), SUM(blks_read + blks_hit), SUM(tup_returned), \
        SUM(tup_fetched), SUM(tup_inserted), SUM(tup_updated), SUM(tup_deleted), \
        (SELECT EXTRACT(EPOCH FROM pg_catalog.clock_timestamp() - pg_catalog.pg_postmaster_start_time()))::bigint";
/// Sessions are counted since PostgreSQL 14, and counts can be told at once since 15.
const WITH_SESSIONS: &str = ", SUM(sessions)";
const COUNTS_SESSIONS: u32 = 14;
const TOLD_NOW: &str = ", MAX(pg_catalog.pg_stat_force_next_flush()::text)";
const TELLS_AT_ONCE: u32 = 15;
const FROM: &str = " FROM pg_catalog.pg_stat_database";

/// How long sessions that a program has closed are given to end, and how often they are looked for.
const ENDING: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(2);

/// The error of a server that is starting or recovers from the crash of one of its processes (cannot_connect_now).
const NOT_YET: &str = "57P03";

impl Control<PostgreSql> {
    /// The server's counters now; those it does not know are left out. A session that the server has ended is replaced by
    /// another.
    pub(super) fn counters(&mut self, readings: &Readings) -> Result<BTreeMap<String, i64>, RunError> {
        match self.try_counters(readings) {
            Ok(counters) => Ok(counters),
            Err(RunError::Stopped) => Err(RunError::Stopped),
            Err(_) => {
                self.wait_until_it_takes_connections()?;
                self.reconnect()?;
                self.claim_again()?;
                self.try_counters(readings)
            }
        }
    }

    fn try_counters(&mut self, readings: &Readings) -> Result<BTreeMap<String, i64>, RunError> {
        let version = self.ask(async |session| Ok(session.major_version().unwrap_or(0)))?;
        self.wait_for_ending_sessions(readings)?;
        let has_sessions = version >= COUNTS_SESSIONS;
        let sql = [
            COUNTERS,
            if has_sessions { WITH_SESSIONS } else { "" },
            if version >= TELLS_AT_ONCE { TOLD_NOW } else { "" },
            FROM,
        ];
        let rows = self.allowed(&sql.concat())?;
        let before = readings.asked.replace(readings.asked.get() + 1);
        let Some(row) = rows.first() else {
            return Ok(BTreeMap::new());
        };
        let known = NAMES.into_iter().take(NAMES.len() - usize::from(!has_sessions));
        let counter = |(index, name): (usize, &str)| Some((name.to_owned(), row.text(index).parse().ok()?));
        let counters = known.enumerate().filter_map(counter);
        Ok(counters.chain([(ASKED.to_owned(), before)]).collect())
    }

    /// A session that was closed is counted when its process ends, soon after. Those that were there at the last reading are
    /// not waited for.
    fn wait_for_ending_sessions(&mut self, readings: &Readings) -> Result<(), RunError> {
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
    fn wait_until_it_takes_connections(&self) -> Result<(), RunError> {
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
        self.wait_for(PATIENCE, connects)
    }
}
