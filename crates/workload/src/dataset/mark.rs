//! Whose schema it is, and what is in it.

use ciphertax_wire::WireError;

use super::contents::Contents;
use super::error::DatasetError;
use super::question::run;
use super::schema::SCHEMA;
use crate::sql::session::SqlSession;

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
pub(super) async fn find<S: SqlSession>(session: &mut S) -> Result<Found, DatasetError> {
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
pub(super) async fn drop_schema<S: SqlSession>(session: &mut S) -> Result<bool, DatasetError> {
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
async fn holds_others<S: SqlSession>(session: &mut S) -> Result<bool, DatasetError> {
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
            "CREATE TABLE {SCHEMA}.{TABLE} (mark VARCHAR(100) NOT NULL PRIMARY KEY, dataset VARCHAR(4000) NOT NULL)"
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
