//! Statements that make the data set, and questions about it.

use ciphertax_wire::WireError;

use super::error::DatasetError;
use crate::sql::session::{SqlSession, TextRow};

/// Runs a statement whose rows nobody needs.
pub(crate) async fn run(session: &mut impl SqlSession, sql: &str) -> Result<(), WireError> {
    session.command(sql).await.map(drop)
}

/// Clears a table of old versions of its rows and has it counted for the planner, where the server leaves that for later.
pub(crate) async fn vacuum<S: SqlSession>(session: &mut S, table: &str) -> Result<(), WireError> {
    match S::DIALECT.vacuum {
        Some(vacuum) => run(session, &format!("{vacuum}{table}")).await,
        None => Ok(()),
    }
}

/// Makes sure that a question about a table has this answer.
pub(super) fn expect(table: &str, rows: &[TextRow], expected: &[&str]) -> Result<(), DatasetError> {
    let found: Vec<String> = rows
        .iter()
        .flat_map(|row| (0..expected.len()).map(|column| row.text(column)))
        .collect();
    if found == expected {
        return Ok(());
    }
    Err(DatasetError::Wrong(format!(
        "{table} says {found:?}, expected {expected:?}"
    )))
}
