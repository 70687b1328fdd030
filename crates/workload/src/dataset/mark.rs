//! Whose schema it is and what is in it, by which questions, and why there is no data set.

use ciphertax_columns::CellError;
use ciphertax_engine::Failure;
use ciphertax_wire::WireError;

use super::contents::Contents;
use crate::sql::session::{SqlSession, TextRow};

/// `ER_UNKNOWN_TABLE` and `ER_NO_SUCH_TABLE` of MySQL.
const UNKNOWN_TABLE: u16 = 1109;
const NO_SUCH_TABLE: u16 = 1146;

const TABLE: &str = "made_by_ciphertax";
const MARK: &str = "this schema was made by ciphertax, which removes it after a run";

/// What there is of the schema's name.
pub(super) enum Found {
    Nothing,
    /// A schema without anything in it, which nobody can miss: a run that was killed before it could mark it leaves one.
    Empty,
    /// A schema of ciphertax's own, for this data set.
    Ours {
        dataset: String,
    },
}

/// What there is of the schema's name.
///
/// # Errors
/// When it is somebody else's, or nobody can tell whose.
pub(super) async fn find<S: SqlSession>(session: &mut S) -> Result<Found> {
    if session.query(&(S::DIALECT.schema)(SCHEMA)).await?.is_empty() {
        return Ok(Found::Nothing);
    }
    let tables = format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}'");
    let tables = session.query(&tables).await?;
    if tables.is_empty() {
        return match holds_others(session).await? {
            false => Ok(Found::Empty),
            true => Err(DatasetError::NotOurs("schema")),
        };
    }
    if !tables.iter().any(|row| row.text(0) == TABLE) {
        return Err(DatasetError::NotOurs("schema"));
    }
    let mark = session.query(&format!("SELECT * FROM {SCHEMA}.{TABLE}")).await?;
    match mark.first() {
        Some(row) if row.text(0) == MARK => Ok(Found::Ours { dataset: row.text(1) }),
        // A run that was killed between the two statements that mark a schema.
        None if tables.len() == 1 && has_our_columns(session).await? => Ok(Found::Ours {
            dataset: String::new(),
        }),
        _ => Err(DatasetError::NotOurs("schema")),
    }
}

/// Drops the schema, the mark last: whoever looks meanwhile, or after the server was cut off, sees whose it is. False if
/// an empty schema stays, because the account was given it and could not make it again.
pub(super) async fn drop_schema<S: SqlSession>(session: &mut S) -> Result<bool> {
    let dialect = S::DIALECT;
    let tables = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name <> '{TABLE}' \
         AND table_type = 'BASE TABLE'"
    );
    for row in session.query(&tables).await? {
        let table = dialect.quoted(&row.text(0));
        run(session, &format!("DROP TABLE IF EXISTS {SCHEMA}.{table}")).await?;
    }
    if let Some(must_stay) = dialect.must_stay
        && !session.query(&must_stay(SCHEMA)).await?.is_empty()
    {
        run(session, &format!("DROP TABLE IF EXISTS {SCHEMA}.{TABLE}")).await?;
        return Ok(false);
    }
    let with_contents = dialect.with_contents;
    run(session, &format!("DROP SCHEMA {SCHEMA}{with_contents}")).await?;
    Ok(true)
}

/// True if a schema without tables has something else in it, such as routines, which somebody wrote.
async fn holds_others<S: SqlSession>(session: &mut S) -> Result<bool> {
    for look in (S::DIALECT.other_objects)(SCHEMA) {
        match session.query(&look).await {
            Ok(rows) if rows.is_empty() => {}
            Ok(_) => return Ok(true),
            // A compatible server that does not know them has none.
            Err(WireError::Server {
                code: UNKNOWN_TABLE | NO_SUCH_TABLE,
                ..
            }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

async fn has_our_columns(session: &mut impl SqlSession) -> Result<bool> {
    let columns = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = '{TABLE}' \
         ORDER BY ordinal_position"
    );
    let columns = session.query(&columns).await?;
    Ok(columns.iter().map(|row| row.text(0)).eq(["mark", "dataset"]))
}

/// Makes sure that there is a schema of ciphertax's own for this data set; what it holds of it stays.
pub(super) async fn claim<S: SqlSession>(session: &mut S, contents: &Contents) -> Result<()> {
    let description = contents.description();
    let is_gone = match find(session).await? {
        Found::Ours { dataset } if dataset == description => return Ok(()),
        Found::Ours { .. } | Found::Empty => drop_schema(session).await?,
        Found::Nothing => true,
    };
    if is_gone {
        run(session, &format!("CREATE SCHEMA {SCHEMA}")).await?;
    }
    run(
        session,
        &format!(
            "CREATE TABLE {SCHEMA}.{TABLE} (mark VARCHAR(100) NOT NULL PRIMARY KEY, dataset VARCHAR(4000) NOT NULL){}",
            S::DIALECT.storage
        ),
    )
    .await?;
    run(
        session,
        &format!("INSERT INTO {SCHEMA}.{TABLE} VALUES ('{MARK}', '{description}')"),
    )
    .await?;
    Ok(())
}

/// The only schema that is ever touched.
pub const SCHEMA: &str = "ciphertax";

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
pub(super) fn expect(table: &str, rows: &[TextRow], expected: &[&str]) -> Result<()> {
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

/// Result of what is done with data sets.
pub(crate) type Result<T, E = DatasetError> = std::result::Result<T, E>;

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A schema of the name exists that ciphertax did not make; what it is called there.
    #[error(
        "the server has a {0} named {SCHEMA} that ciphertax did not make; it is left alone: rename it, or measure \
         another server"
    )]
    NotOurs(&'static str),
    /// The server said no, or went away.
    #[error("the data set cannot be made: {0}")]
    Wire(#[from] WireError),
    /// The server said no, or went away, where its answers are known by their meaning alone.
    #[error("the data set cannot be made: {}", .0.message())]
    Failed(Failure),
    /// Somebody wanted to stop.
    #[error("the data set is not complete: stopped")]
    Stopped,
    /// Cells cannot be made of what is written. Nothing of it is in it.
    #[error("the cells of the data set cannot be made: {0}")]
    Cells(String),
    /// What is there is not what was written.
    #[error("the data set is not what was written: {0}")]
    Wrong(String),
    /// A condition of the specification does not hold: which, the clause that demands it, up to five rows that break it, and the
    /// clauses of all other conditions that do not hold either.
    #[error(
        "the tables are not consistent: clause {clause} ({condition}) does not hold: {}{}",
        .rows.join("; "),
        also(.others)
    )]
    Inconsistent {
        /// What it says.
        condition: &'static str,
        /// For example `3.3.2.1`.
        clause: &'static str,
        /// For example `w_id = 1, w_ytd = 300000.00, districts_ytd = 300000.01`.
        rows: Vec<String>,
        /// For example `3.3.2.8`.
        others: Vec<&'static str>,
    },
}

/// `; nor do 3.3.2.8, 3.3.2.9`
fn also(others: &[&str]) -> String {
    match others {
        [] => String::new(),
        [other] => format!("; nor does {other}"),
        others => format!("; nor do {}", others.join(", ")),
    }
}

/// Whether a check found all as it was written.
///
/// # Errors
/// Those that are about something else than what is there.
pub(super) fn is_right(checked: Result<()>) -> Result<bool> {
    match checked {
        Ok(()) => Ok(true),
        Err(DatasetError::Wrong(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl From<Failure> for DatasetError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<CellError> for DatasetError {
    fn from(error: CellError) -> Self {
        Self::Cells(error.to_string())
    }
}
