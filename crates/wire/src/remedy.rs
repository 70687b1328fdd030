//! What the user can do about an error.

use crate::Protocol;
use crate::error::{Distrust, WireError};

impl WireError {
    /// What the user can do about it, as the rest of a sentence with the options of this protocol's clients; empty
    /// where the message says it already.
    pub fn remedy(&self, protocol: Protocol) -> &'static str {
        if let Self::NotTrusted { why, .. } = self {
            why.remedy(protocol)
        } else if let Self::Server { code, message, .. } = self
            && let Some(remedy) = of_mysql(*code, message)
        {
            remedy
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
        } else if let Some(remedy) = self.of_login() {
            remedy
        } else if let Self::PostgreSql { sql_state, .. } = self
            && let Some(remedy) = of_postgresql(sql_state)
        {
            remedy
        } else if matches!((self, protocol), (Self::HungUp { .. }, Protocol::PostgreSql)) {
            "; direct TLS (sslnegotiation=direct) needs PostgreSQL 17 or newer with TLS switched on: leave it out"
        } else if matches!(self, Self::HungUp { .. }) {
            "; this server does not offer TLS: switch TLS on there, or leave TLS arms out"
        } else if matches!(self, Self::CertificateDemanded) {
            "; name one that its CA signed, and its key, by tlsCertificateKeyFile=FILE in the URL"
        } else if self.is_nothing_in_common() {
            "; client and server have no cipher suite or no group in common: suites with RSA in their name need an RSA key in the \
             server's certificate, those with ECDSA an ECDSA key"
        } else if self.is_missing_right() {
            match protocol {
                Protocol::MySql => {
                    "; the account needs GRANT ALL ON ciphertax.*, or on the schema of --schema"
                }
                Protocol::MongoDb => {
                    "; the user needs the role dbOwner on the database ciphertax, or on that of --schema"
                }
                Protocol::PostgreSql => self.of_missing_right().unwrap_or_default(),
            }
        } else if let Self::Command { code, .. } = self
            && let Some(remedy) = of_mongodb(*code)
        {
            remedy
        } else if matches!(self, Self::Server { code: 1045, .. }) {
            // One code is for all of it, so that nobody learns which accounts there are.
            "; check user and password; in the same words it refuses an account that is to show a certificate (REQUIRE X509, \
             ISSUER or SUBJECT: ssl-cert=FILE and ssl-key=FILE in the URL) or to have one cipher suite (REQUIRE CIPHER: \
             ssl-cipher=NAME, on MySQL beside a certificate), and a user whom an anonymous account (''@'localhost') stands \
             before"
        } else if self.is_access_denied() {
            "; check user and password"
        } else {
            ""
        }
    }

    /// The right that a PostgreSQL's user lacks, by the kind of object that the message names in English.
    fn of_missing_right(&self) -> Option<&'static str> {
        let Self::PostgreSql { message, .. } = self else {
            return None;
        };
        message.split(' ').find_map(|word| match word {
            "database" if self.is_end_of_session() => {
                Some("; the user needs CONNECT on it: GRANT CONNECT ON DATABASE")
            }
            "schema" | "database" | "table" | "relation" => {
                Some("; the user needs rights in the schema ciphertax, or CREATE on the database")
            }
            "tablespace" => {
                Some("; the user needs CREATE on it, since default_tablespace names it: GRANT CREATE ON TABLESPACE")
            }
            "function" => Some("; the user needs EXECUTE on it: GRANT EXECUTE ON FUNCTION"),
            _ => None,
        })
    }

    /// The remedy where not the password but the way in is what a server refuses.
    pub(crate) fn of_login(&self) -> Option<&'static str> {
        Some(match self {
            // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
            Self::Server { code: 1698, .. } => {
                "; it lets this user in by no password, but as the system's user of that name over its Unix socket: take an \
                 account with a password"
            }
            // invalid_authorization_specification
            Self::PostgreSql {
                sql_state, routine, ..
            } if sql_state == "28000" && !self.is_of_pg_hba() => match routine.as_str() {
                "InitializeSessionUserId" => {
                    "; no role of this name may log in: have its administrator run CREATE ROLE … LOGIN, or ALTER ROLE … LOGIN"
                }
                "auth_failed" => {
                    "; by peer and ident pg_hba.conf lets in the system's user of that name, by cert a client's certificate for \
                     that name (sslcert=FILE and sslkey=FILE in the URL), and by ldap, pam and radius whom these know: check \
                     which it is, and the password, if there is one"
                }
                "ClientAuthentication" => {
                    "; pg_hba.conf demands a client's certificate of this user: name it, and its key, by sslcert=FILE and \
                     sslkey=FILE in the URL"
                }
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// What can be done about what a MongoDB said no to, by its codes; `None` for the rest.
fn of_mongodb(code: i32) -> Option<&'static str> {
    Some(match code {
        10107 | 13435 | 13436 => {
            "; it is a member of a replica set, and not its primary, which replicaSet=NAME in the URL finds; where nobody has \
             begun the set yet (rs.initiate()), it has none"
        }
        // NotYetInitialized
        94 => "; nobody has begun its replica set yet: rs.initiate() does",
        // UnsatisfiableWriteConcern
        100 => {
            "; it has too few members for the write concern that holds there: setDefaultRWConcern changes it, and more members \
             satisfy it"
        }
        _ => return None,
    })
}

/// The same of what a MySQL or MariaDB said no to, by its codes.
fn of_mysql(code: u16, message: &str) -> Option<&'static str> {
    Some(match code {
        // By somebody, or by wrong passwords on MySQL.
        3118 | 3955 | 4151 => "; ALTER USER with its name and ACCOUNT UNLOCK lets it in again",
        // By wrong passwords on MariaDB.
        4150 => "; FLUSH PRIVILEGES lets it in again",
        1820 | 1862 => {
            "; its password has expired: ALTER USER with its name and IDENTIFIED BY sets a new one"
        }
        // ER_OPTION_PREVENTS_STATEMENT
        1290 if message.contains("read-only") || message.contains("read_only") => {
            "; this server takes no writes: name the one that does, its primary"
        }
        // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
        1792 => {
            "; transactions are read-only there unless they say otherwise (transaction_read_only, or tx_read_only): name a server \
             that takes writes, or have it set to OFF"
        }
        // ER_BINLOG_STMT_MODE_AND_ROW_ENGINE
        1665 => {
            "; have its administrator set binlog_format to MIXED or ROW, or the isolation level to REPEATABLE-READ"
        }
        _ => return None,
    })
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
            (Self::Version1, _) => "; issue one of version 3 to the server, or take the library openssl",
            (Self::Authority, _) => "; issue one with CA:FALSE to the server, or take the library openssl",
            (Self::CriticalExtension, _) => {
                "; issue one without that extension, or in which it is not critical"
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
    use ciphertax_testkit::says;

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
            routine: "ClientAuthentication".into(),
        };
        let here = refused("[local]");
        assert!(!here.is_tls_demanded());
        assert!(here.remedy(Protocol::PostgreSql).contains("over the socket"));
        let elsewhere = refused("10.0.0.1");
        assert!(elsewhere.is_tls_demanded());
        let remedy = elsewhere.remedy(Protocol::PostgreSql);
        says(remedy, "without encryption … hostssl");
    }
}
