//! Client CPU per operation on SQLite: the engine beside a bare loop over `rusqlite`, on the same files.

mod bare;

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::SQLITE;
use ciphertax_lab::sqlite::{options, prove};
use ciphertax_model::{AtRest, Dataset, Distribution, Load, SqlCipher, Storage};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Expectation;
use ciphertax_wire::sqlite::{ConnectOptions, Session};
use ciphertax_workload::dataset;
use ciphertax_workload::sql::{Oltp, PointSelect, Scenario, Tables};
use ciphertax_workload::sqlite::SqliteAccess;
use clap::Parser;

/// Rows of the table.
const ROWS: u32 = 100_000;
/// Memory for pages in megabytes: all of the table, and a little of it.
const MEMORY_MB: [u32; 2] = [256, 8];
/// The most that the engine may take of the bare loop's CPU per operation.
const BAR: f64 = 1.05;

/// Client CPU per operation, ciphertax beside a bare loop over rusqlite: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 11)]
    repeats: u32,
    /// Length of one measurement in milliseconds
    #[arg(long, default_value_t = 2000)]
    milliseconds: u64,
}

/// What both are asked, prepared.
#[derive(Debug, Clone, Copy)]
enum Asked {
    PointSelect,
    Update,
}

impl Asked {
    fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::Update => "oltp_update_non_index",
        }
    }

    fn sql(self) -> &'static str {
        match self {
            Self::PointSelect => "SELECT c FROM sbtest1 WHERE id=?",
            Self::Update => "UPDATE sbtest1 SET c=? WHERE id=?",
        }
    }

    fn engine(self, access: SqliteAccess) -> Result<Engine> {
        let (load, tables) = (Load::closed(1), tables());
        let engine = match self {
            Self::PointSelect => Engine::start(vec![PointSelect { access, tables }], &load, 1),
            Self::Update => {
                let scenario = Scenario::UpdateNonIndex;
                let oltp = Oltp {
                    access,
                    tables,
                    scenario,
                };
                Engine::start(vec![oltp], &load, 1)
            }
        };
        Ok(engine?)
    }
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut document = Document::new("Client CPU per operation on SQLite, beside rusqlite", "sqlite");
        document.fact("SQLite", format!("{}, {}", SQLITE.version, SQLITE.tls_library));
        let asked = format!(
            "one connection, prepared statements, ids drawn uniformly from {ROWS}, {} repeats of {} ms in turns",
            arguments.repeats, arguments.milliseconds
        );
        document.fact("asked", asked);
        let mut table = Table::new(&[
            "operation, file, memory",
            "CPU, ciphertax / rusqlite",
            "bar",
            "met",
            "ciphertax µs",
            "rusqlite µs",
        ]);
        for sqlcipher in [None, Some(SqlCipher::default())] {
            let server = load(sqlcipher)?;
            let kind = sqlcipher.map_or("plain".to_owned(), |sqlcipher| sqlcipher.to_string());
            for memory_mb in MEMORY_MB {
                let storage = Storage {
                    memory_mb: Some(memory_mb),
                    ..Storage::default()
                };
                let options = options(&server, &storage);
                let proved = prove(&kind, &options)?.proved;
                for asked in [Asked::PointSelect, Asked::Update] {
                    let (ours, theirs) = in_turns(asked, &options, &proved.expectation, &arguments)?;
                    let ratio = ours.over(&theirs);
                    table.row([
                        format!("{}, {kind}, {memory_mb} MB", asked.name()),
                        format!("{ratio:.3}"),
                        format!("≤ {BAR:.2}"),
                        if ratio.median() <= BAR { "yes" } else { "**no**" }.to_owned(),
                        format!("{ours:.2}"),
                        format!("{theirs:.2}"),
                    ]);
                }
            }
            server.stop()?;
        }
        document.paragraph(
            "Both run in threads of one process, on the same file, with the same cache and the same statements. The CPU is that \
             of the load thread, and of the loop's thread. The loop draws ids and reads the one column of the row, as the \
             engine does; it looks at the clock once in 64 operations and keeps no latencies.",
        );
        document.table("Bars", &table);
        print!("{document}");
        Ok(())
    })
}

/// A private file with the table.
fn load(sqlcipher: Option<SqlCipher>) -> Result<PrivateServer> {
    let at_rest = AtRest {
        sqlcipher,
        ..AtRest::default()
    };
    let server = PrivateServer::builder(&SQLITE).at_rest(at_rest).start()?;
    let options = options(&server, &Storage::default());
    let contents = tables().dataset.into();
    let reactor = Reactor::new()?;
    let deadline = std::time::Instant::now() + dataset::patience(&tables().dataset);
    let mut opened = Vec::new();
    let make = dataset::make_contents::<Session>(&reactor, &options, &contents, &mut opened, |_| ());
    reactor
        .run_one(make, deadline)?
        .ok_or("the table was not made in time")??;
    Ok(server)
}

/// Microseconds per operation of the engine and of the bare loop, measured in turns.
fn in_turns(
    asked: Asked,
    options: &ConnectOptions,
    expectation: &Expectation,
    arguments: &Arguments,
) -> Result<(Repeats, Repeats)> {
    let duration = Duration::from_millis(arguments.milliseconds);
    let mut engine = asked.engine(SqliteAccess {
        options: options.clone(),
        expectation: expectation.clone(),
    })?;
    let connection = bare::open(options)?;
    // Both have what they read in memory, as far as it fits.
    Slice::without_server(&mut engine, 0, duration)?;
    bare::measure(&connection, asked, 0, duration)?;
    let (mut ours, mut theirs) = (Repeats::default(), Repeats::default());
    for repeat in 0..arguments.repeats {
        let mut engine_turn = || -> Result<()> {
            ours.push(Slice::without_server(&mut engine, 0, duration)?.client_us);
            Ok(())
        };
        let mut bare_turn = || -> Result<()> {
            theirs.push(bare::measure(
                &connection,
                asked,
                u64::from(repeat) + 1,
                duration,
            )?);
            Ok(())
        };
        // Each goes first as often as the other.
        if repeat % 2 == 0 {
            engine_turn()?;
            bare_turn()?;
        } else {
            bare_turn()?;
            engine_turn()?;
        }
    }
    Ok((ours, theirs))
}

fn tables() -> Tables {
    Tables {
        dataset: Dataset {
            tables: 1,
            table_size: ROWS,
            distribution: Distribution::Uniform,
        },
        thinned: false,
    }
}
