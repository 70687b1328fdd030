//! Whose schema it is and what is in it, by which questions, and why there is no data set.

use ciphertax_base::SCHEMA;
use ciphertax_columns::CellError;
use ciphertax_engine::Failure;
use ciphertax_wire::WireError;

use super::contents::Contents;
use crate::sql::session::{SqlSession, TextRow};

/// `ER_UNKNOWN_TABLE` and `ER_NO_SUCH_TABLE` of MySQL.
const UNKNOWN_TABLE: u16 = 1109;
const NO_SUCH_TABLE: u16 = 1146;

/// The table that marks.
pub(super) const TABLE: &str = "made_by_ciphertax";
const MARK: &str = "this schema was made by ciphertax, which removes it after a run";
/// In a schema that was given. The names of the tables stand before what they hold.
const MARK_IN_GIVEN: &str =
    "tables of the names that stand here were made by ciphertax, which removes them after a run";
const AFTER_NAMES: &str = ": ";

/// What there is of the schema's name.
pub(super) enum Found {
    Nothing,
    /// A schema without anything in it, which nobody can miss: a run that was killed before it could mark it leaves one. Or a schema
    /// that was given, without anything of ciphertax's.
    Empty,
    /// A schema of ciphertax's own, for this data set.
    Ours {
        dataset: String,
    },
}

/// What there is of the schema's name, before tables of these names are made in it.
///
/// # Errors
/// When it is somebody else's, or nobody can tell whose.
pub(super) async fn find<S: SqlSession>(session: &mut S, names: &[String]) -> Result<Found> {
    let is_given = SCHEMA.is_given();
    if session.query(&(S::DIALECT.schema)(&SCHEMA)).await?.is_empty() {
        return match is_given {
            false => Ok(Found::Nothing),
            true => Err(DatasetError::NoSchema),
        };
    }
    let tables = match is_given {
        false => format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}'"),
        true => (S::DIALECT.tables)(&SCHEMA, ""),
    };
    let tables = session.query(&tables).await?;
    let tables: Vec<String> = tables.iter().map(|row| row.text(0)).collect();
    let foreign = |ours: &[String]| {
        let is_foreign = |table: &&String| is_named(table, names) && !is_named(table, ours);
        tables.iter().find(is_foreign).cloned().map(DatasetError::Taken)
    };
    if !tables.iter().any(|table| table == TABLE) {
        return match (is_given, foreign(&[])) {
            (true, Some(taken)) => Err(taken),
            (true, None) => Ok(Found::Empty),
            (false, _) if tables.is_empty() && !holds_others(session).await? => Ok(Found::Empty),
            (false, _) => Err(DatasetError::NotOurs("schema")),
        };
    }
    let mark = session
        .query(&format!("SELECT * FROM {}.{TABLE}", SCHEMA.quoted()))
        .await?;
    let dataset = match mark.first() {
        Some(row) if row.text(0) == mark_text() => row.text(1),
        // A run that was killed between the two statements that mark a schema.
        None if (is_given || tables.len() == 1) && has_our_columns(session).await? => String::new(),
        _ if is_given => return Err(DatasetError::Taken(TABLE.to_owned())),
        _ => return Err(DatasetError::NotOurs("schema")),
    };
    match foreign(&names_in(&dataset)) {
        Some(taken) if is_given => Err(taken),
        _ => Ok(Found::Ours { dataset }),
    }
}

fn mark_text() -> &'static str {
    match SCHEMA.is_given() {
        false => MARK,
        true => MARK_IN_GIVEN,
    }
}

/// True for a table of one of these names: `sbbulk#` stands for all that end with a number, `sbtest#10` for the first ten.
fn is_named(table: &str, names: &[String]) -> bool {
    names.iter().any(|name| {
        let Some((beginning, most)) = name.split_once('#') else {
            return table == name;
        };
        let number: Option<u32> = table.strip_prefix(beginning).and_then(|end| end.parse().ok());
        let most = most.parse().unwrap_or(u32::MAX);
        number.is_some_and(|number| (1..=most).contains(&number) && table == format!("{beginning}{number}"))
    })
}

/// Those that a mark in a schema that was given has before what they hold.
fn names_in(dataset: &str) -> Vec<String> {
    let names = dataset.split_once(AFTER_NAMES).map_or("", |(names, _)| names);
    names.split(' ').map(str::to_owned).collect()
}

/// What a mark says of a data set.
pub(super) fn marked(contents: &Contents) -> String {
    match SCHEMA.is_given() {
        false => contents.description(),
        true => format!(
            "{}{AFTER_NAMES}{}",
            contents.names().join(" "),
            contents.description()
        ),
    }
}

/// Drops the schema, the mark last: whoever looks meanwhile, or after the server was cut off, sees whose it is. False if
/// the schema stays: because it was given, and then only the tables of this data set are dropped; or, empty, because the account was
/// given it and could not make it again.
pub(super) async fn drop_schema<S: SqlSession>(session: &mut S, dataset: &str) -> Result<bool> {
    let dialect = S::DIALECT;
    let names = names_in(dataset);
    let tables = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND table_name <> '{TABLE}' \
         AND table_type = 'BASE TABLE'"
    );
    for row in session.query(&tables).await? {
        let table = row.text(0);
        if !SCHEMA.is_given() || is_named(&table, &names) {
            let table = dialect.quoted(&table);
            run(
                session,
                &format!("DROP TABLE IF EXISTS {}.{table}", SCHEMA.quoted()),
            )
            .await?;
        }
    }
    if must_stay(session).await? {
        run(
            session,
            &format!("DROP TABLE IF EXISTS {}.{TABLE}", SCHEMA.quoted()),
        )
        .await?;
        return Ok(false);
    }
    let with_contents = dialect.with_contents;
    run(
        session,
        &format!("DROP SCHEMA {}{with_contents}", SCHEMA.quoted()),
    )
    .await?;
    Ok(true)
}

/// True for a schema that was given, and for one that the account could not make again.
pub(crate) async fn must_stay<S: SqlSession>(session: &mut S) -> Result<bool, WireError> {
    match S::DIALECT.must_stay.filter(|_| !SCHEMA.is_given()) {
        None => Ok(SCHEMA.is_given()),
        Some(must_stay) => Ok(!session.query(&must_stay(&SCHEMA)).await?.is_empty()),
    }
}

/// True if a schema without tables has something else in it, such as routines, which somebody wrote.
async fn holds_others<S: SqlSession>(session: &mut S) -> Result<bool> {
    for look in (S::DIALECT.other_objects)(&SCHEMA) {
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
    let description = marked(contents);
    let is_gone = match find(session, &contents.names()).await? {
        Found::Ours { dataset } if dataset == description => return Ok(()),
        Found::Ours { dataset } => drop_schema(session, &dataset).await?,
        Found::Empty => drop_schema(session, "").await?,
        Found::Nothing => true,
    };
    if is_gone {
        run(session, &format!("CREATE SCHEMA {}", SCHEMA.quoted())).await?;
    }
    run(
        session,
        &format!(
            "CREATE TABLE {}.{TABLE} (mark VARCHAR(100) NOT NULL PRIMARY KEY, dataset VARCHAR(4000) NOT NULL){}",
            SCHEMA.quoted(),
            S::DIALECT.storage
        ),
    )
    .await?;
    run(
        session,
        &format!(
            "INSERT INTO {}.{TABLE} VALUES ('{}', '{description}')",
            SCHEMA.quoted(),
            mark_text()
        ),
    )
    .await?;
    Ok(())
}

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

/// The column that a table without a primary key gets where the server wants one, with a comma before it; else nothing.
pub(crate) async fn wanted_key<S: SqlSession>(session: &mut S) -> Result<String, WireError> {
    let Some([question, column]) = S::DIALECT.wanted_key else {
        return Ok(String::new());
    };
    let is_wanted = !session.query_or_none(question).await?.is_empty();
    Ok(if is_wanted {
        format!(", {column}")
    } else {
        String::new()
    })
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
    /// A schema that was given is not there.
    #[error(
        "the server has no schema named {SCHEMA} that this account may see; give one that is there, or leave --schema out"
    )]
    NoSchema,
    /// A table is there whose name is needed, in a schema that was given.
    #[error(
        "the schema {SCHEMA} has a table {0} that ciphertax did not make, and a run would make one of that name; it is left alone: \
         rename it, or give another schema"
    )]
    Taken(String),
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
