//! How MySQL and the servers compatible with it spell things.

use crate::sql::dialect::{TRUNCATE, standard_tables};
use crate::sql::{BytesInLines, Dialect, Loading, Placeholders, Transactions};

pub(super) const DIALECT: Dialect = Dialect {
    placeholders: Placeholders::QuestionMarks,
    quote: '`',
    identity: "INTEGER NOT NULL AUTO_INCREMENT",
    next_identity: Some("0"),
    last_identity: "LAST_INSERT_ID()",
    continue_identity: None,
    // Servers before these have rows that are too long in this character set.
    storage: " /*! ENGINE = innodb */ /*!50702 CHARACTER SET = utf8mb4 ROW_FORMAT = DYNAMIC */ \
              /*M!100202 CHARACTER SET = utf8mb4 ROW_FORMAT = DYNAMIC */",
    bytes: "MEDIUMBLOB",
    around_bytes: ["X'", "'"],
    bytes_in_lines: BytesInLines::Escaped,
    text,
    bytewise: "",
    bytewise_ascii: " CHARACTER SET ascii COLLATE ascii_bin",
    short_bytes: |length| format!("VARBINARY({length})"),
    date: "DATETIME",
    loading: Loading::Replace,
    vacuum: None,
    analyze: "ANALYZE TABLE ",
    derive_once: Some("SET SESSION optimizer_switch = 'split_materialized=off'"),
    begin_to_write: "BEGIN",
    end: "COMMIT",
    empty: TRUNCATE,
    wanted_key: Some([
        "SHOW VARIABLES WHERE Variable_name IN ('sql_require_primary_key', 'sql_generate_invisible_primary_key') AND Value = 'ON' \
         OR Variable_name = 'wsrep_mode' AND Value LIKE '%REQUIRED_PRIMARY_KEY%' \
         OR Variable_name = 'group_replication_group_name' AND Value <> ''",
        // Servers before MySQL 8.0.23 have no invisible columns.
        "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
    ]),
    primary_key: |_| "PRIMARY".to_owned(),
    index_columns,
    tables: standard_tables,
    schema: |schema| format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = '{schema}'"),
    other_objects,
    must_stay: None,
    with_contents: "",
    for_update: " FOR UPDATE",
    before_rows: "",
    backslash: r"\\",
    transactions: Transactions::Implicit,
};

/// The longest value of a column of the type TEXT.
const LONGEST_TEXT: usize = 65_535;

fn text(length: usize) -> &'static str {
    match length {
        ..=LONGEST_TEXT => "TEXT",
        _ => "MEDIUMTEXT",
    }
}

/// Routines and events.
fn other_objects(schema: &str) -> Vec<String> {
    [("routines", "routine_schema"), ("events", "event_schema")]
        .map(|(of, column)| format!("SELECT 1 FROM information_schema.{of} WHERE {column} = '{schema}'"))
        .to_vec()
}

fn index_columns(schema: &str, table: &str, index: &str) -> String {
    format!(
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = '{schema}' \
         AND table_name = '{table}' AND index_name = '{index}' ORDER BY seq_in_index"
    )
}
