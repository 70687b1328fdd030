//! What is asked of a server over its control session.

use std::collections::BTreeMap;

use ciphertax_lab::catalogue::Entry;
use ciphertax_wire::postgresql::{ConnectOptions, Method, Session, TextRow};
use ciphertax_wire::{Negotiated as _, WireError};
use ciphertax_workload::dataset::{self, Contents};

use super::clients::PostgreSql;
use super::product::product;
use super::removal::or_none;
use crate::database::{Control, Description};
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
    /// Which server it is, by its own words. `private` is its entry in the catalogue.
    pub(super) fn describe(&mut self, private: Option<&Entry>) -> Result<Description, RunError> {
        let version = self.word("SELECT pg_catalog.version()")?;
        let server_version = self.ask(async |session| Ok(session.server_version().to_owned()))?;
        let tls_library = match private {
            Some(entry) => entry.tls_library.to_owned(),
            None => self.setting("ssl_library")?,
        };
        let product = product(&version);
        Ok(Description {
            product: product.to_owned(),
            // Others say a version of PostgreSQL there.
            version: match product {
                "PostgreSQL" => server_version,
                _ => version,
            },
            tls_library,
            settings: self.settings()?,
        })
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, RunError> {
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let rows = self.allowed(&format!(
            "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name IN ({names})"
        ))?;
        Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
    }

    /// A setting; empty where the server does not know it.
    fn setting(&mut self, name: &str) -> Result<String, RunError> {
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

    /// Has the tables there, and tells whether they hold nothing; false as well where something is wrong.
    pub(super) fn begin(&mut self, contents: &Contents) -> Result<bool, RunError> {
        self.remove_other(contents, contents.patience())?;
        let begun = dataset::begin::<Session>(&self.reactor, &self.ways[0], contents);
        Ok(self.wait_for(contents.patience(), begun)?.unwrap_or(false))
    }

    /// Makes the data set, over sessions of its own. `given_up` gets the numbers of those for which the server may still work
    /// after a failure.
    pub(super) fn prepare(
        &mut self,
        contents: &Contents,
        given_up: &mut Vec<u32>,
        progress: impl FnMut(u64),
    ) -> Result<(), RunError> {
        self.remove_other(contents, contents.patience())?;
        let mut opened = Vec::new();
        let prepare = dataset::prepare_contents::<Session>(
            &self.reactor,
            &self.ways[0],
            contents,
            &mut opened,
            progress,
        );
        let prepared = self.wait_for(contents.patience(), prepare);
        if !matches!(prepared, Ok(Ok(()))) {
            *given_up = opened;
        }
        prepared?.map_err(|error| self.of_dataset(error))
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
    fn word(&mut self, sql: &str) -> Result<String, RunError> {
        Ok(self
            .allowed(sql)?
            .first()
            .map(|row| row.text(0))
            .unwrap_or_default())
    }
}
