//! What a load that was given up leaves on a PostgreSQL server.

use ciphertax_wire::postgresql::Session;

use crate::dataset::DatasetError;
use crate::sql::session::Statements;

/// Ends sessions that load, so that nobody waits for their last statement: the server does not notice that nobody waits
/// for it. Of these numbers only those are ended that are the account's own, in this database, by the name of this session:
/// a number may be a session of somebody else's by now.
///
/// # Errors
/// When the server refuses.
pub async fn end_sessions(session: &mut Session, numbers: &[u32]) -> Result<(), DatasetError> {
    if numbers.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let end = format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
         WHERE usename = current_user AND datname = pg_catalog.current_database() \
         AND application_name = pg_catalog.current_setting('application_name') AND pid IN ({})",
        numbers.join(", ")
    );
    session.command(&end).await?;
    Ok(())
}
