//! New connections: what short ones cost, phase by phase.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_records::{AuthenticationFacts, ConnectTrace, Phase, PhaseTrace};
use ciphertax_wire::Traffic;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::tls::TlsSummary;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::{Access, failure};
use crate::tables::Tables;

const TABLE: &str = "connect_insert_count";

/// Connects, does little or nothing, and closes.
pub struct Connect {
    /// How the arm reaches its server.
    pub access: Access,
    /// What a connection is made for.
    pub errand: Errand,
}

/// What a connection is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// One row of `sbtest1`, by primary key, picked uniformly.
    Select(Tables),
    /// One row is inserted, and counted: by its id, since a count of all rows would cost an arm the more, the faster it is.
    /// The table is emptied before every slice, outside the measured time.
    InsertCount,
    /// Nothing at all.
    Nothing,
}

impl Workload for Connect {
    /// Only the random numbers outlive a connection.
    type Connection = Pcg64Mcg;

    const KINDS: &'static [&'static str] = &["connect"];

    async fn open(&self, _reactor: &Rc<Reactor>, seat: Seat) -> Result<Pcg64Mcg, Failure> {
        Ok(Pcg64Mcg::seed_from_u64(seat.seed))
    }

    /// Asks for the server's word; inside a slice a further query would change what is measured.
    async fn check(&self, reactor: &Rc<Reactor>) -> Result<(), Failure> {
        self.access.forget_passwords(reactor).await?;
        let mut session = self.access.open(reactor).await?;
        if self.errand == Errand::InsertCount {
            let create = format!(
                "CREATE TABLE IF NOT EXISTS {TABLE} (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, \
                 k INTEGER NOT NULL) /*! ENGINE = innodb */"
            );
            for sql in [create, format!("TRUNCATE TABLE {TABLE}")] {
                session.query_raw(&sql, |_| Ok(())).await.map_err(failure)?;
            }
        }
        session.close().await.map_err(failure)?;
        Ok(())
    }

    async fn operate(
        &self,
        reactor: &Rc<Reactor>,
        random: &mut Pcg64Mcg,
        recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let began = Instant::now();
        let (mut session, mut trace) = Session::connect(reactor, &self.access.options)
            .await
            .map_err(failure)?;
        self.access
            .expectation
            .check(&session)
            .map_err(Failure::FactsDiffer)?;

        let before = session.traffic();
        let queries = self.errand.run(&mut session, random).await?;
        let traffic = session.traffic();
        if queries > 0 {
            let query = traffic.phase_since(began, before);
            trace.set_until_now(Phase::FirstOperation, query.wall_ns, query);
        }

        let authentication = session.authentication().clone();
        let handshake = session.tls_summary();
        let close = session.close().await.map_err(failure)?;
        trace.set_until_now(Phase::Close, began.elapsed().as_nanos() as u64, close);
        record(recorder, &trace, &authentication, handshake);
        Ok(operation(queries, traffic, close))
    }
}

/// What a connect did, with what went over it before it was closed.
pub(crate) fn operation(queries: u64, traffic: Traffic, close: PhaseTrace) -> Operation {
    Operation {
        queries,
        bytes_sent: traffic.sent + close.bytes_sent,
        bytes_received: traffic.received + close.bytes_received,
        ..Operation::default()
    }
}

/// Records a connect that is closed, whatever the protocol.
pub(crate) fn record(
    recorder: &RefCell<Recorder>,
    trace: &ConnectTrace,
    authentication: &AuthenticationFacts,
    handshake: Option<TlsSummary>,
) {
    let mut recorder = recorder.borrow_mut();
    recorder.connected(trace, authentication);
    if let Some(handshake) = handshake {
        recorder.shook_hands(handshake.offered, handshake.resumed);
    }
}

impl Errand {
    /// Returns the number of statements it took.
    async fn run(self, session: &mut Session, random: &mut Pcg64Mcg) -> Result<u64, Failure> {
        match self {
            Self::Nothing => Ok(0),
            Self::Select(tables) => {
                let id = random.random_range(1..=tables.dataset.table_size);
                let sql = format!("SELECT c FROM sbtest1 WHERE id={id}");
                let answer = session.query_raw(&sql, |_| Ok(())).await.map_err(failure)?;
                tables.check(id, 1, answer.rows)?;
                Ok(1)
            }
            Self::InsertCount => {
                let insert = format!("INSERT INTO {TABLE} (k) VALUES ({})", random.random::<u16>());
                session.query_raw(&insert, |_| Ok(())).await.map_err(failure)?;
                let count = format!("SELECT COUNT(*) FROM {TABLE} WHERE id = LAST_INSERT_ID()");
                let rows = session.query(&count).await.map_err(failure)?;
                match rows.first().map(|row| row.text(0)).as_deref() {
                    Some("1") => Ok(2),
                    found => Err(Failure::Error(format!(
                        "the row inserted was counted as {}; expected 1: was the table changed?",
                        found.unwrap_or("nothing")
                    ))),
                }
            }
        }
    }
}
