//! What ciphertax does on PostgreSQL and servers that are compatible with it.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_lab::Proved;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::pooler::RunningPooler;
use ciphertax_lab::postgresql::{self as lab, prove};
use ciphertax_wire::postgresql::{ConnectOptions, Session, TextRow};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Expectation, PostgreSqlTarget, Session as _, Target};
use ciphertax_workload::dataset::{CellsProof, Contents, DatasetError, SCHEMA};
use ciphertax_workload::postgresql::end_sessions;

use super::clients::{Login, PostgreSql};
use super::control::{product, standing};
use super::counters::asking;
use super::removal::{LOCK_TIMEOUT, end_own, holders, in_words, is_locked};
use crate::connections::{Limit, Limited};
use crate::database::{Conditions, Control, Database, Description, Endpoint, Member, OpenAsk};
use crate::error::{Result, RunError};
use crate::footprint::{Footprint, TableSize};
use crate::meter::ServedBy;
use crate::server::TargetServers;
use crate::timeout::TIMEOUT;

/// Of the whole server, of the user and of the database: how many connections there may be (-1 for any number, as
/// superusers may have of the last two) and how many there are. The sessions of other users can be counted by whoever
/// may not look at them.
const LIMITS: &str = "\
    SELECT pg_catalog.current_setting('max_connections')::int - CASE WHEN r.rolsuper THEN 0 ELSE \
        pg_catalog.current_setting('superuser_reserved_connections')::int + \
        COALESCE(pg_catalog.current_setting('reserved_connections', true)::int, 0) END, \
        (SELECT SUM(numbackends) FROM pg_catalog.pg_stat_database), \
        CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END, \
        (SELECT COUNT(*) FROM pg_catalog.pg_stat_activity a WHERE a.usesysid = r.oid), \
        CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END, \
        (SELECT numbackends FROM pg_catalog.pg_stat_database s WHERE s.datid = d.oid) \
    FROM pg_catalog.pg_roles r, pg_catalog.pg_database d \
    WHERE r.rolname = SESSION_USER AND d.datname = pg_catalog.current_database()";

const NAMES: [&str; 3] = [
    "max_connections",
    "the user's CONNECTION LIMIT",
    "the database's CONNECTION LIMIT",
];

/// The advisory lock that says that ciphertax measures a server, by its two numbers: `ciph` and `erta` in ASCII.
const LOCK: [u32; 2] = [0x6369_7068, 0x6572_7461];

/// The user's own server.
pub(crate) fn postgresql_target(target: &PostgreSqlTarget) -> TargetServers<PostgreSql> {
    TargetServers {
        database: PostgreSql::default(),
        endpoints: Endpoint::of_target(
            Endpoint {
                socket: target.socket(),
                ..Endpoint::new(&target.host, target.port)
            },
            &target.others,
        ),
        login: Login {
            user: target.user.clone(),
            password: target.password.clone(),
            database: target.database.clone(),
            method: None,
            method_over_tls: target.method,
            negotiation: target.negotiation.unwrap_or_default(),
            settings: target.settings.clone(),
        },
        verification: target.verification.clone(),
        client_certificate: target.client_certificate.clone(),
        cipher: None,
        patience: target.connect_timeout.unwrap_or(TIMEOUT),
        needs_tls: false,
        display: target.to_string(),
        url: Target::PostgreSql(target.clone()).url(),
    }
}

impl Database for PostgreSql {
    const COUNTERS_NEED: &'static str = "PostgreSQL 14 or newer";
    const COUNTS_HANDSHAKES: bool = false;
    const SERVED_BY: ServedBy = ServedBy::Processes;
    const CELLS_PROOF: Option<CellsProof> = Some(CellsProof {
        hexadecimal: ["encode(", "::bytea, 'hex')"],
        log: [Some("SET log_statement = 'all'"), None],
        flush: |_| vec!["CHECKPOINT".to_owned()],
    });
    const REMOVES_OTHER_FIRST: bool = true;
    const WAIT_EVENTS: Option<OpenAsk<Self>> = Some(asking);

    /// By an advisory lock. A lock is for one database, but all can be seen from everywhere.
    fn claim(control: &mut Control<Self>) -> Result<()> {
        control.refuse_pooler()?;
        let [first, second] = LOCK;
        let others = format!(
            "SELECT pid FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND classid = {first} AND objid = {second} \
             AND objsubid = 2 AND granted AND pid <> pg_catalog.pg_backend_pid()"
        );
        let lock = format!("SELECT pg_catalog.pg_try_advisory_lock({first}, {second})");
        let granted = control.rows(&lock)?.first().is_some_and(|row| row.text(0) == "t");
        let holder = control.rows(&others)?.first().map(|row| row.text(0));
        match (granted, holder) {
            (true, None) => Ok(()),
            (_, holder) => Err(control.unusable(format!(
                "another ciphertax measures it, over the session of the server's process {}; wait for its end, or end that \
                 session with pg_terminate_backend if it is left from a run that is gone",
                holder.unwrap_or_else(|| "that has just ended".into())
            ))),
        }
    }

    /// A compatible server that does not know the question has no such limit.
    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>> {
        let rows = control.rows(LIMITS).unwrap_or_default();
        let Some(row) = rows.first() else {
            return Ok(Vec::new());
        };
        let limit = |(index, name): (usize, &'static str)| {
            Some(Limit {
                name,
                of: Limited::Connections,
                // A number below zero is no limit.
                most: row.text(2 * index).parse().ok()?,
                open: row.text(2 * index + 1).parse().ok()?,
            })
        };
        Ok(NAMES.into_iter().enumerate().filter_map(limit).collect())
    }

    fn members(&mut self, control: &mut Control<Self>) -> Result<Option<Vec<Member>>> {
        control.members_by(standing)
    }

    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>, contents: &Contents) -> Result<()> {
        control.refuse_what_cannot_be_removed(contents)?;
        control.end_leftovers()?;
        control.refuse_event_triggers()
    }

    fn describe(&self, control: &mut Control<Self>, private: Option<&Entry>) -> Result<Description> {
        let version = control.word("SELECT pg_catalog.version()")?;
        let server_version = control.ask(async |session| Ok(session.server_version().to_owned()))?;
        let tls_library = match private {
            Some(entry) => entry.tls_library.to_owned(),
            None => control.word("SELECT pg_catalog.current_setting('ssl_library', true)")?,
        };
        let product = product(&version);
        Ok(Description {
            product: product.to_owned(),
            // Others say a version of PostgreSQL there.
            version: match product {
                "PostgreSQL" => server_version,
                _ => version,
            },
            tls_library,
            settings: control.settings()?,
        })
    }

    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &ConnectOptions,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved> {
        if options.socket.is_some() && options.tls.is_some() {
            return Err(control.unusable(format!(
                "the arm {arm} is over TLS, which PostgreSQL does not have over Unix sockets; give host:port, or take a study \
                 without TLS arms"
            )));
        }
        // A wrong password proves something only where a password is asked for.
        let method = match options.method {
            None => control.method_of(options)?,
            method => method,
        };
        let options = ConnectOptions {
            method,
            ..options.clone()
        };
        let pooler = conditions.pooler;
        let by = lab::Conditions {
            unknown_client: conditions.unknown_client.as_ref(),
            behind_pooler: pooler.map(RunningPooler::server_transport),
        };
        let mut proved = prove(arm, &options, expectation, conditions.wrong_logins, by)?;
        if let Some(pooler) = pooler {
            proved.proofs.extend(pooler.prove::<Session>(arm, &options)?);
        }
        Ok(proved)
    }

    /// By the files of tables, which hold pages as they are in memory.
    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint> {
        let sizes = format!(
            "SELECT relname, pg_catalog.pg_total_relation_size(oid) FROM pg_catalog.pg_class \
             WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}')"
        );
        let memory = "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers'))";
        let tables = control.rows(&sizes)?;
        let size = |bytes: u64| TableSize {
            data_bytes: bytes,
            disk_bytes: bytes,
        };
        let table = |row: &TextRow| Some((row.text(0), size(row.text(1).parse().ok()?)));
        let memory = control.rows(memory)?;
        Ok(Footprint {
            tables: tables.iter().filter_map(table).collect(),
            memory_bytes: memory
                .first()
                .and_then(|row| row.text(0).parse().ok())
                .unwrap_or(0),
        })
    }

    /// A session that the server has ended is replaced by another.
    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>> {
        let readings = &self.readings;
        match control.try_counters(readings) {
            Ok(counters) => Ok(counters),
            Err(RunError::Stopped) => Err(RunError::Stopped),
            Err(_) => {
                control.wait_until_it_takes_connections()?;
                control.reconnect()?;
                control.claim_again()?;
                control.try_counters(readings)
            }
        }
    }

    /// Who keeps a table locked is named.
    fn remove_by(
        &self,
        control: &Control<Self>,
        patience: Duration,
        remove: impl AsyncFn(&mut Session) -> Result<bool, DatasetError>,
    ) -> Result<bool> {
        control.refuse_absent_standbys()?;
        let removing = async {
            let (mut session, _) = Session::connect_with_settings(&control.reactor, &control.ways[0]).await?;
            end_sessions(&mut session, &control.given_up).await?;
            // A compatible server without the setting waits as long as it likes.
            session.query_or_none(LOCK_TIMEOUT).await?;
            let mut removed = remove(&mut session).await;
            if is_locked(&removed) {
                session.query_or_none(&end_own()).await?;
                removed = remove(&mut session).await;
            }
            let holders = match is_locked(&removed) {
                true => session.query_or_none(&holders()).await?,
                false => Vec::new(),
            };
            session.close().await?;
            Ok((removed, holders))
        };
        let removed = control.wait_for(patience, removing)?;
        let (removed, holders) = removed.map_err(|error| control.of_removal(error))?;
        match holders.first() {
            Some(holder) => Err(control.unusable(in_words(holder))),
            None => removed.map_err(|error| control.of_removal(error)),
        }
    }
}
