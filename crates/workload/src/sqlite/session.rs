//! SQLite's sessions as SQL workloads use them. Nothing is waited for but SQLite itself.

use ciphertax_wire::WireError;
use ciphertax_wire::sqlite::{self, ConnectOptions};

use super::dialect::DIALECT;
use crate::sql::{Dialect, SqlSession};

impl SqlSession for sqlite::Session {
    const DIALECT: Dialect = DIALECT;

    fn is_to_be_restarted(error: &WireError) -> bool {
        sqlite::is_overtaken(error)
    }

    /// A file has one schema.
    fn within(options: &ConnectOptions, _schema: Option<&str>) -> ConnectOptions {
        options.clone()
    }

    fn is_duplicate(error: &WireError) -> bool {
        sqlite::is_duplicate(error)
    }

    /// There is no such statement.
    async fn load_lines(&mut self, _table_and_columns: &str, _lines: &[u8]) -> Result<u64, WireError> {
        Err(WireError::Request("SQLite loads no lines".into()))
    }

    fn takes_no_lines(error: &WireError) -> bool {
        matches!(error, WireError::Request(_))
    }
}
