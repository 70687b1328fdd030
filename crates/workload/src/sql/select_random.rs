//! sysbench's `select_random_points` and `select_random_ranges`: many values of the indexed column in one select.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Slot, Workload};
use ciphertax_reactor::Reactor;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::distribution::Picker;
use super::prepared::Prepared;
use super::session::{Sql, SqlSession};
use super::tables::Tables;

/// Points or ranges of a statement (`--random-points`, `--number-of-ranges`).
const VALUES: usize = 10;
/// From the first to the last value of a range (`--delta`).
const DELTA: i64 = 5;

/// A prepared select on `sbtest1`, as sysbench has it, however many tables there are. Each connection picks from its
/// own part of the values.
pub struct SelectRandom<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is asked.
    pub tables: Tables,
    /// Which select.
    pub of: Random,
}

/// What is picked at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Random {
    /// `SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, …)`: ten values.
    Points,
    /// `SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR …`: ten ranges of six values.
    Ranges,
}

/// A session with its statement.
pub struct Connection<S: SqlSession> {
    prepared: Prepared<S>,
    ks: Picker,
    random: Pcg64Mcg,
    values: Vec<i64>,
}

impl<C: Sql> Workload for SelectRandom<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::SelectRandomPoints.descriptor().kinds;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection, Failure> {
        let (sql, integers) = match self.of {
            Random::Points => {
                let points = ["?"; VALUES].join(", ");
                let sql = format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({points})");
                (sql, VALUES)
            }
            Random::Ranges => {
                let ranges = ["k BETWEEN ? AND ?"; VALUES].join(" OR ");
                (format!("SELECT count(k) FROM sbtest1 WHERE {ranges}"), 2 * VALUES)
            }
        };
        let dataset = &self.tables.dataset;
        let width = f64::from(dataset.table_size) / f64::from(slot.of);
        let first = width * f64::from(slot.index);
        Ok(Connection {
            prepared: Prepared::open(&self.access, reactor, slot.index, &sql, integers).await?,
            ks: Picker::new(dataset.distribution, first as u32..=(first + width) as u32),
            random: Pcg64Mcg::seed_from_u64(slot.seed),
            values: Vec::with_capacity(integers),
        })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Self::Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let Connection {
            prepared,
            ks,
            random,
            values,
        } = connection;
        values.clear();
        for _ in 0..VALUES {
            let k = i64::from(ks.pick(random));
            values.push(k);
            if self.of == Random::Ranges {
                values.push(k + DELTA);
            }
        }
        let (answer, operation) = prepared.execute(values).await?;
        if self.of == Random::Ranges && answer.rows != 1 {
            return Err(Failure::Error(format!("a count gave {} rows", answer.rows)));
        }
        Ok(operation)
    }
}
