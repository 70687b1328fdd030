//! sysbench's `bulk_insert`: statements of half a mebibyte, a table for each connection.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{Query, Session};

use crate::access::{Access, failure};
use crate::digits::push_number;
use crate::prepared::operation;

/// Longest statement in bytes: sysbench's buffer of 512 KiB less the zero at its end.
const LONGEST: usize = 512 * 1024 - 1;
/// As long as sysbench's `sbtest`, so that as many rows fit into a statement; those tables have other columns.
const TABLES: &str = "sbbulk";

/// `INSERT INTO sbbulk… VALUES(1,1),(2,2),…`, as many rows as fit; an operation is a statement. The tables are emptied before
/// every slice, outside the measured time, so that all arms insert the same rows into the same tables.
pub struct BulkInsert {
    access: Access,
    /// Counts the times that the tables were emptied.
    emptied: AtomicU32,
}

/// A session with its table.
pub struct Connection {
    session: Session,
    query: Query,
    /// Length of what stands before the rows.
    beginning: usize,
    /// The row that did not fit into the last statement.
    next: u32,
    /// When the tables were emptied last, as far as it knows.
    emptied: u32,
}

impl BulkInsert {
    /// Inserts over sessions of this arm.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            emptied: AtomicU32::new(0),
        }
    }
}

impl Workload for BulkInsert {
    type Connection = Connection;

    const KINDS: &'static [&'static str] = &["bulk_insert"];

    async fn open(&self, reactor: &Rc<Reactor>, seat: Seat) -> Result<Connection, Failure> {
        let mut session = self.access.open(reactor).await?;
        let table = format!("{TABLES}{}", seat.index + 1);
        let create = format!(
            "CREATE TABLE IF NOT EXISTS {table} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, \
             PRIMARY KEY (id)) /*! ENGINE = innodb */"
        );
        session.query_raw(&create, |_| Ok(())).await.map_err(failure)?;
        let query = Query::new(&format!("INSERT INTO {table} VALUES"));
        Ok(Connection {
            session,
            beginning: query.len(),
            query,
            next: 1,
            emptied: self.emptied.load(Ordering::Relaxed),
        })
    }

    async fn check(&self, reactor: &Rc<Reactor>) -> Result<(), Failure> {
        let mut session = self.access.open(reactor).await?;
        empty_tables(&mut session).await.map_err(failure)?;
        self.emptied.fetch_add(1, Ordering::Relaxed);
        session.close().await.map_err(failure)?;
        Ok(())
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Connection,
        _recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
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

impl Connection {
    /// Writes a statement with as many rows as fit, and returns how many.
    fn write(&mut self) -> u32 {
        let first = self.next;
        self.query.truncate(self.beginning);
        loop {
            let length = self.query.len();
            self.query.push(if self.next == first { b"(" } else { b",(" });
            push_number(&mut self.query, self.next);
            self.query.push(b",");
            push_number(&mut self.query, self.next);
            self.query.push(b")");
            if self.query.len() > LONGEST {
                self.query.truncate(length);
                return self.next - first;
            }
            self.next += 1;
        }
    }
}

async fn empty_tables(session: &mut Session) -> Result<(), WireError> {
    let question = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() \
         AND table_name LIKE '{TABLES}%'"
    );
    for table in session.query(&question).await? {
        session
            .query_raw(&format!("TRUNCATE TABLE {}", table.text(0)), |_| Ok(()))
            .await?;
    }
    Ok(())
}
