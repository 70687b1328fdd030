//! A terminal: a session at a place of its own, which asks one transaction after the other.

use std::rc::Rc;
use std::time::Duration;

use ciphertax_engine::{Context, Deal, Failure, Operation, Result, Slot, Workload};
use ciphertax_model::{Isolation, Tpcc};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::ask::Asker;
use super::columns::Cells;
use super::deck::Kind;
use super::inputs::{Input, Inputs, Place};
use super::statements::{Statements, Style};
use super::values::Clock;
use crate::dataset::tpcc::{Constants, TableNames};
use crate::driver::{Access, ArmColumns, failure};
use crate::sql::Transactions;
use crate::sql::point_select::operation;
use crate::sql::session::{Query, SqlSession, Trouble};

/// After so many times in vain, a transaction is an error.
const MOST_RESTARTS: u64 = 1000;

/// TPC-C's terminals; an operation is a transaction. Each statement is sent when the one before was answered.
pub struct Terminals<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// How large the tables are, and how they are asked.
    pub tables: Tpcc,
    /// What the arm's tables are called.
    pub names: TableNames,
    /// What its client encrypts and decrypts.
    pub columns: ArmColumns,
    /// Of the constants of a run, which all its terminals share.
    pub seed: u64,
}

/// A terminal of one session.
pub struct Terminal<S: SqlSession> {
    session: Session<S>,
    inputs: Inputs,
    /// Its number among the arm's terminals.
    number: u32,
    /// What was drawn already.
    next: Option<Input>,
    /// What it did before, and now thinks about.
    last: Option<Kind>,
    /// Of think times alone, so that pauses leave the list of transactions what it is.
    pauses: Pcg64Mcg,
}

/// A session with what it asks.
pub(super) struct Session<S: SqlSession> {
    pub(super) asker: Asker<S>,
    pub(super) statements: Statements<S>,
    pub(super) bounds: Bounds,
    pub(super) clock: Clock,
    /// First names and numbers of customers of the same last name.
    pub(super) namesakes: Vec<(Box<[u8]>, i64)>,
}

impl<C: Access<Session: SqlSession>> Workload for Terminals<C> {
    type Connection = Terminal<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::Tpcc.descriptor().kinds;
    const COUNTS: &'static [&'static str] = ciphertax_model::Workload::Tpcc.descriptor().counts;
    const DEALT: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let mut session = self.access.open(reactor, slot.index).await?;
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let constants = Constants::read(&mut session, &mut random)
            .await
            .map_err(|error| Failure::Error(error.to_string()))?;
        let place = Place::of(slot.index, self.tables.warehouses);
        Ok(Terminal {
            session: self.ask_over(session).await?,
            inputs: Inputs::new(&self.tables, place, constants, slot.seed),
            number: slot.index,
            next: None,
            last: None,
            pauses: Pcg64Mcg::seed_from_u64(slot.seed),
        })
    }

    /// A batch is the same list for every arm of its block. In a slice of a given time terminals go on with decks of their own, since
    /// a list that every arm gets through to another place would be worked in part twice.
    fn begin(&self, terminal: &mut Self::Connection, deal: Deal) {
        if deal.operations.is_none() {
            return;
        }
        let seed = seed_of(deal.seed, terminal.number);
        terminal.inputs.begin(seed);
        // Odd and even: never the same as that of the inputs.
        terminal.pauses = Pcg64Mcg::seed_from_u64(!seed);
        terminal.next = None;
        terminal.last = None;
    }

    fn pause(&self, terminal: &mut Self::Connection) -> Duration {
        if self.tables.pacing == 0.0 {
            return Duration::ZERO;
        }
        let Terminal {
            inputs,
            next,
            last,
            pauses,
            ..
        } = terminal;
        let keying = next.get_or_insert_with(|| inputs.draw()).kind().keying_time();
        let thinking = last.map_or(Duration::ZERO, |kind| kind.think_time(pauses));
        (thinking + keying).mul_f64(self.tables.pacing)
    }

    async fn operate(&self, terminal: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let Terminal {
            session,
            inputs,
            next,
            last,
            ..
        } = terminal;
        let input = next.take().unwrap_or_else(|| inputs.draw());
        *last = Some(input.kind());
        session.transact(&input).await
    }
}

impl<C: Access<Session: SqlSession>> Terminals<C> {
    pub(super) async fn ask_over(&self, mut session: C::Session) -> Result<Session<C::Session>> {
        let bounds = Bounds::open(&mut session, self.tables.isolation).await;
        let is_prepared = self.tables.statements == ciphertax_model::StatementKind::Prepared;
        let mut asker = Asker {
            session,
            cells: Cells::open::<C::Session>(&self.columns, self.access.derivation(), is_prepared)?,
            queries: 0,
        };
        let style = Style {
            names: self.names,
            kind: self.tables.statements,
        };
        Ok(Session {
            bounds: bounds.map_err(failure)?,
            statements: Statements::open(&mut asker, style).await.map_err(failure)?,
            asker,
            clock: Clock::new(),
            namesakes: Vec::new(),
        })
    }
}

impl<S: SqlSession> Session<S> {
    /// One transaction; anew with the same inputs as often as the server gives up on it.
    pub(super) async fn transact(&mut self, input: &Input) -> Result<Operation> {
        let before = self.asker.session.traffic();
        let [encrypted, decrypted, named] = self.asker.cells.counts();
        self.asker.queries = 0;
        let mut restarts = 0;
        let skipped_deliveries = loop {
            match self.try_once(input).await {
                Ok(skipped) => break skipped,
                Err(Trouble::Failed(failure)) => return Err(failure),
                Err(Trouble::Restart) => restarts += 1,
            }
            if restarts > MOST_RESTARTS {
                return Err(Failure::Error(format!(
                    "the server gave up on a {} {restarts} times",
                    input.kind().name()
                )));
            }
            match self.bounds.roll_back(&mut self.asker).await {
                Ok(()) | Err(Trouble::Restart) => {}
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
        };
        let cells = self.asker.cells.counts();
        Ok(Operation {
            kind: input.kind() as usize,
            restarts,
            counts: [
                cells[0] - encrypted,
                cells[1] - decrypted,
                cells[2] - named,
                input.is_rolled_back().into(),
                skipped_deliveries,
            ],
            ..operation(&self.asker.session, before, self.asker.queries)
        })
    }

    async fn try_once(&mut self, input: &Input) -> Result<u64, Trouble> {
        match input {
            Input::NewOrder(order) => self.new_order(order).await?,
            Input::Payment(payment) => self.payment(payment).await?,
            Input::OrderStatus(asked) => self.order_status(asked).await?,
            Input::Delivery(delivery) => return self.delivery(delivery).await,
            Input::StockLevel(level) => self.stock_level(level).await?,
        }
        Ok(0)
    }
}

/// Another for each terminal and each block.
fn seed_of(block: u64, terminal: u32) -> u64 {
    // An odd number of about 2^64 over the golden ratio, so that seeds of neighbours differ in all their bits.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    (block ^ u64::from(terminal).wrapping_mul(STEP)).wrapping_mul(STEP)
}

pub(super) fn missing(what: &str, key: &[i64]) -> Failure {
    Failure::Error(format!("{what} {key:?} is not there: was the table changed?"))
}

pub(super) struct Bounds {
    /// `None` where a transaction begins with its first statement.
    begin: Option<Query>,
    /// The same for one whose reads need not be repeatable.
    begin_read_committed: Option<Query>,
    commit: Query,
    rollback: Query,
}

impl Bounds {
    /// Tells the session how its transactions begin and how they are isolated.
    ///
    /// Clause 3.4.1 asks nothing more of stock-level than that it reads what is committed: where a study says an isolation, it
    /// is for the other four.
    pub(super) async fn open<S: SqlSession>(
        session: &mut S,
        isolation: Option<Isolation>,
    ) -> Result<Self, WireError> {
        let query = |text: &str| Some(Query::new(text));
        let level = isolation.map(level);
        let read_committed = level.map(|_| self::level(Isolation::ReadCommitted));
        let (begin, begin_read_committed) = match S::DIALECT.transactions {
            Transactions::Implicit => {
                session.command("SET autocommit = 0").await?;
                if let Some(level) = level {
                    let set = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
                    session.command(&set).await?;
                }
                let next = read_committed.filter(|read_committed| Some(*read_committed) != level);
                let next = next.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {level}"));
                (None, next.and_then(|next| query(&next)))
            }
            Transactions::Begun => {
                let begin = |level: Option<&str>| match level {
                    None => query("BEGIN"),
                    Some(level) => query(&format!("BEGIN ISOLATION LEVEL {level}")),
                };
                (begin(level), begin(read_committed))
            }
            Transactions::Serializable => {
                let begin = S::DIALECT.begin_to_write;
                (query(begin), query("BEGIN"))
            }
        };
        Ok(Self {
            begin,
            begin_read_committed,
            commit: Query::new("COMMIT"),
            rollback: Query::new("ROLLBACK"),
        })
    }

    pub(super) async fn begin(&mut self, asker: &mut Asker<impl SqlSession>) -> Result<(), Trouble> {
        match &mut self.begin {
            Some(begin) => asker.command(begin).await,
            None => Ok(()),
        }
    }

    /// Begins a transaction that only reads, and need not read twice.
    pub(super) async fn begin_read_committed(
        &mut self,
        asker: &mut Asker<impl SqlSession>,
    ) -> Result<(), Trouble> {
        match &mut self.begin_read_committed {
            Some(begin) => asker.command(begin).await,
            None => Ok(()),
        }
    }

    pub(super) async fn commit(&mut self, asker: &mut Asker<impl SqlSession>) -> Result<(), Trouble> {
        asker.command(&mut self.commit).await
    }

    pub(super) async fn roll_back(&mut self, asker: &mut Asker<impl SqlSession>) -> Result<(), Trouble> {
        asker.command(&mut self.rollback).await
    }
}

fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}
