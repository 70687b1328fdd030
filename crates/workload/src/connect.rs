//! New connection, one query, close: what short connections cost, phase by phase.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use ciphertax_engine::{Failure, Operation, Recorder, Workload};
use ciphertax_model::record::Phase;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::Session;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::{Access, failure};

/// Connects, reads one row by primary key, and closes.
pub struct Connect {
    /// How the arm reaches its server.
    pub access: Access,
    /// Rows of the table: ids run from 1 to this.
    pub rows: u32,
}

impl Workload for Connect {
    /// Only the ids outlive a connection.
    type Connection = Pcg64Mcg;

    const KINDS: &'static [&'static str] = &["connect"];

    async fn open(&self, _reactor: &Rc<Reactor>, seed: u64) -> Result<Pcg64Mcg, Failure> {
        Ok(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Asks for the server's word; inside a slice a further query would change what is measured.
    async fn check(&self, reactor: &Rc<Reactor>) -> Result<(), Failure> {
        self.access.open(reactor).await?.close().await.map_err(failure)?;
        Ok(())
    }

    async fn operate(
        &self,
        reactor: &Rc<Reactor>,
        ids: &mut Pcg64Mcg,
        recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let id = ids.random_range(1..=self.rows);
        let (mut session, mut trace) = Session::connect(reactor, &self.access.options)
            .await
            .map_err(failure)?;
        self.access
            .expectation
            .check(&session)
            .map_err(Failure::FactsDiffer)?;

        let began = Instant::now();
        let before = session.traffic();
        let sql = format!("SELECT c FROM sbtest1 WHERE id={id}");
        let answer = session.query_raw(&sql, |_| Ok(())).await.map_err(failure)?;
        if answer.rows != 1 {
            return Err(Failure::Error(format!(
                "id {id} has {} rows; expected one: was the table changed?",
                answer.rows
            )));
        }
        let traffic = session.traffic();
        trace.set(Phase::FirstOperation, traffic.phase_since(began, before));

        let authentication = session.authentication().clone();
        let close = session.close().await.map_err(failure)?;
        trace.set(Phase::Close, close);
        recorder.borrow_mut().connected(&trace, &authentication);
        Ok(Operation {
            kind: 0,
            bytes_sent: traffic.sent + close.bytes_sent,
            bytes_received: traffic.received + close.bytes_received,
        })
    }
}
