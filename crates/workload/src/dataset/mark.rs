//! Whose schema it is, and what is in it.

use ciphertax_wire::WireError;

use super::contents::Contents;
use super::error::DatasetError;
use super::question::run;
use super::schema::SCHEMA;
use crate::sql::session::{Row, SqlSession};

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
pub(super) async fn find(session: &mut impl SqlSession) -> Result<Found, DatasetError> {
    let schema = format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'");
    if session.query(&schema).await?.is_empty() {
        return Ok(Found::Nothing);
    }
    let tables = format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}'");
    let tables = session.query(&tables).await?;
    if tables.is_empty() {
        return match holds_programs(session).await? {
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

/// Drops the schema, the mark last: whoever looks meanwhile, or after the server was cut off, sees whose it is.
pub(super) async fn drop_schema<S: SqlSession>(session: &mut S) -> Result<(), DatasetError> {
    let tables = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name <> '{TABLE}' \
         AND table_type = 'BASE TABLE'"
    );
    for row in session.query(&tables).await? {
        let table = S::DIALECT.quoted(&row.text(0));
        run(session, &format!("DROP TABLE IF EXISTS {SCHEMA}.{table}")).await?;
    }
    Ok(run(session, &format!("DROP SCHEMA {SCHEMA}")).await?)
}

/// True if a schema without tables has routines or events, which somebody wrote.
async fn holds_programs(session: &mut impl SqlSession) -> Result<bool, DatasetError> {
    for (of, schema) in [("routines", "routine_schema"), ("events", "event_schema")] {
        let look = format!("SELECT 1 FROM information_schema.{of} WHERE {schema} = '{SCHEMA}'");
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

async fn has_our_columns(session: &mut impl SqlSession) -> Result<bool, DatasetError> {
    let columns = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = '{SCHEMA}' AND table_name = '{TABLE}' \
         ORDER BY ordinal_position"
    );
    let columns = session.query(&columns).await?;
    Ok(columns.iter().map(|row| row.text(0)).eq(["mark", "dataset"]))
}

/// Makes sure that there is a schema of ciphertax's own for this data set; what it holds of it stays.
pub(super) async fn claim(session: &mut impl SqlSession, contents: &Contents) -> Result<(), DatasetError> {
    let description = contents.description();
    match find(session).await? {
        Found::Ours { dataset } if dataset == description => return Ok(()),
        Found::Ours { .. } | Found::Empty => drop_schema(session).await?,
        Found::Nothing => {}
    }
    run(session, &format!("CREATE SCHEMA {SCHEMA}")).await?;
    run(
        session,
        &format!("CREATE TABLE {SCHEMA}.{TABLE} (mark VARCHAR(100) NOT NULL, dataset VARCHAR(200) NOT NULL)"),
    )
    .await?;
    run(
        session,
        &format!("INSERT INTO {SCHEMA}.{TABLE} VALUES ('{MARK}', '{description}')"),
    )
    .await?;
    Ok(())
}
