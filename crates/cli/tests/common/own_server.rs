//! A server of MySQL's family that ciphertax is given by URL.

use ciphertax_testkit::plain;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use super::own::Own;
use crate::common::*;

pub(crate) struct OwnServer(Own);

impl Deref for OwnServer {
    type Target = Own;

    fn deref(&self) -> &Own {
        &self.0
    }
}

impl OwnServer {
    /// A server with TLS.
    pub(crate) fn start() -> Self {
        Self(Own::lent(&MARIADB))
    }

    pub(crate) fn start_with(set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder) -> Self {
        Self::start_of(&MARIADB, set_up)
    }

    /// Another server of the family.
    pub(crate) fn start_of(
        entry: &'static Entry,
        set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder,
    ) -> Self {
        Self(Own::start(entry, set_up))
    }

    /// Its URL over its Unix socket, with its password.
    pub(crate) fn socket_url(&self) -> String {
        format!(
            "mysql://{}:{}@localhost/?socket={}",
            self.0.server.user(),
            self.0.server.password().expose(),
            self.0.server.socket().unwrap().display()
        )
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
        let options = plain(&self.0.server);
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
