//! PostgreSQL's sessions as SQL workloads use them.

use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::{self, ConnectOptions};

use super::dialect::DIALECT;
use crate::sql::{DataSession, Dialect, Query, SqlSession};

const UNIQUE_VIOLATION: &str = "23505";
/// States after which sysbench begins a transaction anew (`drv_pgsql.c`): serialization_failure, deadlock_detected, and
/// unique_violation, which a transaction meets that puts back a row another has just put back.
const BEGIN_ANEW: [&str; 3] = ["40001", "40P01", UNIQUE_VIOLATION];

impl SqlSession for postgresql::Session {
    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        is_one_of(error, &BEGIN_ANEW)
    }
}

impl DataSession for postgresql::Session {
    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            schema: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn id(&self) -> u32 {
        self.id()
    }

    fn is_duplicate(error: &WireError) -> bool {
        is_one_of(error, &[UNIQUE_VIOLATION])
    }

    /// The statement ends with its line.
    async fn load(&mut self, rows: &mut Query) -> Result<u64, WireError> {
        let text = rows.text();
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let (statement, lines) = text.split_at(end);
        let statement = String::from_utf8_lossy(statement);
        copy(self, &statement, lines.get(1..).unwrap_or_default()).await
    }

    async fn load_lines(&mut self, table_and_columns: &str, lines: &[u8]) -> Result<u64, WireError> {
        copy(self, &format!("COPY {table_and_columns} FROM STDIN"), lines).await
    }
}

async fn copy(session: &mut postgresql::Session, statement: &str, lines: &[u8]) -> Result<u64, WireError> {
    let mut copy = session.copy_in(statement).await?;
    copy.write(lines).await?;
    copy.finish().await
}

fn is_one_of(error: &WireError, states: &[&str]) -> bool {
    matches!(error, WireError::PostgreSql { sql_state, .. } if states.contains(&&**sql_state))
}
