//! A session: queries, prepared statements, goodbye.

use ciphertax_records::{AuthenticationFacts, ChainCertificate, PhaseTrace, SessionFacts};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::StmtPacket;

use super::framing::{Framed, command_packet};
use super::local_data;
use super::query::Query;
use super::result::{self, TextRow};
use super::statement::{Parameter, Statement};
use super::values::ValueReader;
use crate::error::WireError;
use crate::expectation::Negotiated;
use crate::summary::ResultSummary;
use crate::tls::TlsSummary;
use crate::traffic::Traffic;
use crate::value::Value;

/// Bytes of rows that [`Session::query`] keeps at most.
const MOST_COLLECTED: usize = 16 << 20;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
/// The packet of `COM_QUIT`: one byte long, number 0, the command.
const QUIT: [u8; 5] = [1, 0, 0, 0, 0x01];

/// A logged-in connection.
pub struct Session {
    framed: Framed,
    id: u32,
    server_version: String,
    authentication: AuthenticationFacts,
    capabilities: CapabilityFlags,
    values: ValueReader,
}

impl Session {
    pub(super) fn new(
        framed: Framed,
        id: u32,
        server_version: String,
        authentication: AuthenticationFacts,
        capabilities: CapabilityFlags,
    ) -> Self {
        Self {
            framed,
            id,
            server_version,
            authentication,
            capabilities,
            values: ValueReader::default(),
        }
    }

    /// The number by which the server knows the connection.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Runs a statement and gives each row's payload to `on_row`.
    ///
    /// # Errors
    /// The server's own, those of the connection, and those of `on_row`.
    pub async fn query_raw(
        &mut self,
        sql: &str,
        on_row: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.framed
            .command(&command_packet(COM_QUERY, sql.as_bytes())?)
            .await?;
        result::read(&mut self.framed, self.capabilities, on_row).await
    }

    /// Runs a statement and collects its rows.
    ///
    /// # Errors
    /// As [`Session::query_raw`]; and when the rows do not end in time to be kept.
    pub async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>, WireError> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        let collect = |row: &[u8]| {
            bytes += row.len();
            if bytes > MOST_COLLECTED {
                return Err(WireError::protocol(
                    "more rows than any question of ciphertax has",
                ));
            }
            rows.push(TextRow::parse(row)?);
            Ok(())
        };
        self.query_raw(sql, collect).await?;
        Ok(rows)
    }

    /// Runs a text statement kept in a buffer and passes over its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    pub async fn run(&mut self, query: &mut Query) -> Result<ResultSummary, WireError> {
        self.framed.command(query.request()?).await?;
        result::read(&mut self.framed, self.capabilities, |_| Ok(())).await
    }

    /// Runs a text statement kept in a buffer, and hands over the values of each row, all of which are texts.
    ///
    /// # Errors
    /// The server's own, those of the connection, and those of `on_row`; rows of more than 64 columns.
    pub async fn run_values(
        &mut self,
        query: &mut Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.framed.command(query.request()?).await?;
        result::read_to(&mut self.framed, self.capabilities, self.values.text(on_row)).await
    }

    /// Loads rows into these columns of a table, as `t (a, b)`: lines of values that are parted by tabs, with `\\N` for NULL
    /// and a backslash before what else would mean something. Returns how many the server took.
    ///
    /// Servers load such rows as `INSERT IGNORE` would, and warn of those that they leave out or change. Here the first
    /// warning is an error; rows without one are there even so, unless the transaction is rolled back.
    ///
    /// # Errors
    /// The server's own, of which [`is_local_data_refused`](super::is_local_data_refused) knows those by which it, or the
    /// client without [`local_infile`](super::ConnectOptions::local_infile), allows no such thing; those of the connection;
    /// and when the server asks for any other file.
    pub async fn load_lines(&mut self, table_and_columns: &str, lines: &[u8]) -> Result<u64, WireError> {
        self.load_local(table_and_columns, [lines]).await
    }

    /// The same with lines in pieces, which may end anywhere.
    ///
    /// # Errors
    /// Those of [`Session::load_lines`].
    pub async fn load_local<'a>(
        &mut self,
        table_and_columns: &str,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<u64, WireError> {
        let sql = local_data::statement(table_and_columns);
        self.framed
            .command(&command_packet(COM_QUERY, sql.as_bytes())?)
            .await?;
        let accepted = local_data::answer(&mut self.framed, self.capabilities, pieces).await?;
        if accepted.warnings > 0 {
            return Err(self.first_warning(accepted.warnings).await?);
        }
        Ok(accepted.affected_rows)
    }

    /// What the server warned of first, as an error.
    async fn first_warning(&mut self, warnings: u16) -> Result<WireError, WireError> {
        let rows = self.query("SHOW WARNINGS LIMIT 1").await?;
        let row = rows
            .first()
            .ok_or_else(|| WireError::protocol("a warning that cannot be read"))?;
        Ok(WireError::Server {
            code: row.text(1).parse().unwrap_or(0),
            sql_state: "01000".into(),
            message: format!("{} (the first of {warnings} warnings)", row.text(2)),
        })
    }

    /// Prepares a statement whose parameters are all integers.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, WireError> {
        let (id, count) = self.prepared(sql).await?;
        Statement::new(id, &vec![Parameter::Integer; count.into()])
    }

    /// Prepares a statement with parameters of these types.
    ///
    /// # Errors
    /// The server's own and those of the connection; a number of `parameters` that is not that of the statement.
    pub async fn prepare_with(
        &mut self,
        sql: &str,
        parameters: &[Parameter],
    ) -> Result<Statement, WireError> {
        let (id, count) = self.prepared(sql).await?;
        if parameters.len() != usize::from(count) {
            return Err(wrong_number(count.into(), parameters.len()));
        }
        Statement::new(id, parameters)
    }

    /// The number that the server gave a statement, and its parameters.
    async fn prepared(&mut self, sql: &str) -> Result<(u32, u16), WireError> {
        self.framed
            .command(&command_packet(COM_STMT_PREPARE, sql.as_bytes())?)
            .await?;
        let payload = self.framed.read().await?;
        if let [0xFF, ..] = payload {
            return Err(result::server_error(payload, self.capabilities));
        }
        let answer: StmtPacket = ParseBuf(payload)
            .parse(())
            .map_err(|error| WireError::protocol(format!("the answer to a prepare: {error}")))?;
        for definitions in [answer.num_params(), answer.num_columns()] {
            result::skip_definitions(&mut self.framed, definitions.into(), self.capabilities).await?;
        }
        Ok((answer.statement_id(), answer.num_params()))
    }

    /// Executes a prepared statement whose parameters are all integers and passes over its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection; `values` that are not the parameters'.
    pub async fn execute(
        &mut self,
        statement: &mut Statement,
        values: &[i64],
    ) -> Result<ResultSummary, WireError> {
        let parameters = statement.parameters().len();
        if values.len() != parameters {
            return Err(wrong_number(parameters, values.len()));
        }
        for (index, value) in values.iter().enumerate() {
            statement.set_integer(index, *value);
        }
        self.execute_bound(statement).await
    }

    /// Executes a prepared statement with the values that were set and passes over its rows.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    pub async fn execute_bound(&mut self, statement: &mut Statement) -> Result<ResultSummary, WireError> {
        self.execute_raw(statement, |_| Ok(())).await
    }

    /// Executes a prepared statement with the values that were set, and gives each row's payload to `on_row`; where all
    /// columns are text, [`BinaryTexts`](super::BinaryTexts) reads it.
    ///
    /// # Errors
    /// The server's own, those of the connection, and those of `on_row`.
    pub async fn execute_raw(
        &mut self,
        statement: &mut Statement,
        on_row: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.framed.command(statement.request()).await?;
        statement.sent()?;
        result::read(&mut self.framed, self.capabilities, on_row).await
    }

    /// Executes a prepared statement with the values that were set, and hands over the values of each row. Dates and times
    /// are texts as the server writes them, `2026-01-31 12:00:00.123456` with as many digits as the column has; numbers with
    /// a floating point are the shortest texts that are read back as the same.
    ///
    /// # Errors
    /// The server's own, those of the connection, and those of `on_row`; rows of more than 64 columns.
    pub async fn execute_values(
        &mut self,
        statement: &mut Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<(), WireError>,
    ) -> Result<ResultSummary, WireError> {
        self.framed.command(statement.request()).await?;
        statement.sent()?;
        result::read_to(
            &mut self.framed,
            self.capabilities,
            self.values.binary(statement.text_columns, on_row),
        )
        .await
    }

    /// Says goodbye and tells what that took. Nothing is left to be done with the session but
    /// to wait for [`Session::gone`].
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn leave(&mut self) -> Result<PhaseTrace, WireError> {
        self.framed.stream.leave(&QUIT).await
    }

    /// After [`Session::leave`]: waits until the server has closed, and returns the bytes that it still sent.
    pub async fn gone(mut self) -> u64 {
        self.framed.stream.gone().await
    }

    /// Says goodbye, waits until the server has closed, and tells how long that took.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn close(mut self) -> Result<PhaseTrace, WireError> {
        self.framed.stream.close(&QUIT).await
    }

    /// What went over the connection so far.
    pub fn traffic(&self) -> Traffic {
        self.framed.stream.traffic()
    }

    /// How the login went.
    pub fn authentication(&self) -> &AuthenticationFacts {
        &self.authentication
    }

    /// The part of the facts that is cheap enough to be checked on every connection; `None` on a plain one.
    pub fn tls_summary(&self) -> Option<TlsSummary> {
        self.framed.stream.tls().map(|tls| tls.summary())
    }

    /// Everything that was negotiated.
    ///
    /// # Errors
    /// When the server's certificate cannot be read.
    pub fn facts(&self) -> Result<SessionFacts, WireError> {
        Ok(SessionFacts {
            server_version: self.server_version.clone(),
            authentication: self.authentication.clone(),
            tls: self.framed.stream.tls().map(|tls| tls.facts()).transpose()?,
        })
    }
}

impl Negotiated for Session {
    fn tls_summary(&self) -> Option<TlsSummary> {
        self.tls_summary()
    }

    fn chain(&self) -> Result<Vec<ChainCertificate>, WireError> {
        let tls = self.framed.stream.tls();
        tls.map_or_else(|| Ok(Vec::new()), |tls| tls.chain())
    }

    fn authentication(&self) -> &AuthenticationFacts {
        self.authentication()
    }
}

fn wrong_number(parameters: usize, given: usize) -> WireError {
    WireError::Request(format!("the statement has {parameters} parameters, not {given}"))
}
