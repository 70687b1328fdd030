//! What the tests share: a private server, an event loop with a deadline, and options to connect with.

#![allow(dead_code, unused_imports, reason = "no test program uses all of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod fake_server;
pub(crate) mod op_msg;
pub(crate) mod packets;
pub(crate) mod pg_messages;
pub(crate) mod postgres;
mod tampering;

use ciphertax_base::SessionFacts;
use ciphertax_lab::PrivateServerBuilder;
use ciphertax_wire::Client as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;

pub(crate) use std::io::{Read, Write};
pub(crate) use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::rc::Rc;
pub(crate) use std::sync::{Arc, OnceLock};
pub(crate) use std::thread::JoinHandle;
pub(crate) use std::time::{Duration, Instant};
pub(crate) use std::{fs, thread};

pub(crate) use base64::prelude::BASE64_STANDARD;
pub(crate) use ciphertax_base::Secret;
pub(crate) use ciphertax_base::{LoginPath, Phase, PhaseTrace, TlsFacts};
pub(crate) use ciphertax_lab::PrivateServer;
pub(crate) use ciphertax_lab::catalogue::{Entry, MARIADB, MYSQL};
pub(crate) use ciphertax_lab::certificates::{Authority, CertificateFiles};
pub(crate) use ciphertax_model::TlsVersion::{V1_0, V1_1, V1_2, V1_3};
pub(crate) use ciphertax_model::{
    AuthenticationMethod, CertificateKind, Group, TlsLibrary, TlsVersion, Transport,
};
pub(crate) use ciphertax_reactor::Reactor;
pub(crate) use ciphertax_testkit::{PATIENCE, contains, fetched, plain, rows, run, run_within, says, within};
pub(crate) use ciphertax_wire::mongodb::bson::rawdoc;
pub(crate) use ciphertax_wire::mongodb::{Login, Mechanism};
pub(crate) use ciphertax_wire::mysql::{KeysOverTls, TrustedKeys};
pub(crate) use ciphertax_wire::postgresql::Method;
pub(crate) use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
pub(crate) use ciphertax_wire::{Client, Endpoint, Protocol, Value, WireError};
pub(crate) use openssl::hash::{MessageDigest, hash};
pub(crate) use openssl::pkcs5::pbkdf2_hmac;
pub(crate) use openssl::pkey::{PKey, Private};
pub(crate) use openssl::rsa::Rsa;
pub(crate) use openssl::sign::Signer;
pub(crate) use openssl::x509::X509;

pub(crate) use fake_server::{Ending, FakeServer, PASSWORD};
pub(crate) use tampering::{Proxy, Tampering};

ciphertax_testkit::plays_roles!();

/// The private server that all tests of a program share. It is never dropped: its guard ends it with the program.
pub(crate) fn server() -> &'static PrivateServer {
    static SERVER: OnceLock<PrivateServer> = OnceLock::new();
    SERVER.get_or_init(|| builder().start().unwrap())
}

/// A server of a test's own.
pub(crate) fn builder() -> PrivateServerBuilder {
    builder_of(&MARIADB)
}

/// The same for a server of the catalogue.
pub(crate) fn builder_of(entry: &'static Entry) -> PrivateServerBuilder {
    PrivateServer::builder(entry)
}

/// Options for a TLS session whose server must have a certificate of its own authority.
pub(crate) fn encrypted(server: &PrivateServer, version: TlsVersion) -> ConnectOptions {
    let ca = server.ca_file().unwrap();
    with_tls(plain(server), version, Verification::Ca(ca.to_owned()))
}

pub(crate) fn with_tls(
    options: ConnectOptions,
    version: TlsVersion,
    verification: Verification,
) -> ConnectOptions {
    with_policy(options, &TlsPolicy::new(version, verification))
}

pub(crate) fn with_policy(options: ConnectOptions, policy: &TlsPolicy) -> ConnectOptions {
    ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(policy).unwrap())),
        ..options
    }
}

/// A policy of this version that verifies the server's certificate by its own authority and address.
pub(crate) fn policy(server: &PrivateServer, version: impl Into<Option<TlsVersion>>) -> TlsPolicy {
    let ca = server.ca_file().unwrap().to_owned();
    TlsPolicy::new(
        version,
        Verification::HostName(ca, server.address().ip().to_string()),
    )
}

/// The policy with a library.
pub(crate) fn by(library: TlsLibrary, policy: TlsPolicy) -> TlsPolicy {
    TlsPolicy { library, ..policy }
}

pub(crate) fn as_user(options: ConnectOptions, user: &str, password: &str) -> ConnectOptions {
    ConnectOptions {
        user: user.to_owned(),
        password: Secret::new(password),
        ..options
    }
}

/// Runs statements with the rights of the account that may do everything.
pub(crate) fn administer(server: &PrivateServer, statements: &[&str]) {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server)).await.unwrap();
        for statement in statements {
            session.query(statement).await.unwrap();
        }
    });
}

/// What a new session is; it is closed again.
pub(crate) fn facts(options: &ConnectOptions) -> SessionFacts {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await.unwrap();
        let facts = session.facts().await.unwrap();
        session.close().await.unwrap();
        facts
    })
}

/// Why there is no session with these options.
pub(crate) fn refusal(options: &ConnectOptions) -> WireError {
    let outcome = run(async |reactor| Session::connect(reactor, options).await.map(|_| ()));
    outcome.expect_err("a session was opened")
}

/// Writes a file into the server's own folder: it goes with the server.
pub(crate) fn file_in(server: &PrivateServer, name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = server.folder().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Logs in and asks one question.
pub(crate) async fn ask_in(
    reactor: &Rc<Reactor>,
    options: &ConnectOptions,
) -> Result<Vec<String>, WireError> {
    let (mut session, _) = Session::connect(reactor, options).await?;
    let rows = session.query("SELECT 1").await?;
    Ok(rows.iter().map(|row| row.text(0)).collect())
}

pub(crate) fn ask(options: &ConnectOptions) -> Result<Vec<String>, WireError> {
    run(async |reactor| ask_in(reactor, options).await)
}

/// What a client says of a server that says `script` and closes.
pub(crate) fn problem_with(script: Vec<u8>) -> WireError {
    let server = FakeServer::start(script, Ending::Close);
    ask(&server.options()).unwrap_err()
}

/// As [`problem_with`], when it must be that the protocol was broken.
pub(crate) fn breach_in(script: Vec<u8>) -> String {
    let problem = problem_with(script);
    assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
    problem.to_string()
}
