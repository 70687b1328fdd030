//! MySQL Router: it logs in to the server by its clients' passwords, which it has of them at each login, so it has no accounts.

use std::ffi::OsString;

use ciphertax_model::{PoolMode, Transport};
use ciphertax_supervise::guard::Ending;

use super::{Place, PoolerKind, Start, Version};
use crate::catalogue::{Entry, MYSQL};
use crate::error::Result;

/// Its settings that are always the same: one server, nothing is written for every connection, and nothing runs out.
const SETTINGS: &str = "max_connections = 10000\nmax_connect_errors = 4294967295\nprotocol = classic\n\
                        routing_strategy = first-available\nserver_ssl_verify = VERIFY_IDENTITY\n";

pub(super) struct MySqlRouter;

impl PoolerKind for MySqlRouter {
    fn fetched_with(&self) -> &'static Entry {
        &MYSQL
    }

    /// Debian 12 has none.
    fn package(&self) -> Option<&'static str> {
        None
    }

    fn libraries(&self) -> Option<&'static str> {
        Some("usr/lib/mysql-router")
    }

    /// `MySQL Router  Ver 9.7.4-2 for Linux on x86_64 ((Debian))`
    fn version_mark(&self) -> &'static str {
        "Router  Ver "
    }

    /// A client that has prepared statements keeps its connection.
    fn keeps_prepared_statements(&self, _version: Version) -> bool {
        true
    }

    fn ending(&self, _version: Version) -> Ending {
        Ending::Terminate
    }

    fn facts(&self, start: &Start) -> Vec<(&'static str, String)> {
        let shares = match start.pooler.pool_mode {
            PoolMode::Session => "0",
            PoolMode::Transaction => "1",
        };
        vec![
            ("connection_sharing", shares.to_owned()),
            ("connection_sharing_delay", "0".to_owned()),
            ("client_ssl_mode", ssl_mode(start.transport).to_owned()),
            (
                "server_ssl_mode",
                ssl_mode(start.pooler.server_transport).to_owned(),
            ),
        ]
    }

    fn prepare(&self, start: &Start, place: &Place<'_>) -> Result<Vec<OsString>> {
        let folder = place.folder.display();
        let root = start.program.folder().ancestors().nth(2).unwrap_or(place.folder);
        let mut text = format!(
            "[DEFAULT]\nplugin_folder = {}\nruntime_folder = {folder}\ndata_folder = {folder}\nlogging_folder =\n\
             max_total_connections = 10000\n[logger]\nlevel = warning\n[connection_pool]\n\
             max_idle_server_connections = {}\nidle_timeout = 86400\n[routing:server]\nbind_address = {}\nbind_port = {}\n\
             destinations = 127.0.0.1:{}\n{SETTINGS}",
            root.join("usr/lib/mysqlrouter/plugin").display(),
            start.pool_size(),
            place.listen.ip(),
            place.listen.port(),
            place.server_port,
        );
        if let Some(files) = &start.tls {
            for (name, file) in [
                ("client_ssl_cert", &files.certificate),
                ("client_ssl_key", &files.key),
                ("server_ssl_ca", &files.ca),
            ] {
                text += &format!("{name} = {}\n", file.display());
            }
        }
        for (name, value) in self.facts(start) {
            text += &format!("{name} = {value}\n");
        }
        Ok(vec!["--config".into(), place.write("router.conf", &text)?.into()])
    }
}

fn ssl_mode(transport: Transport) -> &'static str {
    if transport.is_encrypted() {
        "REQUIRED"
    } else {
        "DISABLED"
    }
}
