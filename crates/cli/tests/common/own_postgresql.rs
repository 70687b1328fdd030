//! A PostgreSQL that ciphertax is given by URL.

use ciphertax_wire::postgresql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use super::own::Own;
use crate::common::*;

pub(crate) struct OwnPostgreSql(Own);

impl Deref for OwnPostgreSql {
    type Target = Own;

    fn deref(&self) -> &Own {
        &self.0
    }
}

impl OwnPostgreSql {
    /// A server with TLS.
    pub(crate) fn start() -> Self {
        Self::start_with(|builder| builder)
    }

    pub(crate) fn start_with(set_up: impl FnOnce(PrivateServerBuilder) -> PrivateServerBuilder) -> Self {
        Self(Own::start(&POSTGRESQL, set_up))
    }

    /// One of another release.
    pub(crate) fn start_of(entry: &'static Entry) -> Self {
        Self(Own::start(entry, |builder| builder))
    }

    /// Lets an account in that logs in by its password.
    pub(crate) fn let_in(&self, user: &str) {
        let of = self.user();
        self.change_hba(|line| Some(line.replace(&format!(" {of} "), &format!(" {user},{of} "))));
    }

    /// The default account.
    pub(crate) fn options(&self) -> ConnectOptions {
        let address = self.0.server.address();
        ConnectOptions {
            database: Some(DATABASE.to_owned()),
            ..ConnectOptions::new(
                address.ip().to_string(),
                address.port(),
                self.user(),
                self.0.server.password().clone(),
            )
        }
    }

    /// Opens a session and keeps it as long as `use_it` lasts, which gets the first column of a statement's rows.
    pub(crate) fn session<T>(&self, use_it: impl FnOnce(&mut dyn FnMut(&str) -> Vec<String>) -> T) -> T {
        session(&self.options(), use_it)
    }

    /// The same for a session that calls itself so.
    pub(crate) fn session_called<T>(
        &self,
        application: &str,
        use_it: impl FnOnce(&mut dyn FnMut(&str) -> Vec<String>) -> T,
    ) -> T {
        let options = ConnectOptions {
            settings: vec![("application_name".to_owned(), application.to_owned())],
            ..self.options()
        };
        session(&options, use_it)
    }

    /// The first column of a statement's rows.
    pub(crate) fn query(&self, statement: &str) -> Vec<String> {
        self.session(|query| query(statement))
    }

    /// All its tables but those of the system, and its schemas, in alphabetical order.
    pub(crate) fn contents(&self) -> Vec<String> {
        self.query(
            "SELECT name FROM (SELECT nspname || '' AS name FROM pg_namespace WHERE nspname !~ '^pg_' \
             UNION ALL SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname !~ '^pg_|^information_schema') AS all_of_them ORDER BY name",
        )
    }

    /// Writes who may log in anew (`pg_hba.conf`), each line changed by `change`, and has the server read it.
    pub(crate) fn change_hba(&self, change: impl Fn(&str) -> Option<String>) {
        let path = self.file("hba_file");
        let lines = fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = lines.lines().filter_map(change).collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let before = self.loaded();
        self.query("SELECT pg_reload_conf()");
        assert!(within(PATIENCE, || self.loaded() != before));
    }

    /// When the process that takes new sessions has read its files; `None` where it takes this account no more.
    fn loaded(&self) -> Option<String> {
        let (reactor, options) = (Reactor::new().unwrap(), self.options());
        let asked = async {
            let (mut session, _) = Session::connect(&reactor, &options).await?;
            let rows = session.query("SELECT pg_conf_load_time()").await?;
            session.close().await?;
            Ok::<_, WireError>(rows[0].text(0))
        };
        let asked = reactor.run_one(asked, Instant::now() + PATIENCE);
        asked.unwrap().unwrap().ok()
    }

    /// A file of its own, by the setting that names it.
    pub(crate) fn file(&self, setting: &str) -> PathBuf {
        self.query(&format!("SELECT current_setting('{setting}')"))
            .remove(0)
            .into()
    }
}

/// Opens a session and keeps it as long as `use_it` lasts, which gets the first column of a statement's rows.
pub(crate) fn session<T>(
    options: &ConnectOptions,
    use_it: impl FnOnce(&mut dyn FnMut(&str) -> Vec<String>) -> T,
) -> T {
    let reactor = Reactor::new().unwrap();
    let connect = Session::connect(&reactor, options);
    let connected = reactor.run_one(connect, Instant::now() + PATIENCE);
    let (mut session, _) = connected.unwrap().unwrap().unwrap();
    let result = use_it(&mut |statement| {
        let rows = reactor.run_one(session.query(statement), Instant::now() + PATIENCE);
        let rows = rows.unwrap().unwrap().unwrap();
        rows.iter().map(|row| row.text(0)).collect()
    });
    // The server may have ended it.
    let _ = reactor.run_one(session.close(), Instant::now() + PATIENCE);
    result
}
