//! What is asked of a server over its control session: its claim, product, members and rights.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_wire::postgresql::{ConnectOptions, Method, Session, TextRow};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};
use ciphertax_workload::dataset::{self, Contents, DatasetError, SCHEMA};
use ciphertax_workload::postgresql::rehearse_removal;

use super::clients::PostgreSql;
use crate::database::{Control, Database as _, Standing};
use crate::error::{Result, RunError};
use crate::timeout::TIMEOUT;

/// Settings of a server whose value matters to what is measured; those it does not know are left out.
const SETTINGS: [&str; 20] = [
    "fsync",
    "full_page_writes",
    "io_method",
    "jit",
    "log_connections",
    "log_statement",
    "max_connections",
    "password_encryption",
    "scram_iterations",
    "shared_buffers",
    "shared_preload_libraries",
    "ssl",
    "ssl_ciphers",
    "ssl_ecdh_curve",
    "ssl_groups",
    "ssl_min_protocol_version",
    "ssl_tls13_ciphers",
    "synchronous_commit",
    "track_activities",
    "wal_level",
];

impl Control<PostgreSql> {
    pub(super) fn settings(&mut self) -> Result<BTreeMap<String, String>> {
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let rows = self.allowed(&format!(
            "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name IN ({names})"
        ))?;
        Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
    }

    /// By which method sessions log in that leave it to the server; `None` for one that the client knows no name for.
    pub(super) fn method_of(&self, options: &ConnectOptions) -> Result<Option<Method>> {
        let visit = async {
            let (session, _) = Session::connect(&self.reactor, options).await?;
            let method = Method::called(&session.authentication().method);
            session.close().await?;
            Ok(method)
        };
        let method: Result<_, WireError> = self.wait_for(TIMEOUT, visit)?;
        // What is wrong with it the proof of the arm says.
        Ok(method.unwrap_or(None))
    }

    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        self.ask(async |session| session.query(sql).await)
    }

    /// The same; none where a compatible server does not know what is asked, or the account may not.
    pub(super) fn allowed(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        self.ask(async |session| session.query_or_none(sql).await)
    }

    /// The first value of a query that may be refused; empty where there is none.
    pub(super) fn word(&mut self, sql: &str) -> Result<String> {
        Ok(self
            .allowed(sql)?
            .first()
            .map(|row| row.text(0))
            .unwrap_or_default())
    }
}

/// How long a session that was ended may keep its claim, and how often it is looked for.
const ENDING: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

impl Control<PostgreSql> {
    /// Claims the server again after a new session was taken in the place of one that it was claimed by. The server may say
    /// that it ends a session before it lets go of its claim.
    pub(super) fn claim_again(&mut self) -> Result<()> {
        let deadline = Instant::now() + ENDING;
        loop {
            match PostgreSql::claim(self) {
                Err(error) if Instant::now() >= deadline => return Err(error),
                Err(RunError::Stopped) => return Err(RunError::Stopped),
                Err(_) => thread::sleep(LOOK),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Behind a pooler no two questions need reach the same session of the server, and what the server says of TLS is
    /// said of the pooler's connections.
    pub(super) fn refuse_pooler(&mut self) -> Result<()> {
        let told = self.ask(async |session| Ok(session.id()))?;
        let rows = self.rows("SELECT pg_catalog.pg_backend_pid()")?;
        let own: Option<u32> = rows.first().and_then(|row| row.text(0).parse().ok());
        match own {
            Some(own) if told != 0 && own != told => Err(self.unusable(format!(
                "a pooler answers for it (the session is of its process {own}, and {told} is said to clients); name the \
                 server itself"
            ))),
            _ => Ok(()),
        }
    }
}

/// Why nothing can be written; whether the schema is there, whose owner's rights the account has; whether it may make
/// one; the account and the database as statements name them; whether it may make tables in the schema.
fn rights() -> String {
    format!(
        "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only'), \
         (SELECT pg_catalog.pg_has_role(n.nspowner, 'USAGE') FROM pg_catalog.pg_namespace n WHERE n.nspname = '{SCHEMA}'), \
         pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'), \
         pg_catalog.quote_ident(CURRENT_USER), \
         (SELECT pg_catalog.has_schema_privilege(n.oid, 'CREATE') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') \
         FROM pg_catalog.pg_namespace n WHERE n.nspname = '{SCHEMA}')"
    )
}

/// What switches off those that may keep tables from being made or removed.
const EVENT_TRIGGERS: &str = "\
    SELECT pg_catalog.string_agg('ALTER EVENT TRIGGER ' || pg_catalog.quote_ident(evtname) || ' DISABLE', ' or ' \
        ORDER BY evtname) FROM pg_catalog.pg_event_trigger \
    WHERE evtenabled IN ('O', 'A') AND evtevent IN ('ddl_command_start', 'ddl_command_end', 'sql_drop')";

/// The name of a publication that tables are in as soon as they are made.
const PUBLICATION: &str =
    "SELECT pg_catalog.quote_ident(pubname) FROM pg_catalog.pg_publication WHERE puballtables ORDER BY 1";

/// The standbys that commits of this session wait for, where none of those that are connected can be one. Not every
/// account is told which of them can.
const ABSENT_STANDBYS: &str = "\
    SELECT pg_catalog.current_setting('synchronous_standby_names') \
    WHERE pg_catalog.current_setting('synchronous_standby_names') <> '' AND NOT pg_catalog.pg_is_in_recovery() \
        AND pg_catalog.current_setting('synchronous_commit') NOT IN ('off', 'local') \
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_replication WHERE sync_state IS DISTINCT FROM 'async')";

impl Control<PostgreSql> {
    /// Makes sure that the schema's name is free or the schema ciphertax's own, and that the account may make and remove
    /// what is in it: before anything is written.
    pub(super) fn refuse_what_cannot_be_removed(&mut self, contents: &Contents) -> Result<()> {
        let rows = self.rows(&rights())?;
        let column = |index: usize| rows.first().map(|row| row.text(index)).unwrap_or_default();
        if column(0) == "t" {
            return Err(self.unusable(
                "it is a standby, which takes no writes, and ciphertax needs data of its own; name the primary, which has \
                 the same costs",
            ));
        }
        if column(1) == "on" {
            return Err(self.unusable(
                "its transactions are read-only (default_transaction_read_only of the server, the database or the user), and \
                 ciphertax needs data of its own; name a server or a user that may write",
            ));
        }
        let user = column(4);
        let missing = match (column(2).as_str(), column(3).as_str()) {
            _ if SCHEMA.is_given() => (column(5) == "f").then(|| {
                (
                    format!("the user may make no table in the schema {SCHEMA}"),
                    format!("GRANT CREATE, USAGE ON SCHEMA {} TO {user}", SCHEMA.quoted()),
                )
            }),
            ("t", _) | ("", "t") => None,
            ("f", _) => Some((
                format!("the schema {SCHEMA} is somebody else's"),
                format!("ALTER SCHEMA {} OWNER TO {user}", SCHEMA.quoted()),
            )),
            _ => Some((
                format!("the user may make no schema, and none named {SCHEMA} is there for it"),
                format!("CREATE SCHEMA {} AUTHORIZATION {user}", SCHEMA.quoted()),
            )),
        };
        // Somebody else's data are said to be so, and not to be given away.
        self.ask_dataset(TIMEOUT, async |session| {
            dataset::refuse_foreign(session, contents).await
        })?;
        match missing {
            None => self.refuse_replication(),
            Some((problem, statement)) => Err(self.unusable(format!(
                "{problem}, so ciphertax could not remove what it makes there and makes nothing; have its administrator run: \
                 {statement}"
            ))),
        }
    }

    /// Makes sure that no event trigger keeps tables from being made and removed, where there is one.
    pub(super) fn refuse_event_triggers(&mut self) -> Result<()> {
        let statements = self.word(EVENT_TRIGGERS)?;
        if statements.is_empty() {
            return Ok(());
        }
        let refused = self.ask_dataset(TIMEOUT, async |session| match rehearse_removal(session).await {
            Err(DatasetError::Wire(error)) if error.is_refusal() => Ok(Some(error)),
            done => done.map(|()| None),
        })?;
        match refused {
            None => Ok(()),
            Some(error) => Err(self.unusable(format!(
                "making a table and removing it was tried and rolled back, and {error}; ciphertax makes nothing that it could \
                 not remove; if an event trigger says so, have its administrator run: {statements}"
            ))),
        }
    }

    /// Makes sure that no subscriber is sent the data set, which it does not have, and that commits end.
    fn refuse_replication(&mut self) -> Result<()> {
        let publication = self.word(PUBLICATION)?;
        if !publication.is_empty() {
            return Err(self.unusable(format!(
                "its publication {publication} is FOR ALL TABLES of this database: ciphertax's tables would be published \
                 too, and a subscriber, which does not have them, would stop for good; name another database in the URL"
            )));
        }
        self.refuse_absent_standbys()
    }

    /// Makes sure that a commit does not wait for a standby that is not there.
    pub(super) fn refuse_absent_standbys(&self) -> Result<()> {
        let absent = self.visit(&self.ways[0], async |session| {
            session.query_or_none(ABSENT_STANDBYS).await
        })?;
        match absent.first() {
            None => Ok(()),
            Some(row) => Err(self.unusable(format!(
                "commits wait for a standby (synchronous_standby_names = '{}', synchronous_commit is neither off nor local), \
                 and none is connected, so they would wait for ever; start the standby, or let ciphertax's sessions not wait: \
                 add options=-csynchronous_commit%3Dlocal to the URL",
                row.text(0)
            ))),
        }
    }
}

/// Asks a server what it is. The identifier of its data, which primary and standbys share, not every account may read.
pub(super) async fn standing(session: &mut Session) -> Result<Standing, WireError> {
    let rows = session
        .query(
            "SELECT pg_catalog.pg_is_in_recovery()::text, pg_catalog.current_setting('transaction_read_only')",
        )
        .await?;
    let first = rows.first();
    let is = |column, word| first.is_some_and(|row| row.text(column) == word);
    let is_standby = is(0, "true");
    let is_read_only = is(1, "on");
    let identifier = session
        .query("SELECT system_identifier FROM pg_catalog.pg_control_system()")
        .await
        .ok()
        .and_then(|rows| rows.first().map(|row| row.text(0).to_owned()));
    let role = match (is_standby, is_read_only) {
        (true, _) => "standby",
        (false, true) => "read-only",
        (false, false) => "primary",
    };
    Ok(Standing {
        role: role.to_owned(),
        takes_writes: !is_standby && !is_read_only,
        group: identifier,
    })
}

/// What a product's `version()` holds, in lower case. Whoever speaks PostgreSQL's protocol says a version of PostgreSQL
/// too, so the more particular words come first.
const PRODUCTS: [(&str, &str); 15] = [
    ("cockroachdb", "CockroachDB"),
    ("-yb-", "YugabyteDB"),
    ("yugabyte", "YugabyteDB"),
    ("redshift", "Amazon Redshift"),
    ("greenplum", "Greenplum"),
    ("enterprisedb", "EDB Postgres Advanced Server"),
    ("materialize", "Materialize"),
    ("risingwave", "RisingWave"),
    ("questdb", "QuestDB"),
    ("cratedb", "CrateDB"),
    ("opengauss", "openGauss"),
    ("gaussdb", "GaussDB"),
    ("kingbase", "KingbaseES"),
    ("polardb", "PolarDB"),
    ("cloud spanner", "Cloud Spanner"),
];

/// The product of a server that says this of its version; PostgreSQL where nothing speaks against it.
pub(super) fn product(version: &str) -> &'static str {
    let words = version.to_lowercase();
    let known = PRODUCTS.iter().find(|(word, _)| words.contains(word));
    known.map_or("PostgreSQL", |(_, product)| product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says_of_itself() {
        for (version, expected) in [
            (
                "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc",
                "PostgreSQL",
            ),
            (
                "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)",
                "CockroachDB",
            ),
            (
                "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6",
                "YugabyteDB",
            ),
            (
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.12103",
                "Amazon Redshift",
            ),
            (
                "PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build commit:367edc6b4dfd)",
                "Greenplum",
            ),
            (
                "(openGauss 5.0.0 build a07d57c3) compiled at 2023-03-29 03:37:13",
                "openGauss",
            ),
        ] {
            assert_eq!(product(version), expected, "{version}");
        }
    }
}
