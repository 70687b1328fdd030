//! sysbench's `oltp_insert`: one row, as text, its id chosen by the server, so that connections and arms never meet.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{Query, Session};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::access::Access;
use crate::digits::{C_LENGTH, PAD_LENGTH, fill_groups, push_number};
use crate::distribution::Picker;
use crate::prepared::operation;
use crate::restart::Trouble;
use crate::tables::Tables;

const BEGINNING: &str = "INSERT INTO sbtest";

/// `INSERT INTO sbtest… (id, k, c, pad) VALUES (0, …)` with a table and a `k` picked for each.
pub struct Insert {
    /// How the arm reaches its server.
    pub access: Access,
    /// What is inserted into.
    pub tables: Tables,
}

/// A session with the buffer of its statement.
pub struct Connection {
    session: Session,
    query: Query,
    ks: Picker,
    random: Pcg64Mcg,
}

impl Workload for Insert {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["insert"];

    async fn open(&self, reactor: &Rc<Reactor>, seat: Seat) -> Result<Connection, Failure> {
        let dataset = &self.tables.dataset;
        Ok(Connection {
            session: self.access.open(reactor).await?,
            query: Query::new(BEGINNING),
            ks: Picker::new(dataset.distribution, 1..=dataset.table_size),
            random: Pcg64Mcg::seed_from_u64(seat.seed),
        })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let before = connection.session.traffic();
        let mut restarts = 0;
        loop {
            connection.write(self.tables.dataset.tables);
            let inserted = connection.session.run(&mut connection.query).await;
            match inserted.map_err(Trouble::from) {
                Ok(answer) if answer.affected_rows == 1 => break,
                Ok(answer) => {
                    let rows = answer.affected_rows;
                    return Err(Failure::Error(format!("an insert of one row inserted {rows}")));
                }
                Err(Trouble::Restart) => restarts += 1,
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
        }
        Ok(Operation {
            restarts,
            ..operation(&connection.session, before, 1)
        })
    }
}

impl Connection {
    fn write(&mut self, tables: u32) {
        let Self {
            query, ks, random, ..
        } = self;
        query.truncate(BEGINNING.len());
        push_number(query, random.random_range(1..=tables));
        query.push(b" (id, k, c, pad) VALUES (0, ");
        push_number(query, ks.pick(random));
        query.push(b", '");
        fill_groups(query.push_blank(C_LENGTH), random);
        query.push(b"', '");
        fill_groups(query.push_blank(PAD_LENGTH), random);
        query.push(b"')");
    }
}
