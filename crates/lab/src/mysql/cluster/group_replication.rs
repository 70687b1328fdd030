//! MySQL's group replication, with a single primary: the first node.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use ciphertax_model::Secret;
use ciphertax_wire::sql::Statements as _;

use crate::accounts::Account;
use crate::error::{Error, Result};
use crate::mysql::at_rest::Asked;

use super::{Between, pause};

/// The group; nobody else's node can reach this one.
const GROUP: &str = "c1940e70-0000-4000-8000-000000000000";

/// Where a node keeps its identity, which it makes anew if it has none.
const IDENTITY: &str = "auto.cnf";

pub(in crate::mysql) struct GroupReplication {
    between: Between,
}

impl GroupReplication {
    pub(super) fn new(between: Between) -> Result<Self> {
        Ok(Self { between })
    }

    pub(super) fn between(&self) -> &Between {
        &self.between
    }

    pub(super) fn distinguish(&self, data: &Path) -> Result<()> {
        let path = data.join(IDENTITY);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(&path)(error)),
            _ => Ok(()),
        }
    }

    pub(super) fn options(&self, node: usize, port: u16) -> Vec<OsString> {
        let option = |(name, value): (&str, String)| OsString::from(format!("--{name}={value}"));
        [
            ("server-id", (node + 1).to_string()),
            ("gtid-mode", "ON".into()),
            ("enforce-gtid-consistency", "ON".into()),
            // A group refuses rows of tables that have none, as histories do.
            ("sql-generate-invisible-primary-key", "ON".into()),
            ("plugin-load-add", "group_replication.so".into()),
            ("report-host", self.between.at.to_string()),
            ("report-port", port.to_string()),
            ("loose-group-replication-group-name", GROUP.into()),
            (
                "loose-group-replication-local-address",
                self.between.address(node).to_string(),
            ),
            // Left alone it lets in private networks, of which a link's addresses are none.
            (
                "loose-group-replication-ip-allowlist",
                self.between.at.to_string(),
            ),
            ("loose-group-replication-group-seeds", self.between.addresses()),
            ("loose-group-replication-start-on-boot", "OFF".into()),
            (
                "loose-group-replication-ssl-mode",
                ssl_mode(self.between.tls.is_some()).into(),
            ),
            (
                "loose-group-replication-recovery-use-ssl",
                if self.between.tls.is_some() { "ON" } else { "OFF" }.into(),
            ),
            // A node that joins logs in to another, once.
            ("loose-group-replication-recovery-get-public-key", "ON".into()),
        ]
        .map(option)
        .to_vec()
    }

    /// The first node is the group; the others join it one after the other.
    pub(super) fn join(&self, nodes: &[Asked<'_>], account: &Account) -> Result<()> {
        for (number, node) in nodes.iter().enumerate() {
            node.run(async |_, session| {
                let is_first = number == 0;
                if is_first {
                    session
                        .query("SET GLOBAL group_replication_bootstrap_group = ON")
                        .await?;
                }
                session.query(&start(&account.user, &account.password)).await?;
                if is_first {
                    session
                        .query("SET GLOBAL group_replication_bootstrap_group = OFF")
                        .await?;
                }
                Ok(())
            })?;
        }
        let all = self.between.ports.len().to_string();
        let online =
            "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'";
        for node in nodes {
            node.run(async |reactor, session| {
                loop {
                    let rows = session.query(online).await?;
                    if rows.first().is_some_and(|row| row.text(0) == all) {
                        return Ok(());
                    }
                    pause(reactor).await;
                }
            })?;
        }
        Ok(())
    }
}

/// Passwords here are letters and digits alone.
fn start(user: &str, password: &Secret) -> String {
    format!(
        "START GROUP_REPLICATION USER = '{user}', PASSWORD = '{}'",
        password.expose()
    )
}

fn ssl_mode(tls: bool) -> &'static str {
    if tls { "REQUIRED" } else { "DISABLED" }
}

pub(super) fn settings(nodes: u8, tls: bool) -> Vec<(&'static str, String)> {
    vec![
        ("group_replication_members", nodes.to_string()),
        ("group_replication_single_primary_mode", "ON".into()),
        ("group_replication_ssl_mode", ssl_mode(tls).into()),
        ("gtid_mode", "ON".into()),
    ]
}
