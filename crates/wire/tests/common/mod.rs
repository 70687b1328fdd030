//! What the tests share: a private server, an event loop with a deadline, and options to connect with.

#![allow(dead_code, unused_imports, reason = "no test program uses all of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod fake_server;
pub mod packets;

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ciphertax_lab::{GuardProgram, PrivateServer, PrivateServerBuilder};
use ciphertax_model::{Secret, TlsVersion};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};

pub use fake_server::{Ending, FakeServer};

/// How long anything may take that is expected to end: generous, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The private server that all tests of a program share. It is never dropped: its guard ends it with the program.
pub fn server() -> &'static PrivateServer {
    static SERVER: OnceLock<PrivateServer> = OnceLock::new();
    SERVER.get_or_init(|| builder().start().unwrap())
}

/// A server of a test's own. The test program must have an ignored test `guard`.
pub fn builder() -> PrivateServerBuilder {
    PrivateServer::builder().guard(GuardProgram::this_test_program("guard"))
}

/// Options for a session in clear.
pub fn plain(server: &PrivateServer) -> ConnectOptions {
    ConnectOptions {
        host: server.address().ip().to_string(),
        port: server.address().port(),
        user: server.user().to_owned(),
        password: server.password().clone(),
        database: None,
        tls: None,
    }
}

/// Options for a TLS session whose server must have a certificate of its own authority.
pub fn encrypted(server: &PrivateServer, version: TlsVersion) -> ConnectOptions {
    let ca = server.ca_file().unwrap();
    with_tls(plain(server), version, Verification::Ca(ca.to_owned()))
}

pub fn with_tls(options: ConnectOptions, version: TlsVersion, verification: Verification) -> ConnectOptions {
    let policy = TlsPolicy {
        version,
        verification,
    };
    ConnectOptions {
        tls: Some(Arc::new(TlsConnector::new(&policy).unwrap())),
        ..options
    }
}

pub fn as_user(options: ConnectOptions, user: &str, password: &str) -> ConnectOptions {
    ConnectOptions {
        user: user.to_owned(),
        password: Secret::new(password),
        ..options
    }
}

/// Runs a task to its end on an event loop of its own.
pub fn run<T>(task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> T {
    run_within(PATIENCE, task).expect("it hangs")
}

/// Runs a task on an event loop of its own; `None` if it has not ended after `limit`.
pub fn run_within<T>(limit: Duration, task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> Option<T> {
    let reactor = Reactor::new().unwrap();
    reactor.run_one(task(&reactor), Instant::now() + limit).unwrap()
}

/// Runs statements with the rights of the account that may do everything.
pub fn administer(server: &PrivateServer, statements: &[&str]) {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server)).await.unwrap();
        for statement in statements {
            session.query(statement).await.unwrap();
        }
    });
}

/// Why there is no session with these options.
pub fn refusal(options: &ConnectOptions) -> WireError {
    let outcome = run(async |reactor| Session::connect(reactor, options).await.map(|_| ()));
    outcome.expect_err("a session was opened")
}

/// What the server's files in its own folder may be used for: they go with it.
pub fn file_in(server: &PrivateServer, name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = server.folder().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

pub fn contains(bytes: &[u8], needle: impl AsRef<[u8]>) -> bool {
    let needle = needle.as_ref();
    bytes.windows(needle.len()).any(|window| window == needle)
}
