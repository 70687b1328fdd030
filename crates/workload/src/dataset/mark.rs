//! Whose schema it is, and what is in it.

use ciphertax_wire::mysql::Session;

use super::{Contents, DatasetError, SCHEMA, run};

const TABLE: &str = "made_by_ciphertax";
const MARK: &str = "this schema was made by ciphertax, which removes it after a run";

/// What there is of the schema's name.
pub(super) enum Found {
    Nothing,
    /// A schema of ciphertax's own, for this data set.
    Ours {
        dataset: String,
    },
}

/// What there is of the schema's name.
///
/// # Errors
/// When it is somebody else's.
pub(super) async fn find(session: &mut Session) -> Result<Found, DatasetError> {
    let schema = format!("SELECT 1 FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'");
    if session.query(&schema).await?.is_empty() {
        return Ok(Found::Nothing);
    }
    let table = format!(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name = '{TABLE}'"
    );
    if session.query(&table).await?.is_empty() {
        return Err(DatasetError::NotOurs("schema"));
    }
    let mark = session.query(&format!("SELECT * FROM {SCHEMA}.{TABLE}")).await?;
    match mark.first() {
        Some(row) if row.text(0) == MARK => Ok(Found::Ours { dataset: row.text(1) }),
        _ => Err(DatasetError::NotOurs("schema")),
    }
}

/// Makes sure that there is a schema of ciphertax's own for this data set; what it holds of it stays.
pub(super) async fn claim(session: &mut Session, contents: &Contents) -> Result<(), DatasetError> {
    let description = contents.description();
    match find(session).await? {
        Found::Ours { dataset } if dataset == description => return Ok(()),
        Found::Ours { .. } => run(session, &format!("DROP DATABASE {SCHEMA}")).await?,
        Found::Nothing => {}
    }
    run(session, &format!("CREATE DATABASE {SCHEMA}")).await?;
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
