//! Removing the data set, whoever holds it.

use std::thread;
use std::time::{Duration, Instant};

use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::TextRow;
use ciphertax_workload::dataset::{DatasetError, SCHEMA};

use super::clients::{APPLICATION, PostgreSql};
use crate::database::Control;
use crate::error::Result;
use crate::timeout::TIMEOUT;

/// How long a statement waits for a lock that somebody else holds. Whoever waits to remove a table keeps all others from
/// it too.
pub(super) const LOCK_TIMEOUT: &str = "SET lock_timeout = '5s'";
/// The error of a statement that has waited so long (lock_not_available).
const LOCKED: &str = "55P03";

/// How often sessions that were ended are looked for.
const LOOK: Duration = Duration::from_millis(20);

impl Control<PostgreSql> {
    /// Ends sessions that a run left which is gone: a server does not notice that nobody waits for a statement before
    /// its end. Only for who has claimed the server and knows the schema for ciphertax's own: no other run has sessions
    /// there then that work.
    pub(super) fn end_leftovers(&mut self) -> Result<()> {
        let end = end_own();
        let deadline = Instant::now() + TIMEOUT;
        // Each look ends those that are still there, which does no harm to one that ends already.
        while !self.allowed(&end)?.is_empty() && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Ends all other sessions of ciphertax and of this user that have locks, and names them.
pub(super) fn end_own() -> String {
    format!(
        "SELECT pid, pg_catalog.pg_terminate_backend(pid) FROM (SELECT DISTINCT l.pid {} \
         AND a.usename = SESSION_USER AND a.application_name = '{APPLICATION}') AS own",
        from_locks()
    )
}

/// The others: the process, the table, the client's name, the user and what the session does, who has none of them said
/// as nothing.
pub(super) fn holders() -> String {
    format!(
        "SELECT l.pid, c.relname, a.application_name, COALESCE(a.usename, ''), COALESCE(a.state, a.backend_type, '') \
         {} AND l.granted ORDER BY a.xact_start NULLS LAST, l.pid, c.relname LIMIT 1",
        from_locks()
    )
}

/// Who has locks on tables of the schema, or waits for one.
fn from_locks() -> String {
    format!(
        "FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid \
         JOIN pg_catalog.pg_class c ON c.oid = l.relation JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{SCHEMA}' AND a.datname = pg_catalog.current_database() AND l.pid <> pg_catalog.pg_backend_pid()"
    )
}

pub(super) fn in_words(holder: &TextRow) -> String {
    let column = |index: usize| holder.text(index);
    let said = [("", column(2)), ("user ", column(3)), ("", column(4))];
    let said = said.into_iter().filter(|(_, value)| !value.is_empty());
    let said: Vec<String> = said.map(|(name, value)| format!("{name}{value}")).collect();
    let (pid, table) = (column(0), column(1));
    format!(
        "the server's process {pid} ({}) keeps the table {table} locked; wait for the end of its transaction, or end the \
         session: SELECT pg_terminate_backend({pid})",
        said.join(", ")
    )
}

pub(super) fn is_locked<T>(outcome: &Result<T, DatasetError>) -> bool {
    matches!(outcome, Err(DatasetError::Wire(WireError::PostgreSql { sql_state, .. })) if sql_state == LOCKED)
}
