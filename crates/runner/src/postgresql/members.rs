//! What a server is among those that form one database with it, by its own words.

use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::Session;

use crate::database::Standing;

/// Asks a server what it is. The identifier of its data, which primary and standbys share, not every account may read.
pub(super) async fn standing(session: &mut Session) -> Result<Standing, WireError> {
    let rows = session
        .query(
            "SELECT pg_catalog.pg_is_in_recovery()::text, pg_catalog.current_setting('transaction_read_only')",
        )
        .await?;
    let first = rows.first();
    let is = |column, word| first.is_some_and(|row| row.text(column) == word);
    let is_standby = is(0, "true");
    let is_read_only = is(1, "on");
    let identifier = session
        .query("SELECT system_identifier FROM pg_catalog.pg_control_system()")
        .await
        .ok()
        .and_then(|rows| rows.first().map(|row| row.text(0).to_owned()));
    let role = match (is_standby, is_read_only) {
        (true, _) => "standby",
        (false, true) => "read-only",
        (false, false) => "primary",
    };
    Ok(Standing {
        role: role.to_owned(),
        takes_writes: !is_standby && !is_read_only,
        group: identifier,
    })
}
