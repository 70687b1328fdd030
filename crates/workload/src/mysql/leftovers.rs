//! What a load that was given up leaves on a MySQL server, and whether it can be removed.

use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;

use crate::dataset::{DatasetError, SCHEMA};
use crate::sql::session::Statements;

/// Makes sure that this account may remove the data set, by removing a table of it that never was; writes nothing.
///
/// # Errors
/// When it may not.
pub async fn refuse_without_drop(session: &mut Session) -> Result<(), DatasetError> {
    let drop = format!("DROP TABLE IF EXISTS {SCHEMA}.never_made_by_ciphertax");
    match session.command(&drop).await {
        Err(error) if error.is_access_denied() => Err(error.into()),
        // Servers differ in what they say of a table in a schema that is not there.
        Ok(_) | Err(WireError::Server { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends sessions that load, so that nobody waits for their last statement: the server does not notice that nobody waits
/// for it. Of these numbers only those are ended that are at work in the schema.
///
/// # Errors
/// When the server refuses.
pub async fn end_sessions(session: &mut Session, numbers: &[u32]) -> Result<(), DatasetError> {
    if numbers.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let at_work = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{SCHEMA}' AND id IN ({})",
        numbers.join(", ")
    );
    for row in session.query(&at_work).await? {
        match session.command(&format!("KILL {}", row.text(0))).await {
            // It has ended meanwhile.
            Ok(_) | Err(WireError::Server { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
