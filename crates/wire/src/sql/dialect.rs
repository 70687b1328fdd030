//! How databases spell what SQL's standard, or their obedience to it, leaves open.

/// How a database spells what is not the same everywhere.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// What stands for the parameters of a prepared statement.
    pub placeholders: Placeholders,
    /// What stands around a name.
    pub quote: char,
    /// The type of an integer column whose values the server counts up.
    pub identity: &'static str,
    /// What an insert says to have the next of these values; `None` if it leaves the column out.
    pub next_identity: Option<&'static str>,
    /// The value that the session was given last.
    pub last_identity: &'static str,
    /// Has the server count on from the value of this column `id` of this table; `None` where it does by itself, whoever
    /// chose the values so far.
    pub continue_identity: Option<fn(&str, u32) -> String>,
    /// What follows the columns of a new table.
    pub storage: &'static str,
    /// The type of a column for 64 KiB of bytes.
    pub bytes: &'static str,
    /// What stands around the hexadecimal digits of a value of that type.
    pub around_bytes: [&'static str; 2],
    /// How a value of that type stands in lines that are loaded.
    pub bytes_in_lines: BytesInLines,
    /// The type of a text of so many characters.
    pub text: fn(usize) -> &'static str,
    /// What follows the type of a text that is compared byte by byte, where that is not so anyway.
    pub bytewise: &'static str,
    /// What follows the type of a text of ASCII alone that is compared byte by byte, the case of its letters too.
    pub bytewise_ascii: &'static str,
    /// The type of at most so many bytes, which can be part of a key.
    pub short_bytes: fn(usize) -> String,
    /// The type of a date with its time, to the second.
    pub date: &'static str,
    /// How many rows are loaded at a time.
    pub loading: Loading,
    /// What stands before the name of a table that is cleared of old versions of its rows and counted for the planner;
    /// `None` where the server does both by itself in time.
    pub vacuum: Option<&'static str>,
    /// What stands before the name of a table that is counted for the planner now.
    pub analyze: &'static str,
    /// Has a session work out each table that a query derives once, and not for each row that it is joined with; `None` where the
    /// server always does, and refused by servers of the family that always do.
    pub derive_once: Option<&'static str>,
    /// Begins a transaction that will write.
    pub begin_to_write: &'static str,
    /// Ends a transaction, as pgbench says it wherever that is understood.
    pub end: &'static str,
    /// What stands before the name of a table that all rows are removed from.
    pub empty: &'static str,
    /// Asks for settings by which the server wants every table to have a primary key, and the column that is one in a table that would
    /// have none; `None` where no server wants that.
    pub wanted_key: Option<[&'static str; 2]>,
    /// The name of a table's primary key among its indexes.
    pub primary_key: fn(&str) -> String,
    /// Asks for the columns of an index, by schema, table and index.
    pub index_columns: fn(&str, &str, &str) -> String,
    /// Asks for the names of a schema's tables that begin so.
    pub tables: fn(&str, &str) -> String,
    /// Asks whether there is a schema of this name, whoever may use it.
    pub schema: fn(&str) -> String,
    /// Ask whether a schema of this name, without tables, has something else in it.
    pub other_objects: fn(&str) -> Vec<String>,
    /// Asks whether a schema of this name must stay, because the account could not make it again; `None` where whoever
    /// may drop one may make it.
    pub must_stay: Option<fn(&str) -> String>,
    /// What follows the name of a schema that is dropped with what is in it.
    pub with_contents: &'static str,
    /// What ends a select whose rows the transaction will write; nothing where it has the whole database for itself.
    pub for_update: &'static str,
    /// What stands between a list's `IN (` and rows of several columns.
    pub before_rows: &'static str,
    /// What a backslash in a text literal is written as.
    pub backslash: &'static str,
    /// How transactions begin, and how they are told of their isolation.
    pub transactions: Transactions,
}

/// How transactions begin, and how they are told of their isolation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transactions {
    /// With the first statement after the end of the one before, once the session was told so. Isolation is a setting of the
    /// session, or of its next transaction.
    Implicit,
    /// With a `BEGIN` that may name the isolation.
    Begun,
    /// With a `BEGIN`; all are serializable.
    Serializable,
}

/// Removes all rows of a table at once, which every server can.
pub(crate) const TRUNCATE: &str = "TRUNCATE TABLE ";

/// Asks for a schema's tables that begin so, by the standard's view of them.
pub(crate) fn standard_tables(schema: &str, beginning: &str) -> String {
    format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name LIKE '{beginning}%'"
    )
}

/// What stands for the parameters of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholders {
    /// `?`
    QuestionMarks,
    /// `$1`, `$2`, …
    Numbered,
}

/// How many rows are written at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loading {
    /// `INSERT INTO … VALUES (…),(…)`: rows of the same key are an error.
    Insert,
    /// MySQL's `REPLACE INTO … VALUES (…),(…)`, which takes the place of rows of the same key.
    Replace,
    /// PostgreSQL's `COPY … FROM STDIN` in text format, with numbers and plain text in it: rows of the same key are an
    /// error.
    Copy,
}

/// How bytes stand in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesInLines {
    /// As they are, but for special ones.
    Escaped,
    /// As hexadecimal digits after `\\x`.
    Hexadecimal,
}

impl Dialect {
    /// A statement with a `?` for each parameter, and none besides, as the database wants it.
    pub fn prepared(&self, sql: &str) -> String {
        match self.placeholders {
            Placeholders::QuestionMarks => sql.to_owned(),
            Placeholders::Numbered => {
                let mut pieces = sql.split('?');
                let first = pieces.next().unwrap_or_default().to_owned();
                (1..)
                    .zip(pieces)
                    .fold(first, |sql, (number, piece)| format!("{sql}${number}{piece}"))
            }
        }
    }

    /// A name that the database takes as it is.
    pub fn quoted(&self, name: &str) -> String {
        let quote = self.quote;
        let doubled = name.replace(quote, &format!("{quote}{quote}"));
        format!("{quote}{doubled}{quote}")
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::{Dialect, SqlSession};
    use crate::{mysql, postgresql};

    const MYSQL: Dialect = mysql::Session::DIALECT;
    const POSTGRESQL: Dialect = postgresql::Session::DIALECT;

    #[test]
    fn parameters_are_numbered_where_the_database_wants_them_so() {
        let sql = "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?";
        assert_eq!(MYSQL.prepared(sql), sql);
        let expected = "SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2";
        assert_eq!(POSTGRESQL.prepared(sql), expected);
        assert_eq!(POSTGRESQL.prepared("BEGIN"), "BEGIN");
    }

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(MYSQL.quoted("a`b\"c"), "`a``b\"c`");
        assert_eq!(POSTGRESQL.quoted("a`b\"c"), "\"a`b\"\"c\"");
    }
}
