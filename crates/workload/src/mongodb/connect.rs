//! New connections to MongoDB: what short ones cost, phase by phase.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_model::YcsbTable;
use ciphertax_reactor::Reactor;
use ciphertax_records::Phase;
use ciphertax_wire::mongodb::{ConnectOptions, Session};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::access::MongodbAccess;
use crate::access::failure;
use crate::connect::{operation, record};
use crate::ycsb::{Key, MongodbReader, is_there};

/// Connects, does little or nothing, and closes.
pub struct MongodbConnect {
    /// How the arm reaches its server.
    pub access: MongodbAccess,
    /// What a connection is made for.
    pub errand: MongodbErrand,
}

/// What a connection is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MongodbErrand {
    /// One record of YCSB's table, by its key, picked uniformly.
    Select(YcsbTable),
    /// Nothing at all.
    Nothing,
}

/// What outlives a connection.
pub struct Dialer {
    /// How the server of this seat is reached.
    options: ConnectOptions,
    random: Pcg64Mcg,
    /// Reads records, of which there are so many; `None` if nothing is asked.
    reader: Option<(MongodbReader, u32)>,
}

impl Workload for MongodbConnect {
    type Connection = Dialer;

    const KINDS: &'static [&'static str] = &["connect"];

    async fn open(&self, reactor: &Rc<Reactor>, seat: Seat) -> Result<Dialer, Failure> {
        let reader = match self.errand {
            MongodbErrand::Select(table) => {
                let reader = MongodbReader::new(&table, self.access.read_mode());
                Some((reader, table.record_count))
            }
            MongodbErrand::Nothing => None,
        };
        Ok(Dialer {
            options: self.access.target(reactor, seat.index).await?,
            random: Pcg64Mcg::seed_from_u64(seat.seed),
            reader,
        })
    }

    /// Asks for the server's word; inside a slice a further query would change what is measured.
    async fn check(&self, reactor: &Rc<Reactor>) -> Result<(), Failure> {
        let session = self.access.open(reactor, 0).await?;
        session.close().await.map(drop).map_err(failure)
    }

    async fn operate(
        &self,
        reactor: &Rc<Reactor>,
        dialer: &mut Dialer,
        recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let Dialer {
            options,
            random,
            reader,
        } = dialer;
        let began = Instant::now();
        let (mut session, mut trace) = Session::connect(reactor, options).await.map_err(failure)?;
        self.access
            .expectation
            .check(&session)
            .map_err(Failure::FactsDiffer)?;

        let mut queries = 0;
        if let Some((reader, records)) = reader {
            let before = session.traffic();
            let key = Key::of(random.random_range(0..*records).into());
            is_there(&key, reader.read(&mut session, &key).await?)?;
            queries = 1;
            let query = session.traffic().phase_since(began, before);
            trace.set_until_now(Phase::FirstOperation, query.wall_ns, query);
        }

        let traffic = session.traffic();
        let authentication = session.authentication().clone();
        let handshake = session.tls_summary();
        let close = session.close().await.map_err(failure)?;
        trace.set_until_now(Phase::Close, began.elapsed().as_nanos() as u64, close);
        record(recorder, &trace, &authentication, handshake);
        Ok(operation(queries, traffic, close))
    }
}
