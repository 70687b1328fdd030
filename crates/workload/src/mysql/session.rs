//! MySQL's sessions as SQL workloads use them.

use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{self, ConnectOptions};

use crate::sql::dialect::{TRUNCATE, standard_tables};
use crate::sql::{BytesInLines, DataSession, Dialect, Loading, Placeholders, SqlSession, Transactions};

/// How MySQL and the servers compatible with it spell things.
pub(crate) const DIALECT: Dialect = Dialect {
    placeholders: Placeholders::QuestionMarks,
    quote: '`',
    identity: "INTEGER NOT NULL AUTO_INCREMENT",
    next_identity: Some("0"),
    last_identity: "LAST_INSERT_ID()",
    continue_identity: None,
    storage: " /*! ENGINE = innodb */",
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

/// Errors after which sysbench begins a transaction anew (`--mysql-ignore-errors`): ER_CHECKREAD,
/// ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK; and by which TiDB says that a transaction's writes met another's, whose numbers no
/// other server has: 8002, 8005, 8022, 9007 (<https://docs.pingcap.com/tidb/stable/error-codes>).
const BEGIN_ANEW: [u16; 7] = [1020, 1205, 1213, 8002, 8005, 8022, 9007];
const ER_UNSUPPORTED_PS: u16 = 1295;
const ER_DUP_ENTRY: u16 = 1062;

impl SqlSession for mysql::Session {
    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        matches!(error, WireError::Server { code, .. } if BEGIN_ANEW.contains(code))
    }

    fn is_not_preparable(error: &WireError) -> bool {
        matches!(
            error,
            WireError::Server {
                code: ER_UNSUPPORTED_PS,
                ..
            }
        )
    }
}

impl DataSession for mysql::Session {
    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            database: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn id(&self) -> u32 {
        self.id()
    }

    fn is_duplicate(error: &WireError) -> bool {
        matches!(
            error,
            WireError::Server {
                code: ER_DUP_ENTRY,
                ..
            }
        )
    }

    fn that_loads(options: &ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            local_infile: true,
            ..options.clone()
        }
    }

    async fn load_lines(&mut self, table_and_columns: &str, lines: &[u8]) -> Result<u64, WireError> {
        mysql::Session::load_lines(self, table_and_columns, [lines]).await
    }

    fn takes_no_lines(error: &WireError) -> bool {
        mysql::is_local_data_refused(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_met_anothers_writes_begins_anew_also_on_tidb() {
        let is_begun_anew = |code| {
            mysql::Session::is_to_be_restarted(&WireError::Server {
                code,
                sql_state: "HY000".into(),
                message: String::new(),
            })
        };
        // ER_LOCK_DEADLOCK, TiDB's write conflicts, and ER_PARSE_ERROR.
        assert_eq!(
            [1213, 8002, 8005, 8022, 9007, 1064].map(is_begun_anew),
            [true, true, true, true, true, false]
        );
    }
}
