//! Proof that the server encrypts columns: what sessions with the key and without it read.

use std::rc::Rc;

use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;

use super::error::DatasetError;
use super::question::run;
use super::schema::SCHEMA;
use crate::sql::Columns;
use crate::sql::session::{DataSession, SqlSession};

/// The table that is made for it.
const TABLE: &str = "columns_proof";

/// A text that is written to an encrypted column, and one that is written to a plain column beside it. Neither has quotes or
/// backslashes.
#[derive(Debug, Clone, Copy)]
pub struct ColumnCanaries<'a> {
    /// In the encrypted column.
    pub encrypted: &'a str,
    /// In the plain one.
    pub plain: &'a str,
}

/// What was read of [`ColumnCanaries`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnsRead {
    /// The encrypted column, decrypted by a session that has the key.
    pub with_key: String,
    /// The encrypted column as it lies there, by another session.
    pub without_key: String,
    /// The plain column, by that other session.
    pub plain: String,
}

/// Writes canaries into a table of its own in a schema of ciphertax's name, which must not be there, brings them to the disk,
/// and reads them. The schema stays, so that the disk can be searched: [`remove_columns_proof`] removes it.
///
/// # Errors
/// When the server refuses, or cannot be reached.
pub async fn write_columns_proof<S: DataSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    columns: &Columns,
    canaries: ColumnCanaries<'_>,
) -> Result<ColumnsRead, DatasetError> {
    let ColumnCanaries { encrypted, plain } = canaries;
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    run(&mut session, &format!("CREATE SCHEMA {SCHEMA}")).await?;
    session.close().await?;
    let inside = S::within(options, Some(SCHEMA));
    let (mut session, _) = S::connect(reactor, &inside).await?;
    if let Some(installation) = columns.installation() {
        run(&mut session, &installation).await?;
    }
    columns.begin(&mut session).await?;
    let [text, secret] = [
        (S::DIALECT.text)(plain.len()),
        columns.column_type(encrypted.len()),
    ];
    run(
        &mut session,
        &format!("CREATE TABLE {TABLE} (plain {text}, secret {secret})"),
    )
    .await?;
    let [before, after] = columns.around_value();
    let insert = format!("INSERT INTO {TABLE} VALUES ('{plain}', {before}'{encrypted}'{after})");
    run(&mut session, &insert).await?;
    for flush in columns.flush(TABLE) {
        run(&mut session, &flush).await?;
    }
    let [with_key] = first_row(&mut session, [&columns.decrypted("secret")]).await?;
    let (mut other, _) = S::connect(reactor, &inside).await?;
    let [plain, without_key] = first_row(&mut other, ["plain", &columns.as_it_lies("secret")]).await?;
    other.close().await?;
    session.close().await?;
    Ok(ColumnsRead {
        with_key,
        without_key,
        plain,
    })
}

/// Removes what [`write_columns_proof`] wrote.
///
/// # Errors
/// When the server refuses, or cannot be reached.
pub async fn remove_columns_proof<S: DataSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
) -> Result<(), DatasetError> {
    let (mut session, _) = S::connect(reactor, &S::within(options, None)).await?;
    let with_contents = S::DIALECT.with_contents;
    run(&mut session, &format!("DROP SCHEMA {SCHEMA}{with_contents}")).await?;
    session.close().await?;
    Ok(())
}

async fn first_row<const N: usize>(
    session: &mut impl SqlSession,
    columns: [&str; N],
) -> Result<[String; N], WireError> {
    let rows = session
        .query(&format!("SELECT {} FROM {TABLE}", columns.join(", ")))
        .await?;
    Ok(std::array::from_fn(|column| {
        rows.first().map(|row| row.text(column)).unwrap_or_default()
    }))
}
