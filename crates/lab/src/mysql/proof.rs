//! Proof that an arm is what it says, and the row that a disk is searched for.

use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_base::Proof;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Client, WireError};

use super::at_rest::Asked;
use crate::error::Error;
use crate::proof::{self, Objection, ProofError, Proved, Witnesses};
use crate::server::family::Running;

/// Proves an arm by four witnesses: the client, the server, a relay that looks for a canary, and a wrong password.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub fn prove(arm: &str, options: &ConnectOptions, expectation: &Expectation) -> Result<Proved, ProofError> {
    let witnesses = MySqlWitnesses { options, expectation };
    proof::prove(arm, &witnesses)
}

/// For [`RunningTunnel::prove`](crate::tunnel::RunningTunnel::prove): logs in by `options` at the address it is given,
/// always without TLS, and selects the canary.
pub fn select_canary(options: &ConnectOptions) -> impl FnMut(SocketAddr, &str) -> Result<(), String> + use<> {
    proof::canary_by::<MySqlWitnesses<'static>>(ConnectOptions {
        tls: None,
        ..options.clone()
    })
}

struct MySqlWitnesses<'a> {
    options: &'a ConnectOptions,
    expectation: &'a Expectation,
}

impl Witnesses for MySqlWitnesses<'_> {
    type Session = Session;

    type Counted = ();

    fn options(&self) -> &ConnectOptions {
        self.options
    }

    fn expectation(&self) -> &Expectation {
        self.expectation
    }

    async fn open(&self, reactor: &Rc<Reactor>) -> Result<(Session, ()), WireError> {
        Session::warm_up(reactor, self.options, 1).await?;
        let session = Session::connect_as(reactor, self.options, self.expectation).await?;
        Ok((session, ()))
    }

    /// Of a single session its status variables say more.
    fn counted(&self, (): ()) -> Result<Option<Proof>, Objection> {
        Ok(None)
    }

    async fn send(session: &mut Session, canary: &str) -> Result<bool, WireError> {
        let rows = session.query(&format!("SELECT '{canary}'")).await?;
        Ok(rows.first().is_some_and(|row| row.text(0) == canary))
    }
}

/// Of its own, so that it is gone without a trace.
const SCHEMA: &str = "ciphertax_canary";

/// Writes the canary to a table, and the table and the binary log to the disk.
pub(super) fn write_canary(server: &Running<'_>, canary: &str) -> Result<(), Error> {
    run(
        server,
        &[
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE TABLE {SCHEMA}.t (v VARCHAR(250)) ENGINE=InnoDB"),
            format!("INSERT INTO {SCHEMA}.t VALUES ('{canary}')"),
            format!("FLUSH TABLES {SCHEMA}.t FOR EXPORT"),
            "UNLOCK TABLES".into(),
            "FLUSH BINARY LOGS".into(),
        ],
    )
}

/// Writes it to a table, put together by the server from these two. What a node commits, the others have seen.
pub(super) fn write_replicated_canary(server: &Running<'_>, [first, second]: [&str; 2]) -> Result<(), Error> {
    run(
        server,
        &[
            format!("CREATE DATABASE {SCHEMA}"),
            format!("CREATE TABLE {SCHEMA}.t (id INT PRIMARY KEY, v VARCHAR(250)) ENGINE=InnoDB"),
            format!("INSERT INTO {SCHEMA}.t VALUES (1, CONCAT('{first}', '{second}'))"),
        ],
    )
}

/// Removes the canary's schema, if it is there.
pub(super) fn remove_canary(server: &Running<'_>) -> Result<(), Error> {
    run(server, &[format!("DROP DATABASE IF EXISTS {SCHEMA}")])
}

fn run(server: &Running<'_>, statements: &[String]) -> Result<(), Error> {
    let asked = Asked {
        server: server.entry.name,
        // Every server of this family has one.
        socket: server.socket.unwrap_or("".as_ref()),
        account: server.account,
    };
    asked.run(async |_, session| {
        for statement in statements {
            session.query(statement).await?;
        }
        Ok(())
    })
}
