//! What the relay that encrypts cells of results takes for a row: to pass it on, and for each cell.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, ROWS, Repeats, Result, Slice, Table};
use ciphertax_columns::MasterKey;
use ciphertax_engine::{Engine, Failure, Operation, Recorder, Slot, Workload};
use ciphertax_lab::column_relay::{self, ColumnRelayPlan, EncryptedColumns, RunningColumnRelay};
use ciphertax_model::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, CertificateKind, ColumnEncryption, ColumnFeature,
    ColumnSelection, Decrypt, Load, Transport,
};
use ciphertax_observe::ProcessCpu;
use ciphertax_reactor::Reactor;
use ciphertax_supervise::GuardProgram;
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::{Parameter, Sql, SqlSession, Statement};
use clap::Parser;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SLICE: Duration = Duration::from_millis(300);

/// Columns of the table, of 4, 4, 119 and 59 bytes.
const COLUMNS: [&str; 4] = ["sbtest1.id", "sbtest1.k", "sbtest1.c", "sbtest1.pad"];

const QUIET: Duration = Duration::from_millis(1);
const QUIET_AT_MOST: Duration = Duration::from_millis(50);

/// The cost of the relay that encrypts cells: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 9)]
    repeats: u32,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("column-relay") {
        return column_relay::main();
    }
    ciphertax_bench::main(|| {
        let repeats = Arguments::parse().repeats;
        let mut document = Document::new("The cost of the relay that encrypts columns", "column-relay");
        let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        document.fact("server", ground.identity()?);
        document.fact(
            "asked",
            format!("{repeats} repeats of a slice of {SLICE:?} each, in turns"),
        );
        document.paragraph(
            "Selects by the primary key, prepared, of four columns of which all are encrypted where any is; the client passes over \
             the rows. CPU time of an operation; the ratio is that of server and relay together to the server without one.",
        );
        for (rows, name) in [(1, "one row"), (100, "100 rows")] {
            document.table(&format!("Selects of {name}"), &compare(&ground, rows, repeats)?);
        }
        print!("{document}");
        Ok(())
    })
}

fn compare(ground: &Ground, rows: i64, repeats: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "relay",
        "connections",
        "client, µs",
        "server, µs",
        "relay, µs",
        "both / direct",
    ]);
    let key = MasterKey::random()?;
    let kinds: [(&str, Option<Option<CellAlgorithm>>); 6] = [
        ("none: direct", None),
        ("passes everything on", Some(None)),
        ("no column named", Some(Some(CellAlgorithm::Sm4Gcm))),
        ("four cells, wrapped", Some(Some(CellAlgorithm::Wrapped))),
        ("four cells, AES-128-GCM", Some(Some(CellAlgorithm::Aes128Gcm))),
        ("four cells, SM4-GCM", Some(Some(CellAlgorithm::Sm4Gcm))),
    ];
    let columns = COLUMNS.map(str::to_owned);
    let relays: Vec<Option<RunningColumnRelay>> = kinds
        .iter()
        .map(|(name, kind)| {
            let Some(algorithm) = kind else { return Ok(None) };
            let named = if name.starts_with("four") {
                &columns[..]
            } else {
                &[]
            };
            start(ground, *algorithm, named, &key).map(Some)
        })
        .collect::<Result<_>>()?;
    for connections in [8, 64] {
        let arms: Vec<Select> = relays
            .iter()
            .map(|relay| {
                let mut access = ground.access(Transport::Plain)?;
                if let Some(relay) = relay {
                    access.options.port = relay.address().port();
                }
                Ok(Select { access, rows })
            })
            .collect::<Result<_>>()?;
        let mut engine = Engine::start(arms, &Load::closed(connections), 1)?;
        let mut costs: Vec<[Repeats; 3]> = kinds.iter().map(|_| Default::default()).collect();
        for _ in 0..repeats {
            for (arm, relay) in relays.iter().enumerate() {
                let clock = relay
                    .as_ref()
                    .map(|relay| ProcessCpu::open(relay.pid()))
                    .transpose()?;
                let read = || match &clock {
                    None => Ok(0),
                    Some(clock) => {
                        clock.settle(QUIET, QUIET_AT_MOST)?;
                        clock.read().map(|cpu| cpu.total_ns)
                    }
                };
                // Whoever connects does it before.
                Slice::measure(ground.cpu(), &mut engine, arm, SLICE / 10)?;
                let before = read()?;
                let slice = Slice::measure(ground.cpu(), &mut engine, arm, SLICE)?;
                let relay_us = (read()? - before) as f64 / slice.operations as f64 / 1e3;
                for (repeats, value) in
                    costs[arm]
                        .iter_mut()
                        .zip([slice.client_us, slice.server_us, relay_us])
                {
                    repeats.push(value);
                }
            }
        }
        let direct = costs[0][1].clone();
        for ((name, _), [client, server, relay]) in kinds.iter().zip(&costs) {
            let ratio = server.plus(relay).over(&direct);
            eprintln!("{rows} rows, {connections} connections, {name}: {relay:.2} us, {ratio:.3}");
            table.row([
                (*name).to_owned(),
                connections.to_string(),
                format!("{client:.2}"),
                format!("{server:.2}"),
                format!("{relay:.2}"),
                format!("{ratio:.3}"),
            ]);
        }
    }
    Ok(table)
}

fn start(
    ground: &Ground,
    algorithm: Option<CellAlgorithm>,
    columns: &[String],
    key: &MasterKey,
) -> Result<RunningColumnRelay> {
    let encryption = algorithm.map(|algorithm| ColumnEncryption {
        feature: ColumnFeature::InResults,
        format: CellFormat::Encdb,
        algorithm,
        mode: CellMode::Random,
        encoding: CellEncoding::Base64,
        columns: ColumnSelection::Named(columns.to_vec()),
        decrypt: Decrypt::All,
    });
    let plan = ColumnRelayPlan {
        cells: encryption.as_ref().map(|encryption| EncryptedColumns {
            encryption,
            columns,
            key,
        }),
        link: None,
    };
    Ok(column_relay::start(
        &plan,
        ground.server(),
        &GuardProgram::this_program(),
    )?)
}

/// So many rows by the primary key.
struct Select {
    access: MysqlAccess,
    rows: i64,
}

/// A session of an access that speaks SQL.
type Session<C> = <C as ciphertax_workload::Client>::Session;

struct Connection<S: SqlSession> {
    session: S,
    select: S::Statement,
    random: Pcg64Mcg,
}

impl Workload for Select {
    type Connection = Connection<Session<MysqlAccess>>;

    const KINDS: &'static [&'static str] = &["select"];

    async fn open(
        &self,
        reactor: &Rc<Reactor>,
        slot: Slot,
    ) -> std::result::Result<Self::Connection, Failure> {
        let mut session = open(&self.access, reactor, slot.index).await?;
        let sql = "SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN ? AND ?";
        let select = SqlSession::prepare(&mut session, sql, &[Parameter::Integer; 2])
            .await
            .map_err(|error| Failure::Error(error.to_string()))?;
        Ok(Connection {
            session,
            select,
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
            random,
        } = connection;
        let first = random.random_range(1..i64::from(ROWS) - self.rows);
        Statement::set_integer(select, 0, first);
        Statement::set_integer(select, 1, first + self.rows - 1);
        match SqlSession::execute(session, select).await {
            Ok(answer) if answer.rows == self.rows as u64 => Ok(Operation::default()),
            Ok(answer) => Err(Failure::Error(format!("{} rows", answer.rows))),
            Err(error) => Err(Failure::Error(error.to_string())),
        }
    }
}

async fn open<C: Sql>(
    access: &C,
    reactor: &Rc<Reactor>,
    index: u32,
) -> std::result::Result<C::Session, Failure> {
    access.open(reactor, index).await
}
