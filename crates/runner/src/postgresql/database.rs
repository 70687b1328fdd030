//! What ciphertax does on PostgreSQL and servers that are compatible with it.

use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::pooler::RunningPooler;
use ciphertax_lab::postgresql::{self as lab, prove, select_canary};
use ciphertax_lab::{PrivateServer, Proved};
use ciphertax_model::Arm;
use ciphertax_wire::postgresql::{ConnectOptions, TextRow};
use ciphertax_wire::{Expectation, PostgreSqlTarget, Target};
use ciphertax_workload::dataset::SCHEMA;
use ciphertax_workload::postgresql::PostgresqlAccess;
use ciphertax_workload::sql::Columns;

use super::clients::{Login, PostgreSql};
use super::control::{product, standing};
use crate::connections::Limit;
use crate::database::{Canary, Conditions, Control, Database, Description, Endpoint, Member};
use crate::error::RunError;
use crate::footprint::{Footprint, TableSize};
use crate::meter::ServedBy;
use crate::ranks::ServerState;
use crate::server::TargetServers;

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

/// What each of them is called.
const NAMES: [&str; 3] = [
    "max_connections",
    "the user's CONNECTION LIMIT",
    "the database's CONNECTION LIMIT",
];

/// The user's own server.
pub(crate) fn postgresql_target(target: &PostgreSqlTarget) -> TargetServers<PostgreSql> {
    TargetServers {
        database: PostgreSql {
            negotiation: target.negotiation.unwrap_or_default(),
            ..PostgreSql::default()
        },
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
            settings: target.settings.clone(),
            connect_timeout: target.connect_timeout,
        },
        verification: target.verification.clone(),
        client_certificate: target.client_certificate.clone(),
        needs_tls: false,
        display: target.to_string(),
        url: Target::PostgreSql(target.clone()).url(),
    }
}

impl Database for PostgreSql {
    const MADE: &'static str = "the schema ciphertax";
    const SERVED_BY: ServedBy = ServedBy::Processes;

    fn of_private(server: &PrivateServer, _among_themselves: &[Endpoint]) -> Self {
        Self {
            columns: server.at_rest().columns.map(Columns::new),
            ..Self::default()
        }
    }

    fn elsewhere(own: Option<Self>, _state: &ServerState) -> Self {
        own.unwrap_or_default()
    }

    fn claim(control: &mut Control<Self>) -> Result<(), RunError> {
        control.claim()
    }

    /// A compatible server that does not know the question has no such limit.
    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>, RunError> {
        let rows = control.rows(LIMITS).unwrap_or_default();
        let Some(row) = rows.first() else {
            return Ok(Vec::new());
        };
        let limit = |(index, name): (usize, &'static str)| {
            Some(Limit {
                name,
                // A number below zero is no limit.
                most: row.text(2 * index).parse().ok()?,
                open: row.text(2 * index + 1).parse().ok()?,
            })
        };
        Ok(NAMES.into_iter().enumerate().filter_map(limit).collect())
    }

    fn members(&self, control: &mut Control<Self>) -> Result<Option<Vec<Member>>, RunError> {
        control.members_by(standing)
    }

    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>) -> Result<(), RunError> {
        control.refuse_what_cannot_be_removed()?;
        control.end_leftovers()
    }

    fn describe(
        &self,
        control: &mut Control<Self>,
        private: Option<&Entry>,
    ) -> Result<Description, RunError> {
        let version = control.word("SELECT pg_catalog.version()")?;
        let server_version = control.ask(async |session| Ok(session.server_version().to_owned()))?;
        let tls_library = match private {
            Some(entry) => entry.tls_library.to_owned(),
            None => control.setting("ssl_library")?,
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
    ) -> Result<Proved, RunError> {
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
        let mut proved = prove(arm, &options, expectation, by)?;
        if let Some(pooler) = pooler {
            proved.proofs.extend(pooler.prove(arm, &options)?);
        }
        Ok(proved)
    }

    fn canary(options: &ConnectOptions) -> Canary {
        Box::new(select_canary(options))
    }

    fn access(
        &self,
        arm: &Arm,
        options: ConnectOptions,
        expectation: Expectation,
        _measured: &[Endpoint],
    ) -> PostgresqlAccess {
        PostgresqlAccess {
            options: ConnectOptions {
                schema: Some(SCHEMA.to_owned()),
                ..options
            },
            expectation,
            connections: 1,
            is_pooled: arm.pooler.is_some(),
            columns: self.columns,
        }
    }

    /// By the files of tables, which hold pages as they are in memory.
    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint, RunError> {
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

    /// After the one byte that answers the client's request for TLS; at once where the client did not ask.
    fn tls_begins_at(answers: &[u8]) -> Option<usize> {
        match answers.first()? {
            b'S' => Some(1),
            _ => Some(0),
        }
    }
}
