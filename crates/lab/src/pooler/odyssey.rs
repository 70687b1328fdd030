//! Odyssey: one file of settings, in which it also finds the passwords by which it logs in to the server.

use std::ffi::OsString;

use ciphertax_model::{AuthenticationMethod, PoolMode, Transport};
use ciphertax_supervise::guard::Ending;

use super::{Place, PoolerKind, Start, Version};
use crate::accounts::Account;
use crate::error::Result;
use crate::postgresql::DATABASE;
use crate::postgresql::accounts::hba_method;

/// What it is always started with: nothing is written down for every connection, and nothing runs out.
const SETTINGS: &str = "daemonize no\nlog_to_stdout yes\nlog_format \"%p %t %l [%i %s] (%c) %m\\n\"\nlog_session no\n\
                        log_stats no\nlog_config no\nclient_max 10000\n";

pub(super) struct Odyssey;

impl PoolerKind for Odyssey {
    /// Debian 12 has none.
    fn package(&self) -> Option<&'static str> {
        None
    }

    /// `odyssey 1.5.2`
    fn version_mark(&self) -> &'static str {
        "odyssey "
    }

    fn keeps_prepared_statements(&self, _version: Version) -> bool {
        true
    }

    fn ending(&self, _version: Version) -> Ending {
        Ending::Terminate
    }

    fn facts(&self, start: &Start) -> Vec<(&'static str, String)> {
        vec![
            ("pool", start.pooler.pool_mode.name().to_owned()),
            ("pool_size", start.pool_size().to_string()),
            ("listen tls", tls(start.transport, "require").to_owned()),
            (
                "storage tls",
                tls(start.pooler.server_transport, "verify_full").to_owned(),
            ),
        ]
    }

    fn prepare(&self, start: &Start, place: &Place<'_>) -> Result<Vec<OsString>> {
        let [certificate, ca] = match &start.tls {
            None => Default::default(),
            Some(files) => [
                format!(
                    "tls_cert_file {:?}\ntls_key_file {:?}\n",
                    files.certificate, files.key
                ),
                format!("tls_ca_file {:?}\n", files.ca),
            ],
        };
        let mut text = format!(
            "{SETTINGS}listen {{\nhost \"{}\"\nport {}\ntls \"{}\"\n{certificate}}}\n\
             storage \"server\" {{\ntype \"remote\"\nhost \"127.0.0.1\"\nport {}\ntls \"{}\"\n{ca}}}\n\
             database \"{DATABASE}\" {{\n",
            place.listen.ip(),
            place.listen.port(),
            tls(start.transport, "require"),
            place.server_port,
            tls(start.pooler.server_transport, "verify_full"),
        );
        for account in &start.accounts {
            text += &user(account, start);
        }
        text += "}\n";
        Ok(vec![place.write("odyssey.conf", &text)?.into()])
    }
}

fn tls(transport: Transport, encrypted: &'static str) -> &'static str {
    if transport.is_encrypted() {
        encrypted
    } else {
        "disable"
    }
}

/// Who is not named is refused.
fn user(account: &Account, start: &Start) -> String {
    let method = match account.method {
        AuthenticationMethod::Trust => "none",
        method => hba_method(method),
    };
    // By what the server keeps of a password it lets in, so that SCRAM has one salt; by the password it logs in.
    let passwords = account.verifier.as_ref().map(|verifier| {
        let (verifier, password) = (verifier.expose(), account.password.expose());
        format!("password {verifier:?}\nstorage_password {password:?}\n")
    });
    // Where transactions share connections, it prepares statements again on each.
    let prepares = match start.pooler.pool_mode {
        PoolMode::Session => "no",
        PoolMode::Transaction => "yes",
    };
    format!(
        "user {:?} {{\nauthentication {method:?}\n{}storage \"server\"\npool {:?}\npool_size {}\n\
         pool_reserve_prepared_statement {prepares}\n}}\n",
        account.user,
        passwords.unwrap_or_default(),
        start.pooler.pool_mode.name(),
        start.pool_size(),
    )
}
