//! What distinguishes MySQL's descendants from each other.

use ciphertax_model::AuthenticationMethod;

/// How one of MySQL's descendants is made, and what it understands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MySqlVariant {
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
    /// How it is told what to encrypt on the disk.
    pub(crate) at_rest: AtRestControl,
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

/// How a server is told what to encrypt on the disk, and where it has its keys from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtRestControl {
    /// It encrypts nothing by itself.
    None,
    /// MariaDB's plugin of this name, which reads keys from a file. Upstream's builds come without it; Debian's works with
    /// them.
    FileKeyManagement {
        /// Whether it can encrypt InnoDB's temporary tablespace (since 10.3).
        temporary_tablespace: bool,
    },
    /// MySQL's `component_keyring_file`, which makes its keys itself.
    KeyringComponent,
}

impl MySqlVariant {
    /// The library that must be loaded for an authentication method; `None` if it is built in.
    pub(crate) fn plugin(&self, method: AuthenticationMethod) -> Option<&'static str> {
        self.plugins
            .iter()
            .find(|(needs, _)| *needs == method)
            .map(|(_, library)| *library)
    }
}
