//! Proof that an arm on PostgreSQL is what it says, before anything is measured.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_base::Proof;
use ciphertax_model::Transport;
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Expectation, Method, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Client, WireError};

use super::cluster;
use crate::error::Error;
use crate::proof::{self, Objection, ProofError, Proved, Witnesses};
use crate::server::family::Running;

/// The conditions under which an arm is proved, besides what its sessions must be.
#[derive(Clone, Copy, Default)]
pub struct Conditions<'a> {
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub unknown_client: Option<&'a ConnectOptions>,
    /// For arms with a pooler: how bytes travel between it and the server, which is what the server sees.
    pub behind_pooler: Option<Transport>,
}

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a wrong password or
/// certificate, where there is one.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(
    arm: &str,
    options: &ConnectOptions,
    expectation: &Expectation,
    conditions: Conditions<'_>,
) -> Result<Proved, ProofError> {
    let witnesses = PostgreSqlWitnesses {
        options,
        expectation,
        conditions,
        behind_pooler: conditions.behind_pooler.map(Expectation::new),
    };
    proof::prove(arm, &witnesses)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and selects the canary.
pub fn select_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::canary_by::<PostgreSqlWitnesses<'static>>(ConnectOptions {
        tls: None,
        ..options.clone()
    })
}

struct PostgreSqlWitnesses<'a> {
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
    conditions: Conditions<'a>,
    /// What the server sees of an arm with a pooler.
    behind_pooler: Option<Expectation>,
}

impl Witnesses for PostgreSqlWitnesses<'_> {
    type Session = Session;

    type Counted = ();

    fn options(&self) -> &ConnectOptions {
        self.options
    }

    fn expectation(&self) -> &Expectation {
        self.expectation
    }

    fn expectation_of_server(&self) -> &Expectation {
        self.behind_pooler.as_ref().unwrap_or(self.expectation)
    }

    async fn open(&self, reactor: &Rc<Reactor>) -> Result<(Session, ()), WireError> {
        Session::warm_up(reactor, self.options, 1).await?;
        let session = Session::connect_as(reactor, self.options, self.expectation).await?;
        Ok((session, ()))
    }

    /// Of a single session its own view says more.
    fn counted(&self, (): ()) -> Result<Option<Proof>, Objection> {
        Ok(None)
    }

    async fn send(session: &mut Session, canary: &str) -> Result<bool, WireError> {
        let rows = session.query(&format!("SELECT '{canary}'")).await?;
        Ok(rows.first().is_some_and(|row| row.text(0) == canary))
    }

    fn wrong_login(&self) -> Option<(&'static str, ConnectOptions)> {
        match (self.options.method, self.conditions.unknown_client) {
            (Some(Method::Certificate), Some(unknown)) => Some(("a certificate of nobody", unknown.clone())),
            _ => Session::with_wrong_secret(self.options),
        }
    }

    /// PgBouncer has one code for everything.
    fn is_refusal(error: &WireError) -> bool {
        match error {
            WireError::PostgreSql {
                sql_state, message, ..
            } if sql_state == "08P01" => message.contains("authentication failed"),
            error => error.is_access_denied(),
        }
    }
}

/// Of its own, so that it is gone without a trace.
const CANARY_TABLE: &str = "ciphertax_file_system";

/// Writes it to a table, and all tables to the disk.
///
/// The disk beneath the server's file system is searched for it.
pub(super) fn write_canary(server: &Running<'_>, canary: &str) -> crate::error::Result<()> {
    run(
        server,
        &[
            format!("CREATE TABLE {CANARY_TABLE} (v text)"),
            format!("INSERT INTO {CANARY_TABLE} VALUES ('{canary}')"),
        ],
    )?;
    run(server, &["CHECKPOINT".into()])
}

/// Removes it, if it is there.
pub(super) fn remove_canary(server: &Running<'_>) -> crate::error::Result<()> {
    run(server, &[format!("DROP TABLE IF EXISTS {CANARY_TABLE}")])
}

fn run(server: &Running<'_>, statements: &[String]) -> crate::error::Result<()> {
    // Every server of this family has a socket.
    let socket = server.socket.unwrap_or("".as_ref());
    cluster::run_statements(socket, statements).map_err(|problem: io::Error| Error::SetUp {
        server: server.entry.name,
        problem: problem.to_string(),
    })
}
