//! What the tests share.

use ciphertax_wire::Session as _;
use ciphertax_wire::postgresql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;

use crate::prelude::*;

/// The server that is tested: the newer one in the tier of every server, whose tests call those of the other.
pub(crate) fn servers() -> impl Iterator<Item = &'static Entry> {
    let is_of_every_server = thread::current()
        .name()
        .is_some_and(|name| name.contains("test_all::"));
    let entry = match is_of_every_server {
        true => &POSTGRESQL_18,
        false => &POSTGRESQL,
    };
    fetched(entry).map(|_| entry).into_iter()
}

pub(crate) fn user_of(pid: u32) -> u32 {
    fs::metadata(format!("/proc/{pid}")).unwrap().uid()
}

/// Whether an account has a certificate.
pub(crate) enum Known {
    Yes,
    No,
}

pub(crate) fn with_certificate(server: &PrivateServer, known: Known) -> TlsPolicy {
    let files = match known {
        Known::Yes => server.client_certificate(CertificateKind::EcdsaP256),
        Known::No => server.unknown_client_certificate(CertificateKind::EcdsaP256),
    };
    let files = files.unwrap().unwrap();
    TlsPolicy {
        client_certificate: Some(ClientCertificate {
            certificate: files.certificate,
            key: files.key,
            password: None,
        }),
        ..TlsPolicy::new(None, trust(server))
    }
}

pub(crate) fn trust(server: &PrivateServer) -> Verification {
    Verification::HostName(server.ca_file().unwrap().to_owned(), "127.0.0.1".into())
}

pub(crate) fn connector(policy: &TlsPolicy) -> Arc<TlsConnector> {
    Arc::new(TlsConnector::new(policy).unwrap())
}

/// A plaintext connection of an account.
pub(crate) fn options(server: &PrivateServer, account: &Account) -> ConnectOptions {
    let address = server.address();
    ConnectOptions {
        database: Some(postgresql::DATABASE.into()),
        ..ConnectOptions::new(
            address.ip().to_string(),
            address.port(),
            account.user.clone(),
            account.password.clone(),
        )
    }
}

/// The first value of the first row, on a session of its own.
pub(crate) fn ask(options: &ConnectOptions, sql: &str) -> Result<String, WireError> {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        let rows = session.query(sql).await?;
        let answer = rows.first().map_or(String::new(), |row| row.text(0));
        session.close().await?;
        Ok(answer)
    })
}
