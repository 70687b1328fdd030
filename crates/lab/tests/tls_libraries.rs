//! Each TLS library of the client with each kind of real server, by every version that both of them speak.
//!
//! All but the distribution's MariaDB are fetched unless they are in the user's cache.

use ciphertax_model::TlsLibrary;
use ciphertax_wire::{Client, Expectation, Word, mongodb, mysql};

use crate::prelude::*;

#[test]
fn mariadb_speaks_with_both_libraries() {
    assert_eq!(
        sessions_with_mysql(&MARIADB),
        Sessions {
            openssl: 4,
            rustls: 2
        }
    );
}

#[test]
fn mysql_9_7_speaks_with_both_libraries() {
    if fetched(&MYSQL).is_some() {
        assert_eq!(
            sessions_with_mysql(&MYSQL),
            Sessions {
                openssl: 2,
                rustls: 2
            }
        );
    }
}

#[test]
fn mongodb_speaks_with_both_libraries() {
    let Some(_) = fetched(&MONGODB) else { return };
    let method = AuthenticationMethod::ScramSha256;
    let server = start(&MONGODB);
    let account = server.account(method).unwrap();
    let login = Login::by(method, &account.user, account.password.clone()).unwrap();
    let reached = Reached::of(&server);
    let sessions = sessions::<mongodb::Session>(&reached, |tls| mongodb::ConnectOptions {
        tls: Some(tls),
        ..mongodb::ConnectOptions::new(reached.host.as_str(), reached.port, login.clone())
    });
    assert!(sessions.openssl >= 2 && sessions.rustls == 2, "{sessions:?}");
}

/// Sessions that were opened with a server, by library: one for each version.
#[derive(Debug, PartialEq, Eq, Default)]
struct Sessions {
    openssl: u32,
    rustls: u32,
}

/// Where a server is, and what it can do.
struct Reached<'a> {
    entry: &'static Entry,
    host: String,
    port: u16,
    ca: &'a Path,
}

impl<'a> Reached<'a> {
    fn of(server: &'a PrivateServer) -> Self {
        Self {
            entry: server.entry(),
            host: server.address().ip().to_string(),
            port: server.address().port(),
            ca: server.ca_file().unwrap(),
        }
    }
}

/// With all versions that it has, and a certificate that every server can have.
fn start(entry: &'static Entry) -> PrivateServer {
    PrivateServer::builder(entry)
        .certificate(CertificateKind::Rsa2048)
        .tls_versions(entry.capabilities.tls_versions)
        .start()
        .unwrap()
}

fn sessions_with_mysql(entry: &'static Entry) -> Sessions {
    let server = start(entry);
    let reached = Reached::of(&server);
    sessions::<mysql::Session>(&reached, |tls| mysql::ConnectOptions {
        tls: Some(tls),
        ..mysql::ConnectOptions::new(
            reached.host.as_str(),
            reached.port,
            server.user(),
            server.password().clone(),
        )
    })
}

/// Each library opens a session by every version of the server's that it speaks, verifies the certificate, and finds that
/// both sides say the same; what it does not speak it says before anything is sent.
fn sessions<C: Client>(reached: &Reached<'_>, options: impl Fn(Arc<TlsConnector>) -> C::Options) -> Sessions {
    let mut sessions = Sessions::default();
    for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
        for version in reached.entry.capabilities.tls_versions {
            let what = format!("{} by {} with {version}", reached.entry.name, library.name());
            let policy = TlsPolicy {
                library,
                legacy: library == TlsLibrary::OpenSsl,
                ..TlsPolicy::new(
                    *version,
                    Verification::HostName(reached.ca.to_owned(), reached.host.clone()),
                )
            };
            let connector = match TlsConnector::new(&policy) {
                Ok(connector) => Arc::new(connector),
                Err(error) => {
                    let is_too_old = library == TlsLibrary::Rustls && *version < TlsVersion::V1_2;
                    assert!(is_too_old, "{what}: {error}");
                    assert!(matches!(error, WireError::TlsSettings(_)), "{what}: {error}");
                    continue;
                }
            };
            hold_a_session::<C>(&options(connector), *version, &what);
            match library {
                TlsLibrary::OpenSsl => sessions.openssl += 1,
                TlsLibrary::Rustls => sessions.rustls += 1,
            }
        }
    }
    sessions
}

fn hold_a_session<C: Client>(options: &C::Options, version: TlsVersion, what: &str) {
    let expectation = Expectation::new(match version {
        TlsVersion::V1_0 => Transport::Tls10,
        TlsVersion::V1_1 => Transport::Tls11,
        TlsVersion::V1_2 => Transport::Tls12,
        TlsVersion::V1_3 => Transport::Tls13,
    });
    run(async |reactor| {
        let connected = C::connect(reactor, options).await;
        let (mut session, _) = connected.unwrap_or_else(|error| panic!("{what}: {error}"));
        expectation.check(&session).unwrap();
        let by_server = session.check_by_server(options, &expectation).await.unwrap();
        let is_proved = matches!(by_server, Word::Agrees(_));
        assert!(is_proved, "{what}: {by_server:?}");
        let facts = session.facts().await.unwrap();
        assert_eq!(facts.tls.unwrap().version, version.name(), "{what}");
        session.close().await.unwrap();
    });
}

mod test_all {
    use super::*;

    /// Its library speaks TLS 1.0 alone, which rustls does not know.
    #[test]
    fn mysql_5_6_speaks_with_openssl_alone() {
        if fetched(&MYSQL_5_6).is_some() {
            assert_eq!(
                sessions_with_mysql(&MYSQL_5_6),
                Sessions {
                    openssl: 1,
                    rustls: 0
                }
            );
        }
    }
}
