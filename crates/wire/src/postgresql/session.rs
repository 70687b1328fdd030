//! A session: text, prepared statements, loading, goodbye.

use std::rc::Rc;

use bytes::BytesMut;
use ciphertax_base::{AuthenticationFacts, ConnectTrace};
use ciphertax_reactor::Reactor;
use postgres_protocol::message::frontend;

use super::connect::connect_offering;
use super::dialect::DIALECT;
use super::messages::{HEADER, Messages, not_writable, write_length};
use super::options::{ConnectOptions, LoggedIn, ProtocolVersion};
use super::result::{self, COPY_IN, PARSE_COMPLETE, ROW_DESCRIPTION, last_word, read_copied};
use super::row::{Values, int2, int4, on_values, request, text_row};
use super::session_settings;
use super::statement::{Format, Statement};
use crate::client;
use crate::error::{Result, WireError};
use crate::session_settings::Overridden;
use crate::sql::{Collected, Dialect, Parameter, Query, ResultSummary, SqlSession, TextRow};
use crate::stream::Stream;
use crate::tls::Offer;
use crate::value::Value;

const PARAMETER_DESCRIPTION: u8 = b't';
const NO_DATA: u8 = b'n';

/// A logged-in connection.
pub struct Session {
    pub(super) messages: Messages,
    pub(super) authentication: AuthenticationFacts,
    iterations: Option<u32>,
    protocol: ProtocolVersion,
    /// The server's process of the connection; 0 if it has not told.
    process: u32,
    /// Statements that were prepared, by whose number the next is named.
    prepared: u32,
}

impl Session {
    pub(super) fn new(
        messages: Messages,
        logged_in: LoggedIn,
        protocol: ProtocolVersion,
        process: u32,
    ) -> Self {
        Self {
            messages,
            authentication: AuthenticationFacts {
                method: logged_in.method.name().to_owned(),
                path: logged_in.path,
            },
            iterations: logged_in.iterations,
            protocol,
            process,
            prepared: 0,
        }
    }

    /// The version of the protocol that was agreed on.
    pub fn protocol(&self) -> ProtocolVersion {
        self.protocol
    }

    /// How often SCRAM hashed the password; `None` where the login was another.
    pub fn iterations(&self) -> Option<u32> {
        self.iterations
    }

    /// What the server says of its version, as `15.18 (Debian 15.18-0+deb12u1)`.
    pub fn server_version(&self) -> &str {
        &self.messages.server_version
    }

    /// The number of the release, as 15; `None` where the server does not say it.
    pub fn major_version(&self) -> Option<u32> {
        leading_number(self.server_version())
    }

    /// Runs text, which may be several statements, and gives each row to `on_row`; its values are text, and
    /// [`Values`](super::Values) reads it.
    ///
    /// # Errors
    /// The server's own, after which the session goes on; those of the connection; and those of `on_row`, after which it
    /// does not.
    pub async fn query_raw(
        &mut self,
        sql: &str,
        on_row: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<ResultSummary> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message).map_err(not_writable)?;
        self.messages.ask(&message).await?;
        result::read_text(&mut self.messages, on_row).await
    }

    /// The name that a statement got, and the types that the server found for its parameters.
    async fn prepared(&mut self, sql: &str) -> Result<(String, Vec<u32>)> {
        self.prepared += 1;
        let name = format!("s{}", self.prepared);
        let mut message = BytesMut::new();
        frontend::parse(&name, sql, [], &mut message).map_err(not_writable)?;
        frontend::describe(b'S', &name, &mut message).map_err(not_writable)?;
        frontend::sync(&mut message);
        let messages = &mut self.messages;
        messages.ask(&message).await?;
        result::expect(messages, PARSE_COMPLETE, "that the statement was parsed").await?;
        let answer = messages.read().await?;
        if answer.kind != PARAMETER_DESCRIPTION {
            return Err(answer.unexpected("the types of the parameters"));
        }
        let types = parameter_types(answer.body)
            .ok_or_else(|| WireError::protocol("types of parameters that cannot be read"))?;
        let answer = messages.read().await?;
        if !matches!(answer.kind, ROW_DESCRIPTION | NO_DATA) {
            return Err(answer.unexpected("the columns of the rows"));
        }
        result::ready(messages).await?;
        Ok((name, types))
    }

    /// Begins to load rows by a statement `COPY … FROM STDIN`.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    pub async fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>> {
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message).map_err(not_writable)?;
        self.messages.ask(&message).await?;
        result::expect(&mut self.messages, COPY_IN, "a request for rows").await?;
        Ok(CopyIn::new(&mut self.messages))
    }
}

impl client::Session for Session {
    type Options = ConnectOptions;

    const GOODBYE: &'static [u8] = b"X\0\0\0\x04";

    /// The phase `preface` is the request for TLS and its answer, which direct TLS and plaintext do not have; `setup` is what
    /// the server says of itself after the login.
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
        Some(&self.messages.stream)
    }

    fn stream_mut(&mut self) -> Option<&mut Stream> {
        Some(&mut self.messages.stream)
    }
}

impl SqlSession for Session {
    type Statement = Statement;

    const DIALECT: Dialect = DIALECT;

    fn within(options: &ConnectOptions, schema: Option<&str>) -> ConnectOptions {
        ConnectOptions {
            schema: schema.map(str::to_owned),
            ..options.clone()
        }
    }

    fn id(&self) -> u32 {
        self.process
    }

    async fn prepare(&mut self, sql: &str, parameters: &[Parameter]) -> Result<Statement> {
        let (name, types) = self.prepared(sql).await?;
        Statement::new(&name, parameters, &types)
    }

    async fn execute_rows(
        &mut self,
        statement: &mut Statement,
        on_row: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.messages.ask(statement.request(Format::Binary)?).await?;
        result::read_executed(&mut self.messages, on_row).await
    }

    fn texts(row: &[u8], _columns: usize) -> Result<impl Iterator<Item = Result<&[u8]>>> {
        Ok(Values::of(row)?.map(|value| Ok(value?.unwrap_or_default())))
    }

    /// All values are texts as the server writes them.
    async fn execute_values(
        &mut self,
        statement: &mut Statement,
        on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.messages.ask(statement.request(Format::Text)?).await?;
        result::read_executed(&mut self.messages, on_values(on_row)).await
    }

    async fn run(&mut self, query: &mut Query) -> Result<ResultSummary> {
        self.messages.ask(request(query)?).await?;
        result::read_text(&mut self.messages, |_| Ok(())).await
    }

    async fn run_values(
        &mut self,
        query: &mut Query,
        on_row: impl FnMut(&[Value<'_>]) -> Result<()>,
    ) -> Result<ResultSummary> {
        self.messages.ask(request(query)?).await?;
        result::read_text(&mut self.messages, on_values(on_row)).await
    }

    async fn query(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        let mut collected = Collected::default();
        self.query_raw(sql, |row| collected.keep(row, text_row)).await?;
        Ok(collected.rows)
    }

    /// The statement ends with its line.
    async fn load(&mut self, rows: &mut Query) -> Result<u64> {
        let text = rows.text();
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let (statement, lines) = text.split_at(end);
        let mut copy = self.copy_in(&String::from_utf8_lossy(statement)).await?;
        copy.write(lines.get(1..).unwrap_or_default()).await?;
        copy.finish().await
    }

    async fn load_lines<'a>(
        &mut self,
        table_and_columns: &str,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<u64> {
        let mut copy = self
            .copy_in(&format!("COPY {table_and_columns} FROM STDIN"))
            .await?;
        for piece in pieces {
            copy.write(piece).await?;
        }
        copy.finish().await
    }
}

/// The numbers of the parameters' types; `None` if they are not as many as are said to follow.
fn parameter_types(body: &[u8]) -> Option<Vec<u32>> {
    let (count, mut rest) = int2(body)?;
    if rest.len() != usize::from(count) * size_of::<u32>() {
        return None;
    }
    let mut types = Vec::with_capacity(count.into());
    while let Some((oid, left)) = int4(rest) {
        types.push(oid.cast_unsigned());
        rest = left;
    }
    Some(types)
}

/// `18` of `18.0 (Debian 18.0-1)` or `18beta1`.
fn leading_number(version: &str) -> Option<u32> {
    let end = version
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(version.len());
    version[..end].parse().ok()
}

const COPY_DATA: u8 = b'd';
const COPY_DONE: &[u8] = b"c\0\0\0\x04";
/// Rows travel in messages of about so many bytes.
const CHUNK: usize = 64 << 10;

/// Rows on their way to the server. One that is neither finished nor given up leaves its session unusable.
pub struct CopyIn<'a> {
    messages: &'a mut Messages,
    /// A message in the making.
    message: Vec<u8>,
}

impl<'a> CopyIn<'a> {
    fn new(messages: &'a mut Messages) -> Self {
        let mut message = Vec::with_capacity(CHUNK + CHUNK / 4);
        message.extend_from_slice(&[COPY_DATA, 0, 0, 0, 0]);
        Self { messages, message }
    }

    /// Appends data as the statement says it is written.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn write(&mut self, data: &[u8]) -> Result<()> {
        for piece in data.chunks(CHUNK) {
            self.message.extend_from_slice(piece);
            self.send_if_much().await?;
        }
        Ok(())
    }

    /// Sends the rest, and returns the number of rows that the server took.
    ///
    /// # Errors
    /// The server's own, after which none of the rows is there, and those of the connection.
    pub async fn finish(mut self) -> Result<u64> {
        if self.message.len() == HEADER {
            self.message.clear();
        } else {
            write_length(&mut self.message, 0)?;
        }
        self.message.extend_from_slice(COPY_DONE);
        self.send().await?;
        read_copied(self.messages).await
    }

    async fn send(&mut self) -> Result<()> {
        match self.messages.stream.send(&self.message).await {
            // A server that ends a session says why before it hangs up, while rows are still on their way to it.
            Err(gone @ (WireError::Io(_) | WireError::Closed)) => Err(last_word(self.messages, gone).await),
            sent => sent,
        }
    }

    async fn send_if_much(&mut self) -> Result<()> {
        if self.message.len() < CHUNK {
            return Ok(());
        }
        write_length(&mut self.message, 0)?;
        self.send().await?;
        self.message.truncate(HEADER);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_up_to_their_first_dot() {
        for (version, major) in [
            ("15.18 (Debian 15.18-0+deb12u1)", Some(15)),
            ("15.18 (Debian)", Some(15)),
            ("18beta1", Some(18)),
            ("18", Some(18)),
            ("", None),
            ("devel", None),
            ("CockroachDB", None),
        ] {
            assert_eq!(leading_number(version), major, "{version}");
        }
    }
}
