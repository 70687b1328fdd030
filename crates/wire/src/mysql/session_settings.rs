//! Settings of MySQL's family that statements of ciphertax depend on.

use super::session::Session;
use crate::error::Result;
use crate::session_settings::{Overridden, Setting, in_sql, to_override, unlimited};
use crate::sql::SqlSession as _;

/// In the order of [`SETTINGS`]; by comments that only a server executes which has the setting.
const READ: &str = "SELECT @@SESSION.sql_select_limit, @@SESSION.autocommit, @@SESSION.sql_mode, @@SESSION.sql_safe_updates, \
                    @@SESSION.completion_type, @@SESSION.wait_timeout, 0 /*!50708 + @@SESSION.max_execution_time */, \
                    0 /*M!100101 + @@SESSION.max_statement_time */, @@SESSION.sql_big_selects, \
                    CONCAT('' /*M! , @@SESSION.query_cache_type */)";

const SETTINGS: [Setting; 10] = [
    ("sql_select_limit", |was| {
        below(was, u32::MAX.into()).then(|| NO_LIMIT.to_owned())
    }),
    ("autocommit", |was| (was == "0").then(|| "1".to_owned())),
    ("sql_mode", harmless_modes),
    ("sql_safe_updates", unlimited),
    ("completion_type", |was| {
        (!["", "0", "NO_CHAIN"].contains(&was)).then(|| "0".to_owned())
    }),
    ("wait_timeout", |was| {
        below(was, 28_800).then(|| "28800".to_owned())
    }),
    ("max_execution_time", unlimited),
    ("max_statement_time", unlimited),
    // Off where max_join_size is limited.
    ("sql_big_selects", |was| (was == "0").then(|| "1".to_owned())),
    // Else what is measured is how fast answers are found that were given before.
    ("query_cache_type", |was| (was == "ON").then(|| "OFF".to_owned())),
];

const NO_LIMIT: &str = "18446744073709551615";

/// What changes no meaning of a statement of ciphertax; whatever else there is, or will be, is left out.
const HARMLESS_MODES: [&str; 10] = [
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_AUTO_CREATE_USER",
    "NO_ENGINE_SUBSTITUTION",
    "NO_ZERO_DATE",
    "NO_ZERO_IN_DATE",
    "ONLY_FULL_GROUP_BY",
    "ALLOW_INVALID_DATES",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// Sets for this session what it must not take over.
pub(super) async fn override_settings(session: &mut Session) -> Result<Vec<Overridden>> {
    // A layer of sharding would keep a connection for whoever sets anything.
    if session.server_version.contains("Vitess") {
        return Ok(Vec::new());
    }
    let mut rows = session.query(READ).await;
    // A limit of no rows shows none.
    if rows.as_ref().is_ok_and(Vec::is_empty) {
        let unlimited = format!("SET @@SESSION.sql_select_limit = {NO_LIMIT}");
        session.command(&unlimited).await?;
        rows = session.query(READ).await;
    }
    let row = match rows {
        // A compatible server that has not all of them.
        Err(error) if error.leaves_session() => None,
        rows => rows?.into_iter().next(),
    };
    let Some(row) = row else {
        return Ok(Vec::new());
    };
    let differing = to_override(&SETTINGS, |place| row.text(place));
    if !differing.is_empty() {
        let settings = in_sql(&differing, |name, value| format!("@@SESSION.{name} = {value}"));
        session.command(&format!("SET {settings}")).await?;
    }
    Ok(differing.into_iter().map(|(one, _)| one).collect())
}

fn below(was: &str, least: u64) -> bool {
    was.parse().is_ok_and(|value: u64| value < least)
}

fn harmless_modes(was: &str) -> Option<String> {
    let (kept, others): (Vec<&str>, Vec<&str>) =
        was.split(',').partition(|mode| HARMLESS_MODES.contains(mode));
    let is_set = others.iter().any(|mode| !mode.is_empty());
    is_set.then(|| format!("'{}'", kept.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_settings_are_taken_over_and_others_are_not() {
        let found = |values: [&str; 10]| {
            let found = to_override(&SETTINGS, |place| values[place].to_owned());
            let in_words = found.iter().map(|(one, value)| format!("{} {value}", one.name));
            in_words.collect::<Vec<_>>().join("; ")
        };
        let usual = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION";
        assert_eq!(
            found([
                NO_LIMIT, "1", usual, "0", "NO_CHAIN", "28800", "0", "0.000000", "1", "DEMAND"
            ]),
            ""
        );
        assert_eq!(found([""; 10]), "");
        assert_eq!(
            found([
                "1",
                "0",
                "PIPES_AS_CONCAT,STRICT_ALL_TABLES,ORACLE",
                "1",
                "CHAIN",
                "2",
                "100",
                "1.000000",
                "0",
                "ON"
            ]),
            format!(
                "sql_select_limit {NO_LIMIT}; autocommit 1; sql_mode 'STRICT_ALL_TABLES'; sql_safe_updates 0; completion_type 0; \
                 wait_timeout 28800; max_execution_time 0; max_statement_time 0; sql_big_selects 1; query_cache_type OFF"
            )
        );
        assert_eq!(harmless_modes("NO_BACKSLASH_ESCAPES"), Some("''".to_owned()));
    }
}
