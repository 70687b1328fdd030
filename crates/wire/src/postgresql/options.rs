//! Options of a connection.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ciphertax_base::{LoginPath, Secret};

use crate::scram::ScramKeys;
use crate::tls::TlsConnector;

/// The protocol by which a TLS connection is known to be PostgreSQL's (ALPN); direct TLS requires it.
pub const ALPN: &str = "postgresql";

/// What a connection needs to know.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A relay before the server, which is then connected to in its place.
    pub relay: Option<SocketAddr>,
    /// Unix socket of the server to connect over instead of TCP (`…/.s.PGSQL.5432`).
    pub socket: Option<PathBuf>,
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// Database; `None` for the one named like the user.
    pub database: Option<String>,
    /// Where tables are looked for (`search_path`); `None` for where the server looks.
    pub schema: Option<String>,
    /// Further settings of the session by their names, as `application_name` or `options`.
    pub settings: Vec<(String, String)>,
    /// TLS; `None` for a plaintext connection.
    pub tls: Option<Arc<TlsConnector>>,
    /// How TLS begins.
    pub negotiation: Negotiation,
    /// The only way to log in that is taken; `None` for any that the server asks for and that gives no password away: in
    /// plaintext it is sent over TLS or a Unix socket alone.
    pub method: Option<Method>,
    /// Where SCRAM takes its keys from.
    pub scram_keys: ScramKeys,
    /// The version that is asked for; a server may answer with an older one.
    pub protocol: ProtocolVersion,
}

impl ConnectOptions {
    /// A plaintext connection over TCP by protocol 3.0 that logs in as the server asks and derives SCRAM's keys anew.
    pub fn new(host: impl Into<String>, port: u16, user: impl Into<String>, password: Secret) -> Self {
        Self {
            host: host.into(),
            port,
            relay: None,
            socket: None,
            user: user.into(),
            password,
            database: None,
            schema: None,
            settings: Vec::new(),
            tls: None,
            negotiation: Negotiation::Request,
            method: None,
            scram_keys: ScramKeys::Derived,
            protocol: ProtocolVersion::V3_0,
        }
    }
}

/// How TLS begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Negotiation {
    /// The client asks for it and waits for the server's yes (`SSLRequest`).
    #[default]
    Request,
    /// At once, without a question, which saves a round trip (PostgreSQL 17). The connector must offer [`ALPN`].
    Direct,
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ProtocolVersion {
    /// Since PostgreSQL 7.4.
    #[default]
    V3_0,
    /// Since PostgreSQL 18: what cancels a query is longer than 4 bytes.
    V3_2,
}

impl ProtocolVersion {
    /// As messages say it: the major version in the upper half, the minor in the lower.
    pub(super) fn number(self) -> i32 {
        match self {
            Self::V3_0 => 0x0003_0000,
            Self::V3_2 => 0x0003_0002,
        }
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V3_0 => "3.0",
            Self::V3_2 => "3.2",
        })
    }
}

/// A way to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The server asks for nothing.
    Trust,
    /// The password as it is.
    Password,
    /// MD5 of a challenge and of the MD5 of password and user.
    Md5,
    /// SCRAM (RFC 7677), not tied to the TLS session even where that is offered.
    ScramSha256,
    /// SCRAM tied to the TLS session by the server's certificate (RFC 5929).
    ScramSha256Plus,
    /// The client's certificate: the server asks for nothing more.
    Certificate,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 6] = [
        Self::Trust,
        Self::Password,
        Self::Md5,
        Self::ScramSha256,
        Self::ScramSha256Plus,
        Self::Certificate,
    ];

    /// Its name in records and study files: that of `pg_hba.conf`, of SCRAM that of the mechanism.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::Password => "password",
            Self::Md5 => "md5",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha256Plus => "SCRAM-SHA-256-PLUS",
            Self::Certificate => "cert",
        }
    }

    /// The method of this name; `None` for one that is not PostgreSQL's.
    pub fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// True where the client shows that it knows a password.
    pub fn has_password(self) -> bool {
        !matches!(self, Self::Trust | Self::Certificate)
    }

    /// The paths that a login may take.
    pub(super) fn is_scram(self) -> bool {
        matches!(self, Self::ScramSha256 | Self::ScramSha256Plus)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoggedIn {
    pub(super) method: Method,
    pub(super) path: LoginPath,
    /// Of SCRAM.
    pub(super) iterations: Option<u32>,
    /// CPU time of the client's steps in nanoseconds.
    pub(super) cpu_ns: u64,
}
