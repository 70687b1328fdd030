//! MySQL's sessions: that they are what their arm says, and how workloads use them.

use std::rc::Rc;

use ciphertax_columns::encdb::Derivation;
use ciphertax_engine::{Engine, EngineError, Failure};
use ciphertax_model::workload::Vocabulary;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{self, ConnectOptions, Expectation, Session};
use ciphertax_wire::{Client as _, Session as _, WireError};

use super::key_exchange::KeyExchange;
use crate::driver::{Access, Job, failure};
use crate::sql::dialect::{TRUNCATE, standard_tables};
use crate::sql::session::Statements;
use crate::sql::{self, BytesInLines, Columns, Dialect, Loading, Placeholders, SqlSession, Transactions};

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

    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            database: schema.map(str::to_owned),
            ..options.clone()
        }
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

/// How an arm reaches its server, and what every session must then be.
#[derive(Clone)]
pub struct MysqlAccess {
    /// How to connect.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
    /// Connections that may be opened at a time: where the arm resumes sessions, as many are kept ready.
    pub connections: usize,
    /// The statement after which the server remembers no password, where every login must find it so.
    pub forget_passwords: Option<&'static str>,
    /// How the server encrypts the fields of YCSB's table; `None` for plain ones.
    pub columns: Option<Columns>,
    /// What every session gives a server that encrypts cells of its results itself; `None` for other servers.
    pub key_exchange: Option<KeyExchange>,
}

impl Access for MysqlAccess {
    type Session = Session;

    const NAME: &'static str = "MySQL";

    const VOCABULARIES: &'static [Vocabulary] = &sql::VOCABULARIES;

    fn options(&self) -> &ConnectOptions {
        &self.options
    }

    fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    async fn open(&self, reactor: &Rc<Reactor>, _slot: u32) -> Result<Session, Failure> {
        Session::warm_up(reactor, &self.options, self.connections)
            .await
            .map_err(failure)?;
        let connect = Session::connect_as(reactor, &self.options, &self.expectation);
        let mut session = connect.await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        let word = self
            .expectation
            .check_status(&mut session)
            .await
            .map_err(failure)?;
        word.map_err(Failure::FactsDiffer)?;
        if let Some(exchange) = &self.key_exchange {
            exchange.begin(&mut session).await?;
        }
        Ok(session)
    }

    fn derivation(&self) -> Derivation {
        let exchange = self.key_exchange.as_ref();
        exchange.map_or_else(Derivation::default, |exchange| exchange.suite.derivation())
    }

    /// Has the server forget all passwords, where the arm's logins must find it so. The session for it takes no cold
    /// account, since there may be none left.
    async fn before_connects(&self, reactor: &Rc<Reactor>) -> Result<(), Failure> {
        let Some(statement) = self.forget_passwords else {
            return Ok(());
        };
        let options = ConnectOptions {
            cold_accounts: None,
            ..self.options.clone()
        };
        let (mut session, _) = Session::connect(reactor, &options).await.map_err(failure)?;
        session.command(statement).await.map_err(failure)?;
        session.close().await.map_err(failure)?;
        if let Some(accounts) = &self.options.cold_accounts {
            accounts.forgotten();
        }
        Ok(())
    }

    fn start(job: &Job<'_>, arms: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        let connections = job.cell.load.connections as usize;
        let arms = arms.into_iter().map(|access| Self {
            connections,
            ..access
        });
        sql::start(job, &arms.collect::<Vec<_>>(), |access| access.columns)
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
        let begun = [1213, 8002, 8005, 8022, 9007, 1064].map(is_begun_anew);
        assert_eq!(begun, [true, true, true, true, true, false]);
    }
}
