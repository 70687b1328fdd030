//! Pgpool-II before a single server: a process for each client, which keeps its connection to the server for the next one. Clients
//! may use TLS where it may use it with the server, and each arm's clients do what the arm says.

use std::ffi::OsString;

use ciphertax_supervise::guard::Ending;

use super::{Place, PoolerKind, Start, Version};
use crate::accounts::Account;
use crate::error::Result;
use crate::postgresql::DATABASE;
use crate::postgresql::accounts::hba_method;

/// What it is always started with: it looks at no query and at no other server, and nothing ends a connection that is idle.
const SETTINGS: &str = "backend_clustering_mode = 'raw'\npcp_listen_addresses = ''\nbackend_hostname0 = '127.0.0.1'\n\
                        load_balance_mode = off\nconnection_cache = on\nmax_pool = 1\nchild_life_time = 0\n\
                        enable_pool_hba = on\nfailover_on_backend_error = off\nlog_min_messages = warning\n";

pub(super) struct Pgpool;

impl PoolerKind for Pgpool {
    fn package(&self) -> Option<&'static str> {
        Some("pgpool2")
    }

    /// `pgpool-II version 4.3.5 (tamahomeboshi)`
    fn version_mark(&self) -> &'static str {
        "pgpool-II version "
    }

    /// It does not have to: a client keeps its connection.
    fn keeps_prepared_statements(&self, _version: Version) -> bool {
        false
    }

    /// After `SIGTERM` it waits for its clients.
    fn ending(&self, _version: Version) -> Ending {
        Ending::Quit
    }

    fn facts(&self, start: &Start) -> Vec<(&'static str, String)> {
        let ssl = match start.pooler.server_transport.is_encrypted() {
            true => "on",
            false => "off",
        };
        vec![
            ("num_init_children", start.pool_size().to_string()),
            ("ssl", ssl.to_owned()),
        ]
    }

    fn prepare(&self, start: &Start, place: &Place<'_>) -> Result<Vec<OsString>> {
        let logins: String = start
            .accounts
            .iter()
            .map(|account| login(account, start))
            .collect();
        let known: String = start.accounts.iter().map(known).collect();
        let folder = place.folder.display();
        let mut text = format!(
            "{SETTINGS}listen_addresses = '{}'\nport = {}\nbackend_port0 = {}\npool_passwd = '{}'\nsocket_dir = '{folder}'\n\
             pcp_socket_dir = '{folder}'\nlogdir = '{folder}'\npid_file_name = '{folder}/pgpool.pid'\n",
            place.listen.ip(),
            place.listen.port(),
            place.server_port,
            place.write("pool_passwd", &known)?,
        );
        if let Some(files) = &start.tls {
            for (name, file) in [
                ("ssl_cert", &files.certificate),
                ("ssl_key", &files.key),
                ("ssl_ca_cert", &files.ca),
            ] {
                text += &format!("{name} = '{}'\n", file.display());
            }
        }
        for (name, value) in self.facts(start) {
            text += &format!("{name} = {value}\n");
        }
        let settings = place.write("pgpool.conf", &text)?;
        let hba = place.write("pool_hba.conf", &logins)?;
        let words = ["-n", "-f", &settings, "-a", &hba];
        Ok(words.map(OsString::from).into())
    }
}

/// Who fits no line is rejected.
fn login(account: &Account, start: &Start) -> String {
    let connection = match start.transport.is_encrypted() {
        true => "hostssl",
        false => "hostnossl",
    };
    let method = hba_method(account.method);
    format!("{connection} {DATABASE} {} 0.0.0.0/0 {method}\n", account.user)
}

/// By its password it lets an account in and logs in to the server.
fn known(account: &Account) -> String {
    match account.password.expose() {
        "" => String::new(),
        password => format!("{}:TEXT{password}\n", account.user),
    }
}
