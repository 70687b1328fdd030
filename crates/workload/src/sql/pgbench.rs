//! The scripts that are built into pgbench: `select-only` and `tpcb-like` (PostgreSQL 15 and 18, `pgbench.c`), prepared
//! (`--protocol=prepared`).

use std::rc::Rc;

use ciphertax_engine::{Context, Failure, Operation, Result, Slot, Workload};
use ciphertax_model::Pgbench;
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Session, WireError};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::point_select::{Prepared, operation};
use super::session::{Parameter, ResultSummary, SqlSession, Statement, Transaction, Trouble};
use crate::dataset::mark::vacuum;
use crate::driver::{Access, failure};

const SELECT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = ?";
const UPDATE_ACCOUNT: &str = "UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?";
const UPDATE_TELLER: &str = "UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?";
const UPDATE_BRANCH: &str = "UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?";
const INSERT_HISTORY: &str =
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)";

/// What is added to balances lies between this and its negative.
const LARGEST_DELTA: i64 = 5000;

/// `select-only`: the balance of an account picked uniformly.
pub struct SelectOnly<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is asked.
    pub tables: Pgbench,
}

/// A session with its statement.
pub struct SelectConnection<S: SqlSession> {
    prepared: Prepared<S>,
    random: Pcg64Mcg,
}

impl<C: Access<Session: SqlSession>> Workload for SelectOnly<C> {
    type Connection = SelectConnection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::PgbenchSelectOnly.descriptor().kinds;

    const RENEWS: bool = true;

    async fn close(&self, connection: Self::Connection) {
        connection.prepared.close().await;
    }

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        Ok(SelectConnection {
            prepared: Prepared::open(&self.access, reactor, slot.index, SELECT, 1).await?,
            random: Pcg64Mcg::seed_from_u64(slot.seed),
        })
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let aid = connection.random.random_range(1..=self.tables.accounts());
        let (answer, operation) = connection.prepared.execute(&[aid.into()]).await?;
        one("account", aid.into(), answer.rows)?;
        Ok(operation)
    }
}

/// `tpcb-like`: a transaction over an account, a teller and a branch, each picked uniformly. As pgbench does before a run,
/// history is emptied before every slice, and the small tables are cleared of old versions of their rows, both outside
/// the measured time.
pub struct TpcbLike<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is asked.
    pub tables: Pgbench,
}

/// A session with the statements of the transaction.
pub struct TpcbConnection<S: SqlSession> {
    session: S,
    transaction: Transaction<S>,
    update_account: S::Statement,
    select: S::Statement,
    update_teller: S::Statement,
    update_branch: S::Statement,
    insert_history: S::Statement,
    random: Pcg64Mcg,
    /// Statements answered so far.
    queries: u64,
}

impl<C: Access<Session: SqlSession>> Workload for TpcbLike<C> {
    type Connection = TpcbConnection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::PgbenchTpcbLike.descriptor().kinds;

    const CHECKS: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let session = self.access.open(reactor, slot.index).await?;
        TpcbConnection::prepare(session, slot).await.map_err(failure)
    }

    async fn check(&self, reactor: &Rc<Reactor>) -> Result<()> {
        let mut session = self.access.open(reactor, 0).await?;
        empty_history(&mut session).await.map_err(failure)?;
        session.close().await.map(drop).map_err(failure)
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let before = connection.session.traffic();
        connection.queries = 0;
        let picked = Picked::new(&self.tables, &mut connection.random);
        let mut restarts = 0;
        loop {
            match connection.transact(picked).await {
                Ok(()) => break,
                Err(Trouble::Restart) => connection.roll_back().await.map_err(failure)?,
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
            restarts += 1;
        }
        Ok(Operation {
            restarts,
            ..operation(&connection.session, before, connection.queries)
        })
    }
}

/// What a transaction is about.
#[derive(Debug, Clone, Copy)]
struct Picked {
    aid: i64,
    bid: i64,
    tid: i64,
    delta: i64,
}

impl Picked {
    /// In the script's order.
    fn new(tables: &Pgbench, random: &mut Pcg64Mcg) -> Self {
        Self {
            aid: random.random_range(1..=tables.accounts()).into(),
            bid: random.random_range(1..=tables.scale).into(),
            tid: random.random_range(1..=tables.tellers()).into(),
            delta: random.random_range(-LARGEST_DELTA..=LARGEST_DELTA),
        }
    }
}

impl<S: SqlSession> TpcbConnection<S> {
    async fn prepare(mut session: S, slot: Slot) -> Result<Self, WireError> {
        let transaction =
            Transaction::prepare(&mut session, S::DIALECT.begin_to_write, S::DIALECT.end).await?;
        let mut prepare = async |sql, integers| {
            let sql = S::DIALECT.prepared(sql);
            session.prepare(&sql, &vec![Parameter::Integer; integers]).await
        };
        Ok(Self {
            update_account: prepare(UPDATE_ACCOUNT, 2).await?,
            select: prepare(SELECT, 1).await?,
            update_teller: prepare(UPDATE_TELLER, 2).await?,
            update_branch: prepare(UPDATE_BRANCH, 2).await?,
            insert_history: prepare(INSERT_HISTORY, 4).await?,
            transaction,
            session,
            random: Pcg64Mcg::seed_from_u64(slot.seed),
            queries: 0,
        })
    }

    async fn transact(&mut self, picked: Picked) -> Result<(), Trouble> {
        let Picked { aid, bid, tid, delta } = picked;
        let begun = self.transaction.begin(&mut self.session).await;
        self.answered(begun)?;
        let updated = execute(&mut self.session, &mut self.update_account, &[delta, aid]).await;
        is_updated("account", aid, delta, self.answered(updated)?)?;
        let selected = execute(&mut self.session, &mut self.select, &[aid]).await;
        one("account", aid, self.answered(selected)?.rows)?;
        let updated = execute(&mut self.session, &mut self.update_teller, &[delta, tid]).await;
        is_updated("teller", tid, delta, self.answered(updated)?)?;
        let updated = execute(&mut self.session, &mut self.update_branch, &[delta, bid]).await;
        is_updated("branch", bid, delta, self.answered(updated)?)?;
        let values = [tid, bid, aid, delta];
        let inserted = execute(&mut self.session, &mut self.insert_history, &values).await;
        one("history of account", aid, self.answered(inserted)?.affected_rows)?;
        let ended = self.transaction.end(&mut self.session).await;
        self.answered(ended)?;
        Ok(())
    }

    /// Counts a statement that was answered.
    fn answered(&mut self, answer: Result<ResultSummary, WireError>) -> Result<ResultSummary, Trouble> {
        let answer = answer?;
        self.queries += 1;
        Ok(answer)
    }

    async fn roll_back(&mut self) -> Result<(), WireError> {
        self.transaction.roll_back(&mut self.session).await?;
        self.queries += 1;
        Ok(())
    }
}

async fn execute<S: SqlSession>(
    session: &mut S,
    statement: &mut S::Statement,
    values: &[i64],
) -> Result<ResultSummary, WireError> {
    for (index, value) in values.iter().enumerate() {
        statement.set_integer(index, *value);
    }
    session.execute(statement).await
}

async fn empty_history<S: SqlSession>(session: &mut S) -> Result<(), WireError> {
    for table in ["pgbench_branches", "pgbench_tellers"] {
        vacuum(session, table).await?;
    }
    let empty = format!("{}pgbench_history", S::DIALECT.empty);
    session.command(&empty).await.map(drop)
}

/// Makes sure that a balance was updated; some servers do not count a row that nothing was added to.
fn is_updated(what: &str, key: i64, delta: i64, answer: ResultSummary) -> Result<()> {
    match (delta, answer.affected_rows) {
        (0, 0) => Ok(()),
        (_, rows) => one(what, key, rows),
    }
}

/// Makes sure that a statement was about the one row that it must be about.
fn one(what: &str, key: i64, rows: u64) -> Result<()> {
    match rows {
        1 => Ok(()),
        rows => Err(Failure::Error(format!(
            "{what} {key} has {rows} rows; expected 1: was the table changed?"
        ))),
    }
}
