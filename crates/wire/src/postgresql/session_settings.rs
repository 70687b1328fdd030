//! Settings of PostgreSQL that statements of ciphertax depend on.

use super::session::Session;
use crate::error::Result;
use crate::session_settings::{Overridden, Setting, in_sql, to_override, unlimited};
use crate::sql::SqlSession as _;

const SETTINGS: [Setting; 8] = [
    ("statement_timeout", unlimited_time),
    ("lock_timeout", unlimited_time),
    ("idle_session_timeout", unlimited_time),
    ("idle_in_transaction_session_timeout", unlimited_time),
    ("transaction_timeout", unlimited_time),
    ("standard_conforming_strings", |was| {
        (was == "off").then(|| "on".to_owned())
    }),
    ("bytea_output", |was| (was == "escape").then(|| "hex".to_owned())),
    ("datestyle", |was| {
        (!was.is_empty() && !was.starts_with("ISO")).then(|| "ISO, MDY".to_owned())
    }),
];

/// Sets for this session what it must not take over.
pub(super) async fn override_settings(session: &mut Session) -> Result<Vec<Overridden>> {
    let read: String = SETTINGS
        .iter()
        .map(|(name, _)| format!(", pg_catalog.current_setting('{name}', true)"))
        .collect();
    // A compatible server may have no such functions.
    let rows = session
        .query_or_none(&format!("SELECT pg_catalog.pg_backend_pid(){read}"))
        .await?;
    let Some(row) = rows.first() else {
        return Ok(Vec::new());
    };
    // What is set behind a pooler is set for whoever gets that connection next.
    if session.id() != 0 && row.text(0) != session.id().to_string() {
        return Ok(Vec::new());
    }
    let differing = to_override(&SETTINGS, |place| row.text(place + 1));
    if !differing.is_empty() {
        let settings = in_sql(&differing, |name, value| {
            format!("pg_catalog.set_config('{name}', '{value}', false)")
        });
        session.command(&format!("SELECT {settings}")).await?;
    }
    Ok(differing.into_iter().map(|(one, _)| one).collect())
}

/// As it is shown: a number with a unit.
fn unlimited_time(was: &str) -> Option<String> {
    unlimited(was.trim_end_matches(|unit: char| unit.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_settings_are_taken_over_and_others_are_not() {
        let found = |values: [&str; 8]| to_override(&SETTINGS, |place| values[place].to_owned()).len();
        assert_eq!(found(["0", "0", "0", "0", "0", "on", "hex", "ISO, DMY"]), 0);
        assert_eq!(found([""; 8]), 0);
        let seen = found(["300ms", "1s", "5s", "2min", "1h", "off", "escape", "German, DMY"]);
        assert_eq!(seen, 8);
    }
}
