//! A server that ciphertax is given by URL: the "user's own".

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use ciphertax_lab::catalogue::{Entry, MARIADB};
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_reactor::Reactor;
use ciphertax_supervise::GuardProgram;
use ciphertax_testkit::plain;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;

use super::PATIENCE;

pub(crate) struct OwnServer {
    server: PrivateServer,
}

impl OwnServer {
    /// A server with TLS.
    pub(crate) fn start() -> Self {
        Self::start_with(|builder| builder)
    }

    pub(crate) fn start_with(set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder) -> Self {
        Self::start_of(&MARIADB, set_up)
    }

    /// Another server of the family.
    pub(crate) fn start_of(
        entry: &'static Entry,
        set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder,
    ) -> Self {
        let guard = GuardProgram::new(env!("CARGO_BIN_EXE_ciphertax"));
        let builder = set_up(PrivateServer::builder(entry).guard(guard));
        Self {
            server: builder.start().unwrap(),
        }
    }

    pub(crate) fn password(&self) -> &str {
        self.server.password().expose()
    }

    /// Its URL without the password.
    pub(crate) fn url(&self) -> String {
        format!("mysql://{}@{}/", self.server.user(), self.server.address())
    }

    /// Its URL with a password.
    pub(crate) fn url_with(&self, password: impl Display) -> String {
        format!(
            "mysql://{}:{password}@{}/",
            self.server.user(),
            self.server.address()
        )
    }

    /// The addresses of all its nodes.
    pub(crate) fn nodes(&self) -> Vec<SocketAddr> {
        self.server.addresses()
    }

    /// Its URL over its Unix socket, with its password.
    pub(crate) fn socket_url(&self) -> String {
        format!(
            "mysql://{}:{}@localhost/?socket={}",
            self.server.user(),
            self.server.password().expose(),
            self.server.socket().unwrap().display()
        )
    }

    /// The port of its TCP socket.
    pub(crate) fn port(&self) -> u16 {
        self.server.address().port()
    }

    /// The default account.
    pub(crate) fn user(&self) -> &str {
        self.server.user()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.server.folder()
    }

    pub(crate) fn ca_file(&self) -> &Path {
        self.server.ca_file().unwrap()
    }

    /// Opens a session and keeps it as long as `use_it` lasts, which gets the first column of a statement's rows.
    pub(crate) fn session<T>(&self, use_it: impl FnOnce(&mut dyn FnMut(&str) -> Vec<String>) -> T) -> T {
        let used = self.try_session(|query| Ok(use_it(&mut |statement| query(statement).unwrap())));
        used.unwrap()
    }

    /// The same for statements that may fail.
    pub(crate) fn try_session<T>(
        &self,
        use_it: impl FnOnce(&mut dyn FnMut(&str) -> Result<Vec<String>, WireError>) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        let reactor = Reactor::new().unwrap();
        let options = plain(&self.server);
        let connect = Session::connect(&reactor, &options);
        let (mut session, _) = reactor
            .run_one(connect, Instant::now() + PATIENCE)
            .unwrap()
            .unwrap()?;
        use_it(&mut |statement| {
            let rows = reactor.run_one(session.query(statement), Instant::now() + PATIENCE);
            Ok(rows.unwrap().unwrap()?.iter().map(|row| row.text(0)).collect())
        })
    }

    /// The first column of a statement's rows.
    pub(crate) fn query(&self, statement: &str) -> Vec<String> {
        self.session(|query| query(statement))
    }

    /// All its schemas, in alphabetical order.
    pub(crate) fn schemas(&self) -> Vec<String> {
        self.query("SELECT schema_name FROM information_schema.schemata ORDER BY schema_name")
    }
}
