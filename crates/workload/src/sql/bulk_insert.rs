//! sysbench's `bulk_insert`: statements of half a mebibyte, a table for each connection.

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use ciphertax_engine::{Context, Failure, Operation, Result, Slot, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Session, WireError};

use super::Dialect;
use super::point_select::operation;
use super::session::{Query, SqlSession};
use crate::dataset::SCHEMA;
use crate::digits::Digits;
use crate::driver::{Access, failure};

/// Longest statement in bytes: sysbench's buffer of 512 KiB less the zero at its end.
const LONGEST: usize = 512 * 1024 - 1;
/// As long as sysbench's `sbtest`, so that as many rows fit into a statement; those tables have other columns.
const TABLES: &str = "sbbulk";
/// Their names, as [`Contents`](crate::dataset::Contents) has them.
pub(crate) const SBBULK_NAMES: &str = "sbbulk#";

/// `INSERT INTO sbbulk… VALUES(1,1),(2,2),…`, as many rows as fit; an operation is a statement. The tables are emptied
/// before every slice, outside the measured time, so that all arms insert the same rows into the same tables.
pub struct BulkInsert<C> {
    access: C,
    /// Counts the times that the tables were emptied.
    emptied: AtomicU32,
}

/// A session with its table.
pub struct Connection<S: SqlSession> {
    session: S,
    query: Query,
    /// Length of what stands before the rows.
    beginning: usize,
    /// The row that did not fit into the last statement.
    next: u32,
    /// When the tables were emptied last, as far as it knows.
    emptied: u32,
}

impl<C> BulkInsert<C> {
    /// Inserts over sessions of this arm.
    pub fn new(access: C) -> Self {
        Self {
            access,
            emptied: AtomicU32::new(0),
        }
    }
}

impl<C: Access<Session: SqlSession>> Workload for BulkInsert<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::BulkInsert.descriptor().kinds;

    const CHECKS: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let mut session = self.access.open(reactor, slot.index).await?;
        let table = format!("{TABLES}{}", slot.index + 1);
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {table} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, \
             PRIMARY KEY (id)){}",
            C::Session::DIALECT.storage
        );
        session.command(&create).await.map_err(failure)?;
        let query: Query = Query::new(&format!("INSERT INTO {table} VALUES"));
        Ok(Connection {
            session,
            beginning: query.length(),
            query,
            next: 1,
            emptied: self.emptied.load(Ordering::Relaxed),
        })
    }

    async fn check(&self, reactor: &Rc<Reactor>) -> Result<()> {
        let mut session = self.access.open(reactor, 0).await?;
        empty_tables(&mut session).await.map_err(failure)?;
        self.emptied.fetch_add(1, Ordering::Relaxed);
        session.close().await.map_err(failure)?;
        Ok(())
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let emptied = self.emptied.load(Ordering::Relaxed);
        if connection.emptied != emptied {
            connection.emptied = emptied;
            connection.next = 1;
        }
        let rows = connection.write();
        let Connection { session, query, .. } = connection;
        let before = session.traffic();
        let answer = session.run(query).await.map_err(failure)?;
        if answer.affected_rows != u64::from(rows) {
            return Err(Failure::Error(format!(
                "{} of {rows} rows were inserted",
                answer.affected_rows
            )));
        }
        Ok(operation(session, before, 1))
    }
}

impl<S: SqlSession> Connection<S> {
    /// Writes a statement with as many rows as fit, and returns how many.
    fn write(&mut self) -> u32 {
        let first = self.next;
        self.query.truncate(self.beginning);
        loop {
            let length = self.query.length();
            self.query.push(if self.next == first { b"(" } else { b",(" });
            let number = Digits::of(self.next.into(), 0);
            self.query.push(number.as_bytes());
            self.query.push(b",");
            self.query.push(number.as_bytes());
            self.query.push(b")");
            if self.query.length() > LONGEST {
                self.query.truncate(length);
                return self.next - first;
            }
            self.next += 1;
        }
    }
}

async fn empty_tables<S: SqlSession>(session: &mut S) -> Result<(), WireError> {
    let Dialect { tables, empty, .. } = S::DIALECT;
    for row in session.query(&tables(&SCHEMA, TABLES)).await? {
        let table = row.text(0);
        let number = table.strip_prefix(TABLES).map(str::parse::<u32>);
        if number.is_some_and(|number| number.is_ok()) {
            session.command(&format!("{empty}{table}")).await?;
        }
    }
    Ok(())
}
