//! How SQLite spells things.

use crate::sql::{BytesInLines, Dialect, Loading, Placeholders, Transactions};

pub(super) const DIALECT: Dialect = Dialect {
    placeholders: Placeholders::QuestionMarks,
    quote: '"',
    // That is the number of the row itself.
    identity: "INTEGER",
    next_identity: None,
    last_identity: "last_insert_rowid()",
    continue_identity: None,
    storage: "",
    bytes: "BLOB",
    around_bytes: ["X'", "'"],
    bytes_in_lines: BytesInLines::Escaped,
    text: |_| "TEXT",
    bytewise: "",
    bytewise_ascii: "",
    short_bytes: |_| "BLOB".to_owned(),
    date: "DATETIME",
    loading: Loading::Insert,
    vacuum: None,
    analyze: "ANALYZE ",
    // A transaction that reads first and writes then fails where another has written meanwhile.
    derive_once: None,
    begin_to_write: "BEGIN IMMEDIATE",
    end: "COMMIT",
    empty: "DELETE FROM ",
    wanted_key: None,
    primary_key: |table| format!("sqlite_autoindex_{table}_1"),
    index_columns: |_, _, index| format!("SELECT name FROM pragma_index_info('{index}')"),
    tables: |_, beginning| {
        format!("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '{beginning}%'")
    },
    schema: |schema| format!("SELECT 1 FROM pragma_database_list WHERE name = '{schema}'"),
    other_objects: |_| Vec::new(),
    must_stay: None,
    with_contents: "",
    for_update: "",
    before_rows: "VALUES ",
    backslash: r"\",
    transactions: Transactions::Serializable,
};
