//! Errors between a client and a server, and what the user can do about them.

use std::io;

use ciphertax_base::joined;
use rusqlite::ffi;

/// Result of everything between client and server.
pub(crate) type Result<T, E = WireError> = std::result::Result<T, E>;

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
        /// The server's message, in its language.
        message: String,
        /// The function of the server that said so, which is in no language; empty where that is not said, as by poolers.
        routine: String,
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
    /// Another server answers than the one that is expected.
    #[error("{address} {problem}")]
    OtherServer {
        /// Where it answers.
        address: String,
        /// What it is, and the remedy where there is one.
        problem: String,
    },
    /// A replica set cannot be written to.
    #[error("the replica set {set:?} has no primary{}", reasons(.silent))]
    NoPrimary {
        /// The set's name.
        set: String,
        /// Why members that may be it cannot be reached.
        silent: Vec<WireError>,
    },
    /// The server ended a session after TLS began, in which the client showed no certificate, before it said anything.
    #[error(
        "the server closed the connection right after the TLS handshake; it probably demands a certificate of its clients"
    )]
    CertificateDemanded,
    /// The server wants the password itself, and nobody verified who would get it. What can be done is said with it.
    #[error("the password was not sent: {0}")]
    PasswordWithheld(String),
    /// The login cannot go on.
    #[error("login failed: {0}")]
    Authentication(String),
    /// There is no way to load lines.
    #[error("the database loads no lines")]
    NoLines,
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

    /// True if the server said no and the session goes on.
    pub(crate) fn leaves_session(&self) -> bool {
        self.is_refusal() && !self.is_end_of_session()
    }

    /// True if the server ended the session with it.
    pub(crate) fn is_end_of_session(&self) -> bool {
        match self {
            Self::PostgreSql { severity, .. } => severity != "ERROR",
            // ER_NEW_ABORTING_CONNECTION, as where init_connect fails
            Self::Server { code, .. } => *code == 1184 || self.is_disconnect(),
            _ => false,
        }
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
            // ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, and accounts that are locked or expired
            Self::Server { code, .. } => {
                matches!(
                    code,
                    1044 | 1045 | 1142 | 1227 | 1698 | 1862 | 3118 | 3955 | 4150 | 4151
                )
            }
            // Unauthorized, AuthenticationFailed
            Self::Command { code, .. } => matches!(code, 13 | 18),
            // invalid_authorization_specification, invalid_password, insufficient_privilege
            Self::PostgreSql { sql_state, .. } => matches!(&**sql_state, "28000" | "28P01" | "42501"),
            _ => false,
        }
    }

    /// True if that may be for the password.
    pub fn is_of_password(&self) -> bool {
        self.is_access_denied() && !self.is_of_pg_hba() && self.of_login().is_none()
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

    /// True if the server finds nothing to take in what the client offers in a version that both have, by the words of either
    /// library.
    pub fn is_nothing_in_common(&self) -> bool {
        let words = ["alert handshake failure", "HandshakeFailure"];
        matches!(self, Self::Tls(reason) if words.iter().any(|words| reason.contains(words)))
    }

    /// True if the server gave up on a transaction for the sake of another, so that it is to be begun anew.
    pub fn is_to_be_restarted(&self) -> bool {
        match self {
            // Those that sysbench ignores (`--mysql-ignore-errors`): ER_CHECKREAD, ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK; and by
            // which TiDB says that a transaction's writes met another's, whose numbers no other server has
            // (<https://docs.pingcap.com/tidb/stable/error-codes>).
            Self::Server { code, .. } => matches!(code, 1020 | 1205 | 1213 | 8002 | 8005 | 8022 | 9007),
            // Those of sysbench (`drv_pgsql.c`): serialization_failure, deadlock_detected, and unique_violation, which a transaction
            // meets that puts back a row another has just put back.
            Self::PostgreSql { sql_state, .. } => matches!(&**sql_state, "40001" | "40P01" | "23505"),
            // Another session wrote between what it read and what it wants to write.
            Self::Sqlite { code, .. } => *code == ffi::SQLITE_BUSY_SNAPSHOT,
            _ => false,
        }
    }

    /// True if a row of the same key was there.
    pub fn is_duplicate(&self) -> bool {
        match self {
            // ER_DUP_ENTRY
            Self::Server { code, .. } => *code == 1062,
            // unique_violation
            Self::PostgreSql { sql_state, .. } => sql_state == "23505",
            Self::Sqlite { code, .. } => matches!(
                *code,
                ffi::SQLITE_CONSTRAINT_PRIMARYKEY
                    | ffi::SQLITE_CONSTRAINT_ROWID
                    | ffi::SQLITE_CONSTRAINT_UNIQUE
            ),
            _ => false,
        }
    }

    /// True if the server executes a statement, but does not prepare it.
    pub fn is_not_preparable(&self) -> bool {
        // ER_UNSUPPORTED_PS
        matches!(self, Self::Server { code: 1295, .. })
    }

    /// True if the server, or the client, loads no lines.
    pub fn is_lines_refused(&self) -> bool {
        match self {
            // ER_NOT_ALLOWED_COMMAND (MariaDB up to 10.5, MySQL up to 5.7), CR_LOAD_DATA_LOCAL_INFILE_REJECTED,
            // ER_CLIENT_LOCAL_FILES_DISABLED (MySQL since 8.0), ER_LOAD_INFILE_CAPABILITY_DISABLED (MariaDB since 10.6)
            Self::Server { code, .. } => matches!(code, 1148 | 2068 | 3948 | 4166),
            Self::NoLines => true,
            _ => false,
        }
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

    /// True if the other side ended the connection.
    pub(crate) fn is_end(&self) -> bool {
        match self {
            Self::Closed => true,
            Self::Io(error) => matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
            ),
            _ => false,
        }
    }

    /// True if the connection is gone, which is what a server that died looks like. A PostgreSQL says so before it goes.
    pub fn is_disconnect(&self) -> bool {
        match self {
            Self::Io(_)
            | Self::Closed
            | Self::HungUp { .. }
            | Self::CertificateDemanded
            | Self::Connect { .. } => true,
            // admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout
            Self::PostgreSql { sql_state, .. } => sql_state.starts_with("57P"),
            // ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED (MariaDB), ER_CLIENT_INTERACTION_TIMEOUT (MySQL): it has closed the session
            Self::Server { code, .. } => matches!(code, 1053 | 1927 | 4031),
            _ => false,
        }
    }
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// It, or one that it rests on, has expired.
    #[error("it has expired, or one that it rests on has")]
    Expired,
    /// It, or one that it rests on, is not valid yet.
    #[error("it is not valid yet, or one that it rests on is not")]
    NotYetValid,
    /// No certificate of the CA file leads to it.
    #[error("it was signed by another CA than the one that is named")]
    OtherAuthority,
    /// It is of a version before extensions.
    #[error("rustls does not take certificates of X.509 version 1")]
    Version1,
    /// It is an authority's.
    #[error("rustls does not take the certificate of an authority (CA:TRUE) as a server's own")]
    Authority,
    /// It has an extension that must be understood and is not.
    #[error("it has a critical extension that the TLS library does not know")]
    CriticalExtension,
    /// It is for other names than the host's.
    #[error("it is for other names than the one connected to")]
    OtherName,
    /// Something else, which the TLS library names.
    #[error("it does not stand verification")]
    Other,
}

fn reasons(silent: &[WireError]) -> String {
    // Whoever answers may name any members.
    let reasons = joined(silent.iter().take(3).map(WireError::to_string), "; ");
    match reasons.is_empty() {
        true => reasons,
        false => format!(" that can be reached: {reasons}"),
    }
}

fn first_message(encrypted: bool) -> &'static str {
    if encrypted { "one of TLS" } else { "not encrypted" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_met_anothers_writes_begins_anew_also_on_tidb() {
        let is_begun_anew = |code| {
            WireError::Server {
                code,
                sql_state: "HY000".into(),
                message: String::new(),
            }
            .is_to_be_restarted()
        };
        // ER_LOCK_DEADLOCK, TiDB's write conflicts, and ER_PARSE_ERROR.
        let begun = [1213, 8002, 8005, 8022, 9007, 1064].map(is_begun_anew);
        assert_eq!(begun, [true, true, true, true, true, false]);
    }
}
