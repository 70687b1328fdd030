//! Errors between a client and a server, and what the user can do about them.

use std::{fmt, io};

use crate::Protocol;

/// What went wrong between client and server, in words that name the thing.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The name has no address.
    #[error("{host} cannot be resolved: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// No connection.
    #[error("cannot connect to {address}: {source}; is the server running and reachable from here?")]
    Connect {
        /// Where to.
        address: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The server closed the connection in the middle of an exchange.
    #[error("the server closed the connection")]
    Closed,
    /// The TLS handshake or a TLS record failed.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// What came in answer to the beginning of TLS is not TLS.
    #[error("what came in answer to the beginning of TLS is not TLS: is it another server's port?")]
    NotTls,
    /// There is no TLS session that could be resumed.
    #[error(
        "TLS failed: the server gives no session of the kind that the arm asks for, so none can be resumed; ask for another \
         kind of resumption, or for none"
    )]
    NoSession,
    /// The server's certificate does not stand the verification that was asked for.
    #[error("the server's certificate is not trusted: {why} ({reason})")]
    NotTrusted {
        /// What is wrong with it.
        why: Distrust,
        /// What the TLS library said.
        reason: String,
    },
    /// A certificate authority file cannot be used.
    #[error("the CA file {path} cannot be used: {problem}")]
    CaFile {
        /// The file.
        path: String,
        /// Why.
        problem: String,
    },
    /// The client's own certificate or its key cannot be used.
    #[error("the client's certificate or key {path} cannot be used: {problem}")]
    ClientCertificate {
        /// The file.
        path: String,
        /// Why.
        problem: String,
    },
    /// TLS settings that contradict each other, or that the client's library cannot do; the message says what is
    /// available instead. Nothing was sent.
    #[error("the TLS settings are not available: {0}")]
    TlsSettings(String),
    /// The server offers no TLS although the arm asks for it.
    #[error("the server does not offer TLS; switch TLS on there, or leave TLS arms out")]
    TlsNotOffered,
    /// The server said no.
    #[error("the server refused with error {code} ({sql_state}): {message}")]
    Server {
        /// The server's error code.
        code: u16,
        /// The five characters of SQLSTATE.
        sql_state: String,
        /// The server's message.
        message: String,
    },
    /// The server said no, in PostgreSQL's way.
    #[error("the server refused with {severity} {sql_state}: {message}")]
    PostgreSql {
        /// `ERROR`, `FATAL` or `PANIC`; after all but the first the server closes the connection.
        severity: String,
        /// The five characters of SQLSTATE.
        sql_state: String,
        /// The server's message.
        message: String,
    },
    /// The server said no to a command, in MongoDB's way.
    #[error("the server refused with error {code} ({name}): {message}")]
    Command {
        /// The server's error code.
        code: i32,
        /// The code's name.
        name: String,
        /// The server's message.
        message: String,
    },
    /// SQLite said no.
    #[error("SQLite refused with error {code}: {message}")]
    Sqlite {
        /// SQLite's extended result code.
        code: i32,
        /// Its message.
        message: String,
    },
    /// The server hung up on the first thing that the client said.
    #[error("the server closed the connection at the client's first message, which was {}", first_message(*.encrypted))]
    HungUp {
        /// True if that message began TLS.
        encrypted: bool,
    },
    /// A replica set cannot be written to.
    #[error("the replica set {0:?} has no primary")]
    NoPrimary(String),
    /// The server wants the password itself, and nobody verified who would get it. What can be done is said with it.
    #[error("the password was not sent: {0}")]
    PasswordWithheld(String),
    /// The login cannot go on.
    #[error("login failed: {0}")]
    Authentication(String),
    /// A request that cannot be made.
    #[error("the request cannot be sent: {0}")]
    Request(String),
    /// The server sent what the protocol does not allow here.
    #[error("the server broke the protocol: {0}")]
    Protocol(String),
}

impl WireError {
    pub(crate) fn protocol(problem: impl Into<String>) -> Self {
        Self::Protocol(problem.into())
    }

    /// True if the server said no, in whatever protocol's way.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Server { .. } | Self::Command { .. } | Self::PostgreSql { .. } | Self::Sqlite { .. }
        )
    }

    /// True if the server says that it takes plaintext connections of nobody. MongoDB hangs up for other reasons too, and
    /// PostgreSQL may mean the user, whom it takes neither way.
    pub fn is_tls_demanded_of_all(&self) -> bool {
        matches!(self, Self::Server { .. }) && self.is_tls_demanded()
    }

    /// True if the server said no to user or password, or to what the user may do.
    pub fn is_access_denied(&self) -> bool {
        match self {
            // ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
            // ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR
            Self::Server { code, .. } => matches!(code, 1044 | 1045 | 1142 | 1227 | 1698),
            // Unauthorized, AuthenticationFailed
            Self::Command { code, .. } => matches!(code, 13 | 18),
            // invalid_authorization_specification, invalid_password, insufficient_privilege
            Self::PostgreSql { sql_state, .. } => matches!(&**sql_state, "28000" | "28P01" | "42501"),
            _ => false,
        }
    }

    /// True if the server says that it cannot do this, for anybody.
    pub fn is_not_supported(&self) -> bool {
        // ER_NOT_SUPPORTED_YET
        matches!(self, Self::Server { code: 1235, .. })
    }

    /// True if the server lets the user in and not do what was asked.
    pub fn is_missing_right(&self) -> bool {
        match self {
            // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR,
            // ER_SPECIFIC_ACCESS_DENIED_ERROR
            Self::Server { code, .. } => matches!(code, 1044 | 1142 | 1143 | 1227),
            // Unauthorized
            Self::Command { code, .. } => *code == 13,
            // insufficient_privilege
            Self::PostgreSql { sql_state, .. } => sql_state == "42501",
            _ => false,
        }
    }

    /// True if the server takes no plaintext connection. A MongoDB server does not say so, it hangs up; a PostgreSQL
    /// says that no line of its `pg_hba.conf` is for connections without encryption (`SSL off` before PostgreSQL 14), also
    /// where none is for those with it. Over a Unix socket it has no TLS to demand.
    pub fn is_tls_demanded(&self) -> bool {
        match self {
            // ER_SECURE_TRANSPORT_REQUIRED
            Self::Server { code: 3159, .. } | Self::HungUp { encrypted: false } => true,
            // invalid_authorization_specification
            Self::PostgreSql { message, .. } if self.is_of_pg_hba() && !self.is_over_socket() => {
                ["no encryption", "SSL off"]
                    .iter()
                    .any(|end| message.ends_with(end))
            }
            _ => false,
        }
    }

    /// True if a PostgreSQL says no because of its `pg_hba.conf`, before it asks for a password.
    pub fn is_of_pg_hba(&self) -> bool {
        // invalid_authorization_specification
        matches!(self, Self::PostgreSql { sql_state, message, .. }
            if sql_state == "28000" && message.contains("pg_hba.conf"))
    }

    /// True if a PostgreSQL names a Unix socket as where the client comes from.
    pub(crate) fn is_over_socket(&self) -> bool {
        matches!(self, Self::PostgreSql { message, .. } if message.contains("\"[local]\""))
    }

    /// True if client and server have no version of TLS in common, by the words of either library: OpenSSL's `tlsv1 alert
    /// protocol version` and `unsupported protocol`, and `ProtocolVersion` of rustls.
    pub fn is_version_refused(&self) -> bool {
        let words = ["protocol version", "unsupported protocol", "ProtocolVersion"];
        matches!(self, Self::Tls(reason) if words.iter().any(|words| reason.contains(words)))
    }

    /// True if a member of a replica set says that it is no primary, or no longer, or that it is going away: the set
    /// has another primary, or soon will.
    pub fn is_not_primary(&self) -> bool {
        // ShutdownInProgress, PrimarySteppedDown, NotWritablePrimary, InterruptedAtShutdown,
        // InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary (MongoDB's error_codes.yml)
        matches!(
            self,
            Self::Command {
                code: 91 | 189 | 10107 | 11600 | 11602 | 13435 | 13436,
                ..
            }
        )
    }

    /// True if there was no TLS session, for a reason that may lie in what of TLS the server has: not in whom it is, in
    /// what the client was told, or in the network.
    pub fn is_failed_handshake(&self) -> bool {
        matches!(
            self,
            Self::Tls(_) | Self::NotTls | Self::NoSession | Self::HungUp { encrypted: true } | Self::Closed
        ) || matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::ConnectionReset)
    }

    /// True if the connection is gone, which is what a server that died looks like. A PostgreSQL says so before it goes.
    pub fn is_disconnect(&self) -> bool {
        match self {
            Self::Io(_) | Self::Closed | Self::HungUp { .. } | Self::Connect { .. } => true,
            // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout
            Self::PostgreSql { sql_state, .. } => sql_state.starts_with("57P"),
            _ => false,
        }
    }
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// It, or one that it rests on, has expired.
    Expired,
    /// It, or one that it rests on, is not valid yet.
    NotYetValid,
    /// No certificate of the CA file leads to it.
    OtherAuthority,
    /// It is for other names than the host's.
    OtherName,
    /// Something else, which the TLS library names.
    Other,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "it has expired, or one that it rests on has",
            Self::NotYetValid => "it is not valid yet, or one that it rests on is not",
            Self::OtherAuthority => "it was signed by another CA than the one that is named",
            Self::OtherName => "it is for other names than the one connected to",
            Self::Other => "it does not stand verification",
        })
    }
}

fn first_message(encrypted: bool) -> &'static str {
    if encrypted { "one of TLS" } else { "not encrypted" }
}

impl WireError {
    /// What the user can do about it, as the rest of a sentence with the options of this protocol's clients; empty
    /// where the message says it already.
    pub fn remedy(&self, protocol: Protocol) -> &'static str {
        if let Self::NotTrusted { why, .. } = self {
            why.remedy(protocol)
        } else if self.is_over_socket() && self.is_of_pg_hba() {
            "; no line of pg_hba.conf lets this user in over the socket: add a line for this user and database that begins with \
             local, and have it read: SELECT pg_reload_conf()"
        } else if self.is_tls_demanded() {
            match protocol {
                // It says the same where no line is for the user at all.
                Protocol::PostgreSql => {
                    "; no line of pg_hba.conf lets this user in without encryption, though one that begins with hostssl may over \
                     TLS: leave plaintext out, or add a line for this user, database and address, and have it read: SELECT \
                     pg_reload_conf()"
                }
                _ => "; this server demands TLS: leave plaintext out",
            }
        } else if self.is_of_pg_hba() {
            "; add a line for this user, database and address to the server's pg_hba.conf, and have it read: SELECT \
             pg_reload_conf()"
        } else if let Self::PostgreSql { sql_state, .. } = self
            && let Some(remedy) = of_postgresql(sql_state)
        {
            remedy
        } else if matches!((self, protocol), (Self::HungUp { .. }, Protocol::PostgreSql)) {
            "; direct TLS needs PostgreSQL 17 or newer with TLS switched on: leave arms with it out"
        } else if matches!(self, Self::HungUp { .. }) {
            "; this server does not offer TLS: switch TLS on there, or leave TLS arms out"
        } else if self.is_missing_right() {
            match protocol {
                Protocol::MySql => "; the account needs GRANT ALL ON ciphertax.*",
                Protocol::MongoDb => "; the user needs the role dbOwner on the database ciphertax",
                Protocol::PostgreSql => {
                    "; the user needs rights in the schema ciphertax, or CREATE on the database"
                }
            }
        } else if self.is_access_denied() {
            "; check user and password"
        } else {
            ""
        }
    }
}

/// What can be done about what a PostgreSQL said no to, where its message does not say that; `None` for the rest.
fn of_postgresql(sql_state: &str) -> Option<&'static str> {
    Some(match sql_state {
        // The server does not say which; of the second its log does.
        "28P01" => {
            "; check user and password, and where pg_hba.conf asks for scram-sha-256 that the account's password is no \
             md5 one from before: set it anew"
        }
        "3D000" => "; the URL names the database after the host, or else it is the one named like the user",
        "53100" => {
            "; make room on the server's disk, or take a smaller data set (--set dataset.table_size=…)"
        }
        "53300" => "; close some of its connections, or raise max_connections, or the limit that it names",
        "57P03" => "; wait until it has started",
        _ => return None,
    })
}

impl Distrust {
    fn remedy(self, protocol: Protocol) -> &'static str {
        match (self, protocol) {
            (Self::Expired, Protocol::MySql) => {
                "; renew it on the server (its variable ssl_cert), and look whether this machine's clock is right; without \
                 ssl-ca in the URL nobody looks at it"
            }
            (Self::Expired, Protocol::MongoDb) => {
                "; renew it on the server (net.tls.certificateKeyFile), and look whether this machine's clock is right; without \
                 tlsCAFile in the URL nobody looks at it"
            }
            (Self::Expired, Protocol::PostgreSql) => {
                "; renew it on the server (its setting ssl_cert_file), and look whether this machine's clock is right; without \
                 sslrootcert in the URL nobody looks at it"
            }
            (Self::NotYetValid, _) => "; look whether this machine's clock and the server's are right",
            (Self::OtherAuthority, Protocol::MySql) => {
                "; ssl-ca must name the file of the CA that signed it, which the server's administrator has (often the server's \
                 variable ssl_ca)"
            }
            (Self::OtherAuthority, Protocol::MongoDb) => {
                "; tlsCAFile must name the file of the CA that signed it, which the server's administrator has (often the \
                 server's net.tls.CAFile)"
            }
            (Self::OtherAuthority, Protocol::PostgreSql) => {
                "; sslrootcert must name the file of the CA that signed it, which the server's administrator has"
            }
            (Self::OtherName, Protocol::MySql) => {
                "; connect by a name that it has, or say ssl-mode=VERIFY_CA, which looks at no name"
            }
            (Self::OtherName, Protocol::MongoDb) => {
                "; connect by a name that it has, or add tlsAllowInvalidHostnames=true, which looks at no name"
            }
            (Self::OtherName, Protocol::PostgreSql) => {
                "; connect by a name that it has, or say sslmode=verify-ca, which looks at no name"
            }
            (Self::Other, Protocol::MySql) => "; look at what ssl-ca names and what the server sends",
            (Self::Other, Protocol::MongoDb) => "; look at what tlsCAFile names and what the server sends",
            (Self::Other, Protocol::PostgreSql) => {
                "; look at what sslrootcert names and what the server sends"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PostgreSQL says the same of the encryption wherever the client comes from.
    #[test]
    fn over_a_unix_socket_no_postgresql_demands_tls() {
        let refused = |from: &str| WireError::PostgreSql {
            severity: "FATAL".into(),
            sql_state: "28000".into(),
            message: format!(
                "no pg_hba.conf entry for host \"{from}\", user \"app\", database \"shop\", no encryption"
            ),
        };
        let here = refused("[local]");
        assert!(!here.is_tls_demanded());
        assert!(here.remedy(Protocol::PostgreSql).contains("over the socket"));
        let elsewhere = refused("10.0.0.1");
        assert!(elsewhere.is_tls_demanded());
        let remedy = elsewhere.remedy(Protocol::PostgreSql);
        assert!(
            remedy.contains("without encryption") && remedy.contains("hostssl"),
            "{remedy}"
        );
    }
}
