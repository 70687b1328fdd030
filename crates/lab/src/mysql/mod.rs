//! MySQL and its descendants.

mod accounts;
mod installation;
mod my_cnf;
mod plan;
mod proof;
mod statements;
mod system_tables;
mod template;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ciphertax_model::AuthenticationMethod;
use ciphertax_supervise::{Known, LONGEST_SOCKET_NAME};

use crate::accounts::USER;
use crate::catalogue::{Protocol, Refusal};
use crate::error::Result;
use crate::install::InstallStep;
use crate::locate::Installation;
use crate::log;
use crate::server::family::{Family, Plan, VersionQuery};
use crate::server::spec::Spec;

use installation::MySqlInstallation;
use plan::MySqlPlan;
pub use proof::{prove, select_canary};

/// The server's socket in its folder.
const SOCKET: &str = "server.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

/// Space that a server and a data set in memory need, in megabytes: redo log 100 MB, tablespaces, temporary tables.
const NEEDED_MB: u64 = 400;

/// How a server of this family is made and what it understands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MySql {
    /// How its system tables are made.
    pub(crate) system_tables: SystemTables,
    /// How its accounts are made.
    pub(crate) dialect: Dialect,
    /// Libraries that must be loaded for an authentication method, from its plugin folder.
    pub(crate) plugins: &'static [(AuthenticationMethod, &'static str)],
    /// How it is set which TLS it offers.
    pub(crate) tls_control: TlsControl,
    /// Settings that it needs besides those of every private server.
    pub(crate) settings: &'static [(&'static str, &'static str)],
}

/// How system tables are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemTables {
    /// From the statements in its `share` folder, by its bootstrap mode.
    Bootstrap,
    /// By `--initialize-insecure`.
    Initialize,
}

/// How accounts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `CREATE USER … IDENTIFIED VIA …`
    MariaDb,
    /// `CREATE USER … IDENTIFIED WITH … BY …`
    MySql,
    /// MySQL until 5.6: passwords of other plugins are set in a second step.
    MySql56,
}

/// How it is set which TLS a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsControl {
    /// By `tls_version`; old versions and short keys need OpenSSL's security level 0 in the cipher list.
    OpenSsl,
    /// By `tls_version`, which is empty for no TLS at all.
    EmptyVersionIsOff,
    /// By `tls_version`.
    Versions,
    /// There is no setting; and keys must be PKCS#1, else there is silently no TLS.
    YaSsl,
}

impl MySql {
    /// The library that must be loaded for an authentication method; `None` if it is built in.
    fn plugin(&self, method: AuthenticationMethod) -> Option<&'static str> {
        self.plugins
            .iter()
            .find(|(needs, _)| *needs == method)
            .map(|(_, library)| *library)
    }
}

impl Family for MySql {
    fn protocol(&self) -> Protocol {
        Protocol::MySql
    }

    /// Known by where its settings are.
    fn known(&self) -> Known {
        Known {
            programs: &["mariadbd", "mysqld"],
            works_in: |argument, folder| argument == defaults_file_option(folder).as_bytes(),
        }
    }

    /// `/usr/sbin/mysqld  Ver 9.7.0-1 for Linux on x86_64 ((Debian))`
    fn version_query(&self) -> VersionQuery {
        VersionQuery {
            options: &["--no-defaults", "--version"],
            mark: "Ver",
        }
    }

    fn client_name(&self) -> &'static str {
        USER
    }

    fn check_files(&self, installation: &Installation) -> Result<()> {
        MySqlInstallation::of(installation, self).map(drop)
    }

    fn is_complete(&self, installation: &Installation) -> bool {
        let has_plugins = |mysql: MySqlInstallation<'_>| {
            let mut plugins = self.plugins.iter();
            plugins.all(|(_, library)| mysql.has_plugin(library))
        };
        MySqlInstallation::of(installation, self).is_ok_and(has_plugins)
    }

    fn after_install(&self, installation: &Installation, on_step: &mut dyn FnMut(InstallStep)) -> Result<()> {
        on_step(InstallStep::Initialising);
        template::prepare(&MySqlInstallation::of(installation, self)?)
    }

    fn refusals(&self, spec: &Spec) -> Vec<Refusal> {
        let open = (!spec.access_control).then(|| spec.refusal("no access control", "accounts"));
        let set = spec
            .replica_set
            .map(|_| spec.refusal("a replica set", "a single server"));
        open.into_iter().chain(set).collect()
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(MySqlPlan::new(self, spec)?))
    }

    fn is_ready(&self, log: &str) -> bool {
        log.contains("ready for connections")
    }

    fn complaints(&self, log: &Path) -> String {
        log::tail_of(log)
    }
}

/// The option by which a server finds its settings.
fn defaults_file_option(folder: &Path) -> OsString {
    let mut option = OsString::from("--defaults-file=");
    option.push(folder.join("my.cnf"));
    option
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use super::*;
    use crate::catalogue::{CATALOGUE, Entry};

    /// Every server of this family.
    pub(super) fn family_members() -> impl Iterator<Item = (&'static Entry, &'static MySql)> {
        CATALOGUE
            .into_iter()
            .filter_map(|entry| Some((entry, (entry.family as &dyn Any).downcast_ref()?)))
    }

    #[test]
    fn every_plugin_belongs_to_what_the_server_can() {
        assert_eq!(family_members().count(), 7);
        for (entry, family) in family_members() {
            for (method, _) in family.plugins {
                let known = entry.capabilities.authentication;
                assert!(known.contains(method), "{}: {method}", entry.name);
            }
        }
    }

    #[test]
    fn what_a_server_cannot_be_is_refused_before_it_is_looked_for() {
        let error = crate::PrivateServer::builder(&crate::catalogue::MYSQL)
            .tls_versions(&[ciphertax_model::TlsVersion::V1_1])
            .account(AuthenticationMethod::Ed25519)
            .access_control(false)
            .start()
            .unwrap_err()
            .to_string();
        for words in [
            "mysql cannot do TLSv1.1",
            "authentication by ed25519",
            "no access control",
        ] {
            assert!(error.contains(words), "{error}");
        }
    }
}
