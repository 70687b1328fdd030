//! What SQL workloads ask of a database's session. Every kind of server that has it can be measured with all of them.

use std::future::Future;

pub use ciphertax_wire::Value;
use ciphertax_wire::WireError;
pub use ciphertax_wire::sql::{Parameter, Query, ResultSummary, Statement, Statements, TextRow};

use super::dialect::Dialect;
use crate::client::Client;

/// A session of a database that speaks SQL. Statements are the database's own: what differs between databases is looked
/// up in its [`Dialect`].
pub trait SqlSession: Statements {
    /// How the database spells what is not the same everywhere.
    const DIALECT: Dialect;

    /// True if the server gave up on a transaction for the sake of another, so that it is to be begun anew.
    fn is_to_be_restarted(error: &WireError) -> bool;

    /// True if the server executes a statement, but does not prepare it.
    fn is_not_preparable(_error: &WireError) -> bool {
        false
    }
}

/// A client that speaks SQL.
pub trait Sql: Client<Session: SqlSession> {}

impl<C: Client<Session: SqlSession>> Sql for C {}

/// What making the data set and asking for its records needs besides.
pub trait DataSession: SqlSession {
    /// The same way, to a session whose tables are looked for in this schema; `None` for none.
    fn within(options: &Self::Options, schema: Option<&str>) -> Self::Options;

    /// The number by which the server knows the connection.
    fn id(&self) -> u32;

    /// True if a row of the same key was there.
    fn is_duplicate(error: &WireError) -> bool;

    /// Loads rows after the statement that they are part of, and returns how many the server took.
    fn load(&mut self, rows: &mut Query) -> impl Future<Output = Result<u64, WireError>> {
        async { Ok(self.run(rows).await?.affected_rows) }
    }

    /// The same way, to a session that may load lines, where the client has to allow that.
    fn that_loads(options: &Self::Options) -> Self::Options {
        options.clone()
    }

    /// Loads rows into these columns of a table, as `t (a, b)`, and returns how many the server took: lines of values that
    /// are parted by tabs, with `\\N` for NULL and a backslash before what else would mean something.
    ///
    /// # Errors
    /// The server's own, also where it took a row otherwise than it was sent; and those of the connection.
    fn load_lines(
        &mut self,
        table_and_columns: &str,
        lines: &[u8],
    ) -> impl Future<Output = Result<u64, WireError>>;

    /// True if the server, or the client, loads no lines, so that rows have to be inserted otherwise.
    fn takes_no_lines(_error: &WireError) -> bool {
        false
    }
}
