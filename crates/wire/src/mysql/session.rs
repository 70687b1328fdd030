//! A session: queries, prepared statements, rows that are loaded (`LOAD DATA LOCAL INFILE`).
//!
//! The server answers a statement that loads by asking for a file. Any server could ask for any file, after any statement
//! (<https://dev.mysql.com/doc/refman/8.4/en/load-data-local-security.html>): so this client knows no files at all. It
//! sends what its caller has in memory, and only where the server asks for the very name that was made up for it.

use std::rc::Rc;

use ciphertax_base::{AuthenticationFacts, ConnectTrace};
use ciphertax_reactor::Reactor;
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::StmtPacket;

use super::dialect::DIALECT;
use super::framing::{Framed, HEADER, command_packet, request};
use super::handshake::{ConnectOptions, connect_offering};
use super::result::{self, Accepted, BinaryTexts, server_error, text_row};
use super::session_settings;
use super::statement::Statement;
use super::values::ValueReader;
use crate::client;
use crate::error::{Result, WireError};
use crate::session_settings::Overridden;
use crate::sql::{Collected, Dialect, Parameter, Query, ResultSummary, SqlSession, TextRow, wrong_number};
use crate::stream::Stream;
use crate::tls::Offer;
use crate::value::Value;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
/// The packet of `COM_QUIT`: one byte long, number 0, the command.
const QUIT: [u8; 5] = [1, 0, 0, 0, 0x01];

/// A logged-in connection.
pub struct Session {
    pub(super) framed: Framed,
    id: u32,
    pub(super) server_version: String,
    pub(super) authentication: AuthenticationFacts,
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

    /// Runs a statement and gives each row's payload to `on_row`.
    ///
    /// # Errors
    /// The server's own, those of the connection, and those of `on_row`.
    pub async fn query_raw(
        &mut self,
        sql: &str,
        on_row: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.framed
            .command(&command_packet(COM_QUERY, sql.as_bytes())?)
            .await?;
        result::read(&mut self.framed, self.capabilities, on_row).await
    }

    async fn first_warning(&mut self, warnings: u16) -> Result<WireError> {
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

    /// The number that the server gave a statement, and its parameters.
    async fn prepared(&mut self, sql: &str) -> Result<(u32, u16)> {
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
}

impl client::Session for Session {
    type Options = ConnectOptions;

    const GOODBYE: &'static [u8] = &QUIT;

    async fn connect(reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<(Self, ConnectTrace)> {
        connect_offering(reactor, options, Offer::WhatThereIs).await
    }

    async fn override_settings(&mut self) -> Result<Vec<Overridden>> {
        session_settings::override_settings(self).await
    }

    fn authentication(&self) -> &AuthenticationFacts {
        &self.authentication
    }

    fn stream(&self) -> Option<&Stream> {
        Some(&self.framed.stream)
    }

    fn stream_mut(&mut self) -> Option<&mut Stream> {
        Some(&mut self.framed.stream)
    }
}

impl SqlSession for Session {
    type Statement = Statement;

    const DIALECT: Dialect = DIALECT;

    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            database: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn that_loads(options: &ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            local_infile: true,
            ..options.clone()
        }
    }

    fn id(&self) -> u32 {
        self.id
    }

    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<Statement> {
        let (id, count) = self.prepared(sql).await?;
        if parameters.len() != usize::from(count) {
            return Err(wrong_number(count.into(), parameters.len()));
        }
        Statement::new(id, parameters)
    }

    async fn execute_rows(
        &mut self,
        statement: &mut Statement,
        on_row: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.framed.command(statement.request()).await?;
        statement.sent()?;
        result::read(&mut self.framed, self.capabilities, on_row).await
    }

    fn texts(row: &[u8], columns: usize) -> Result<impl Iterator<Item = Result<&[u8]>>> {
        BinaryTexts::of(row, columns)
    }

    /// Dates and times are written as `2026-01-31 12:00:00.123456`, with as many digits as the column has.
    async fn execute_values(
        &mut self,
        statement: &mut Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.framed.command(statement.request()).await?;
        statement.sent()?;
        let values = self.values.binary(statement.text_columns, on_row);
        result::read_to(&mut self.framed, self.capabilities, values).await
    }

    async fn run(&mut self, query: &mut Query) -> Result<ResultSummary> {
        self.framed.command(request(query)?).await?;
        result::read(&mut self.framed, self.capabilities, |_| Ok(())).await
    }

    async fn run_values(
        &mut self,
        query: &mut Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.framed.command(request(query)?).await?;
        result::read_to(&mut self.framed, self.capabilities, self.values.text(on_row)).await
    }

    async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        let mut collected = Collected::default();
        self.query_raw(sql, |row| collected.keep(row, text_row)).await?;
        Ok(collected.rows)
    }

    /// Servers load such rows as `INSERT IGNORE` would, and warn of those that they leave out or change. Here the first warning is an
    /// error; rows without one are there even so, unless the transaction is rolled back.
    async fn load_lines<'a>(
        &mut self,
        table_and_columns: &str,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<u64> {
        let sql = load_statement(table_and_columns);
        self.framed
            .command(&command_packet(COM_QUERY, sql.as_bytes())?)
            .await?;
        let accepted = give_rows(&mut self.framed, self.capabilities, pieces).await?;
        if accepted.warnings > 0 {
            return Err(self.first_warning(accepted.warnings).await?);
        }
        Ok(accepted.affected_rows)
    }
}

/// The name of the file that there is not.
const NAME: &str = "ciphertax-rows";
/// Rows travel in packets of so many bytes at most.
const CHUNK: usize = 64 << 10;

/// The statement that loads rows of tab-separated values into these columns of a table, as `t (a, b)`. Bytes are taken as
/// they are: whoever wrote the values wrote them for the columns' character sets.
fn load_statement(table_and_columns: &str) -> String {
    let columns = table_and_columns.find('(').unwrap_or(table_and_columns.len());
    let (table, columns) = table_and_columns.split_at(columns);
    format!("LOAD DATA LOCAL INFILE '{NAME}' INTO TABLE {table} CHARACTER SET binary {columns}")
}

/// Reads what the server says to that statement, gives it the rows if it asks for them, and reads how it took them.
async fn give_rows<'a>(
    framed: &mut Framed,
    capabilities: CapabilityFlags,
    rows: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Accepted> {
    match framed.read().await? {
        [0xFB, name @ ..] => {
            if name != NAME.as_bytes() {
                let name = String::from_utf8_lossy(&name[..name.len().min(200)]).into_owned();
                return Err(WireError::protocol(format!(
                    "it asks for the file {name:?} of this machine, which nobody has offered"
                )));
            }
            if !capabilities.contains(CapabilityFlags::CLIENT_LOCAL_FILES) {
                return Err(WireError::protocol(
                    "it asks for rows of a client that has said that it gives none",
                ));
            }
        }
        payload @ [0xFF, ..] => return Err(server_error(payload, capabilities)),
        _ => return Err(WireError::protocol("it loads rows without asking for them")),
    }
    let mut packet = Vec::with_capacity(HEADER + CHUNK);
    for piece in rows.into_iter().flat_map(|rows| rows.chunks(CHUNK)) {
        packet.clear();
        packet.extend_from_slice(&[0; HEADER]);
        packet.extend_from_slice(piece);
        framed.reply(&mut packet).await?;
    }
    // An empty packet ends them.
    framed.reply(&mut [0; HEADER]).await?;
    match framed.read().await? {
        [0x00, rest @ ..] => Accepted::read(rest),
        payload @ [0xFF, ..] => Err(server_error(payload, capabilities)),
        _ => Err(WireError::protocol("it does not say whether it took the rows")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_set_stands_between_table_and_columns() {
        assert_eq!(
            load_statement("t (a, b)"),
            "LOAD DATA LOCAL INFILE 'ciphertax-rows' INTO TABLE t  CHARACTER SET binary (a, b)"
        );
        assert!(load_statement("t").ends_with("INTO TABLE t CHARACTER SET binary "));
    }
}
