//! What is asked of a server over its control session.

use std::collections::BTreeMap;

use ciphertax_wire::postgresql::{ConnectOptions, Method, Session, TextRow};
use ciphertax_wire::{Negotiated as _, WireError};

use super::clients::PostgreSql;
use super::removal::or_none;
use crate::database::Control;
use crate::error::RunError;
use crate::patience::PATIENCE;

/// Settings of a server whose value matters to what is measured; those it does not know are left out.
const SETTINGS: [&str; 20] = [
    "fsync",
    "full_page_writes",
    "io_method",
    "jit",
    "log_connections",
    "log_statement",
    "max_connections",
    "password_encryption",
    "scram_iterations",
    "shared_buffers",
    "shared_preload_libraries",
    "ssl",
    "ssl_ciphers",
    "ssl_ecdh_curve",
    "ssl_groups",
    "ssl_min_protocol_version",
    "ssl_tls13_ciphers",
    "synchronous_commit",
    "track_activities",
    "wal_level",
];

impl Control<PostgreSql> {
    pub(super) fn settings(&mut self) -> Result<BTreeMap<String, String>, RunError> {
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let rows = self.allowed(&format!(
            "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name IN ({names})"
        ))?;
        Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
    }

    /// A setting; empty where the server does not know it.
    pub(super) fn setting(&mut self, name: &str) -> Result<String, RunError> {
        self.word(&format!("SELECT pg_catalog.current_setting('{name}', true)"))
    }

    /// By which method sessions log in that leave it to the server; `None` for one that the client knows no name for.
    pub(super) fn method_of(&self, options: &ConnectOptions) -> Result<Option<Method>, RunError> {
        let visit = async {
            let (session, _) = Session::connect(&self.reactor, options).await?;
            let method = Method::called(&session.authentication().method);
            session.close().await?;
            Ok(method)
        };
        let method: Result<_, WireError> = self.wait_for(PATIENCE, visit)?;
        // What is wrong with it the proof of the arm says.
        Ok(method.unwrap_or(None))
    }

    /// The rows of a query.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>, RunError> {
        self.ask(async |session| session.query(sql).await)
    }

    /// The same; none where a compatible server does not know what is asked, or the account may not.
    pub(super) fn allowed(&mut self, sql: &str) -> Result<Vec<TextRow>, RunError> {
        self.ask(async |session| or_none(session.query(sql).await))
    }

    /// The first value of a query that may be refused; empty where there is none.
    pub(super) fn word(&mut self, sql: &str) -> Result<String, RunError> {
        Ok(self
            .allowed(sql)?
            .first()
            .map(|row| row.text(0))
            .unwrap_or_default())
    }
}
