//! Private servers that tests borrow one after the other, unless they test how one is started.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Mutex;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::{Entry, Protocol};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError, mongodb, mysql, postgresql};

use crate::{plain, plain_mongodb, plain_postgresql, run, within};

/// A server and what it had when it was new.
type Lent = (PrivateServer, Vec<String>);

/// Servers that nobody has. They are never dropped: their guard ends them with the program.
static FREE: Mutex<BTreeMap<&str, Vec<Lent>>> = Mutex::new(BTreeMap::new());

/// What a server has: of sessions, schemas and accounts, the statement that ends or removes one. Sessions come first, since
/// the other statements wait for what sessions lock.
const OF_MYSQL: [&str; 4] = [
    "SELECT CONCAT('KILL ', id) FROM information_schema.processlist \
     WHERE id <> CONNECTION_ID() AND command <> 'Daemon'",
    "SELECT CONCAT('DROP DATABASE `', schema_name, '`') FROM information_schema.schemata",
    "SELECT CONCAT('DROP USER ', QUOTE(user), '@', QUOTE(host)) FROM mysql.user",
    "SHOW GLOBAL VARIABLES",
];
const OF_POSTGRESQL: [&str; 5] = [
    "SELECT format('SELECT pg_terminate_backend(%s)', pid) FROM pg_stat_activity \
     WHERE datname IS NOT NULL AND pid <> pg_backend_pid()",
    "SELECT format('DROP ' || kind || ' %I', rolname) FROM pg_roles, (VALUES ('OWNED BY'), ('ROLE')) AS kinds (kind)",
    "SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace WHERE nspname !~ '^pg_'",
    "SELECT format('DROP TABLE public.%I', relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    "SELECT name || ' ' || setting FROM pg_settings",
];

/// A server that is this test's alone until it is dropped.
pub struct Lease(Option<Lent>);

/// Lends a server of the catalogue as it is by default; a MongoDB without TLS and access control, of which ciphertax's own database
/// alone is removed. A test that stops its server, or writes elsewhere than into schemas and settings, starts its own.
pub fn lease(entry: &'static Entry) -> Lease {
    let free = FREE.lock().unwrap().entry(entry.name).or_default().pop();
    Lease(free.or_else(|| {
        let mut builder = PrivateServer::builder(entry);
        if entry.protocol() == Some(Protocol::MongoDb) {
            builder = builder.without_tls().access_control(false);
        }
        let server = builder.start().unwrap();
        let mut new = left(&server, None).unwrap();
        new.retain(|one| !one.starts_with("KILL ") && !one.starts_with("SELECT "));
        Some((server, new))
    }))
}

impl Deref for Lease {
    type Target = PrivateServer;

    fn deref(&self) -> &PrivateServer {
        &self.0.as_ref().unwrap().0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (server, new) = self.0.take().unwrap();
        let is_new = || left(&server, Some(&new)).is_ok_and(|left| left == new);
        // A test that failed may have left anything. A server with other settings is not lent again.
        if !std::thread::panicking() && within(std::time::Duration::from_secs(2), is_new) {
            let mut free = FREE.lock().unwrap();
            free.entry(server.entry().name).or_default().push((server, new));
        }
    }
}

/// What a server has. What it had not when it was new is removed then.
fn left(server: &PrivateServer, new: Option<&[String]>) -> Result<Vec<String>, WireError> {
    run(async |reactor| match server.entry().protocol() {
        Some(Protocol::MongoDb) => {
            let (mut session, _) = mongodb::Session::connect(reactor, &plain_mongodb(server)).await?;
            let drop = rawdoc! { "dropDatabase": 1_i32, "$db": "ciphertax" };
            session.command(&drop).await.map(|_| Vec::new())
        }
        Some(Protocol::PostgreSql) => {
            let (mut session, _) = postgresql::Session::connect(reactor, &plain_postgresql(server)).await?;
            let ask = async |sql: &str| Ok(text(session.query(sql).await?, |row| row.text(0)));
            left_of_sql(&OF_POSTGRESQL, new, ask).await
        }
        _ => {
            let (mut session, _) = mysql::Session::connect(reactor, &plain(server)).await?;
            let ask = async |sql: &str| Ok(text(session.query(sql).await?, |row| row.text(0) + &row.text(1)));
            left_of_sql(&OF_MYSQL, new, ask).await
        }
    })
}

fn text<R>(rows: Vec<R>, of: impl Fn(&R) -> String) -> Vec<String> {
    rows.iter().map(of).collect()
}

async fn left_of_sql(
    questions: &[&str],
    new: Option<&[String]>,
    mut ask: impl AsyncFnMut(&str) -> Result<Vec<String>, WireError>,
) -> Result<Vec<String>, WireError> {
    let mut all = Vec::new();
    for question in questions {
        let mut found = ask(question).await?;
        found.sort();
        all.extend(found);
    }
    for one in all.iter().filter(|one| new.is_some_and(|new| !new.contains(one))) {
        // A setting is no statement, and what another statement removes first is gone.
        let _ = ask(one).await;
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
