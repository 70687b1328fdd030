//! What a load that was given up leaves on a PostgreSQL server, and whether a data set can be made and removed there.

use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::Session;

use super::dialect::DIALECT;
use crate::dataset::{DatasetError, SCHEMA};
use crate::sql::session::SqlSession;

/// Makes sure that this account may make the data set, and so remove it again; writes nothing.
///
/// # Errors
/// When it may not.
pub async fn refuse_without_rights(session: &mut Session) -> Result<(), DatasetError> {
    let schema = session.query(&(DIALECT.schema)(SCHEMA)).await?;
    let question = match schema.is_empty() {
        true => {
            "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')".to_owned()
        }
        false => format!("SELECT pg_catalog.has_schema_privilege('{SCHEMA}', 'CREATE')"),
    };
    let rows = session.query(&question).await?;
    if rows.first().is_some_and(|row| row.text(0) == "t") {
        return Ok(());
    }
    Err(DatasetError::Wire(WireError::PostgreSql {
        severity: "ERROR".into(),
        sql_state: INSUFFICIENT_PRIVILEGE.into(),
        message: format!("permission denied for schema {SCHEMA}"),
    }))
}

const INSUFFICIENT_PRIVILEGE: &str = "42501";

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
