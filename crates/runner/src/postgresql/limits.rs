//! How many connections a server of the user's own takes.

use super::clients::PostgreSql;
use crate::connections::Limit;
use crate::database::Control;

/// Of the whole server, of the user and of the database: how many connections there may be (-1 for any number, as
/// superusers may have of the last two) and how many there are. The sessions of other users can be counted by whoever
/// may not look at them.
const LIMITS: &str = "\
    SELECT pg_catalog.current_setting('max_connections')::int - CASE WHEN r.rolsuper THEN 0 ELSE \
        pg_catalog.current_setting('superuser_reserved_connections')::int + \
        COALESCE(pg_catalog.current_setting('reserved_connections', true)::int, 0) END, \
        (SELECT SUM(numbackends) FROM pg_catalog.pg_stat_database), \
        CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END, \
        (SELECT COUNT(*) FROM pg_catalog.pg_stat_activity a WHERE a.usesysid = r.oid), \
        CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END, \
        (SELECT numbackends FROM pg_catalog.pg_stat_database s WHERE s.datid = d.oid) \
    FROM pg_catalog.pg_roles r, pg_catalog.pg_database d \
    WHERE r.rolname = SESSION_USER AND d.datname = pg_catalog.current_database()";

/// What each of them is called.
const NAMES: [&str; 3] = [
    "max_connections",
    "the user's CONNECTION LIMIT",
    "the database's CONNECTION LIMIT",
];

impl Control<PostgreSql> {
    /// The limits on connections. A compatible server that does not know the question has no such limit.
    pub(super) fn limits(&mut self) -> Vec<Limit> {
        let rows = self.rows(LIMITS).unwrap_or_default();
        let Some(row) = rows.first() else {
            return Vec::new();
        };
        let limit = |(index, name): (usize, &'static str)| {
            Some(Limit {
                name,
                // A number below zero is no limit.
                most: row.text(2 * index).parse().ok()?,
                open: row.text(2 * index + 1).parse().ok()?,
            })
        };
        NAMES.into_iter().enumerate().filter_map(limit).collect()
    }
}
