//! What it costs the client to be handed the values of rows, over passing over them.

use std::cell::RefCell;
use std::hint::black_box;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, ROWS, Repeats, Result, Slice, Table};
use ciphertax_engine::{Engine, Failure, Operation, Recorder, Slot, Workload};
use ciphertax_model::{CertificateKind, Load, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::{Parameter, Query, Sql, SqlSession, Statement, Value};
use clap::Parser;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SLICE: Duration = Duration::from_millis(500);
/// The most that values may cost, as a ratio.
const BAR: f64 = 1.15;

/// The cost of values: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 15)]
    repeats: u32,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let repeats = Arguments::parse().repeats;
        let mut document = Document::new("The cost of values", "values");
        let mut table = Table::new(&[
            "statement",
            "connections",
            "passed over, µs",
            "handed over, µs",
            "ratio",
            "met",
        ]);
        let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        document.fact("server", ground.identity()?);
        for is_prepared in [true, false] {
            compare(&ground, is_prepared, repeats, &mut table)?;
        }
        document.fact(
            "asked",
            format!("{repeats} repeats of two slices of {SLICE:?}, in turns"),
        );
        document.paragraph(&format!(
            "Client CPU per select of one row by its primary key, five columns: the rows passed over, and their values \
             handed over, each of which is looked at. The bar is a ratio of {BAR}."
        ));
        document.table("Client CPU per select", &table);
        print!("{document}");
        Ok(())
    })
}

fn compare(ground: &Ground, is_prepared: bool, repeats: u32, table: &mut Table) -> Result<()> {
    let name = if is_prepared { "prepared" } else { "text" };
    for connections in [8, 64] {
        let arm = |hands_over| -> Result<FiveColumns<MysqlAccess>> {
            Ok(FiveColumns {
                access: ground.access(Transport::Plain)?,
                is_prepared,
                hands_over,
            })
        };
        let mut engine = Engine::start(vec![arm(false)?, arm(true)?], &Load::closed(connections), 1)?;
        let mut costs = [Repeats::default(), Repeats::default()];
        for repeat in 0..repeats as usize {
            for arm in [repeat % 2, (repeat + 1) % 2] {
                costs[arm].push(Slice::measure(ground.cpu(), &mut engine, arm, SLICE)?.client_us);
            }
        }
        let [passed, handed] = &costs;
        let ratio = handed.over(passed);
        eprintln!("{name}, {connections} connections: {ratio:.3}");
        table.row([
            name.to_owned(),
            connections.to_string(),
            format!("{passed:.2}"),
            format!("{handed:.2}"),
            format!("{ratio:.3}"),
            if ratio.median() <= BAR { "yes" } else { "**no**" }.to_owned(),
        ]);
    }
    Ok(())
}

/// One row of five columns by its primary key.
struct FiveColumns<C> {
    access: C,
    is_prepared: bool,
    hands_over: bool,
}

const SELECT: &str = "SELECT id, k, c, pad, id + k FROM sbtest1 WHERE id=";

struct Connection<S: SqlSession> {
    session: S,
    select: S::Statement,
    text: S::Query,
    random: Pcg64Mcg,
}

impl<C: Sql> Workload for FiveColumns<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = &["select"];

    async fn open(
        &self,
        reactor: &Rc<Reactor>,
        slot: Slot,
    ) -> std::result::Result<Self::Connection, Failure> {
        let mut session = self.access.open(reactor, slot.index).await?;
        let sql = format!("{SELECT}?");
        let select = session
            .prepare(&sql, &[Parameter::Integer])
            .await
            .map_err(failure)?;
        Ok(Connection {
            session,
            select,
            text: <C::Session as SqlSession>::Query::new(SELECT),
            random: Pcg64Mcg::seed_from_u64(slot.seed),
        })
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        connection: &mut Self::Connection,
        _recorder: &RefCell<Recorder>,
    ) -> std::result::Result<Operation, Failure> {
        let Connection {
            session,
            select,
            text,
            random,
        } = connection;
        // Of always as many digits.
        let id = random.random_range(10_000..i64::from(ROWS));
        if self.is_prepared {
            select.set_integer(0, id);
        } else {
            text.truncate(SELECT.len());
            text.push(id.to_string().as_bytes());
        }
        let mut sum = 0;
        let add = |row: &[Value<'_>]| {
            for value in row {
                sum += match value {
                    Value::Null => 0,
                    Value::Integer(value) => *value,
                    Value::Text(text) => text.len() as i64,
                };
            }
            Ok(())
        };
        let answer = match (self.is_prepared, self.hands_over) {
            (true, true) => session.execute_values(select, add).await,
            (true, false) => session.execute(select).await,
            (false, true) => session.run_values(text, add).await,
            (false, false) => session.run(text).await,
        };
        black_box(sum);
        match answer {
            Ok(answer) if answer.rows == 1 => Ok(Operation::default()),
            Ok(answer) => Err(Failure::Error(format!("{} rows", answer.rows))),
            Err(error) => Err(failure(error)),
        }
    }
}

fn failure(error: WireError) -> Failure {
    Failure::Error(error.to_string())
}
