//! Results of one mebibyte: what the record layer costs when there is much to carry; and what short connections ask
//! over SQL.

use std::rc::Rc;

use ciphertax_engine::{Context, Failure, Operation, Result, Slot, Workload};
use ciphertax_reactor::Reactor;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::point_select::Prepared;
use super::session::{SqlSession, Tables};
use crate::connect::Task;
use crate::dataset::sbtest::{BULK_BYTES, BULK_ROWS};
use crate::driver::{Access, failure};

/// `SELECT payload FROM bulk`: 16 rows of 64 KiB of random bytes, prepared.
pub struct BulkRead<C> {
    /// How the arm reaches its server.
    pub access: C,
}

impl<C: Access<Session: SqlSession>> Workload for BulkRead<C> {
    type Connection = Prepared<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::BulkRead.descriptor().kinds;

    const RENEWS: bool = true;

    async fn close(&self, connection: Self::Connection) {
        connection.close().await;
    }

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        Prepared::open(&self.access, reactor, slot.index, "SELECT payload FROM bulk", 0).await
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let (answer, operation) = connection.execute(&[]).await?;
        if answer.rows != u64::from(BULK_ROWS) || answer.row_bytes < BULK_BYTES {
            let (rows, bytes) = (answer.rows, answer.row_bytes);
            return Err(Failure::Error(format!(
                "a bulk read gave {rows} rows of {bytes} bytes: was the table changed?"
            )));
        }
        Ok(operation)
    }
}

pub(crate) const INSERT_TABLE: &str = "connect_insert_count";

/// One row of `sbtest1`, by primary key, picked uniformly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectRow(pub Tables);

impl<C: Access<Session: SqlSession>> Task<C> for SelectRow {
    type State = ();

    fn state(&self, _access: &C) {}

    async fn run(&self, _state: &mut (), random: &mut Pcg64Mcg, session: &mut C::Session) -> Result<u64> {
        let Self(tables) = self;
        let id = random.random_range(1..=tables.dataset.table_size);
        let sql = format!("SELECT c FROM sbtest1 WHERE id={id}");
        let answer = session.command(&sql).await.map_err(failure)?;
        tables.check(id, 1, answer.rows)?;
        Ok(1)
    }
}

/// One row is inserted, and counted: by its id, since a count of all rows would cost an arm the more, the faster it is.
/// The table is emptied before every slice, outside the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsertAndCount;

impl<C: Access<Session: SqlSession>> Task<C> for InsertAndCount {
    type State = ();

    fn state(&self, _access: &C) {}

    async fn prepare(&self, session: &mut C::Session) -> Result<()> {
        let dialect = C::Session::DIALECT;
        let (identity, storage, empty) = (dialect.identity, dialect.storage, dialect.empty);
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {INSERT_TABLE} (id {identity} PRIMARY KEY, k INTEGER NOT NULL){storage}"
        );
        for sql in [create, format!("{empty}{INSERT_TABLE}")] {
            session.command(&sql).await.map_err(failure)?;
        }
        Ok(())
    }

    async fn run(&self, _state: &mut (), random: &mut Pcg64Mcg, session: &mut C::Session) -> Result<u64> {
        let last = C::Session::DIALECT.last_identity;
        let insert = format!(
            "INSERT INTO {INSERT_TABLE} (k) VALUES ({})",
            random.random::<u16>()
        );
        session.command(&insert).await.map_err(failure)?;
        let count = format!("SELECT COUNT(*) FROM {INSERT_TABLE} WHERE id = {last}");
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
