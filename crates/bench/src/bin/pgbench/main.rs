//! The workloads of pgbench: the engine beside pgbench itself, on the same server.

mod load_phase;

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::pgbench::{Call, Limit, Pgbench, Script};
use ciphertax_bench::{Document, PostgresqlGround, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_model::{
    Arm, AuthenticationMethod, CertificateKind, Load, Pgbench as Tables, TlsLibrary, Transport,
};
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::sql::{SelectOnly, TpcbLike};
use clap::Parser;

/// Length of one measurement in seconds.
const SECONDS: u32 = 2;
/// What is asked: about 150 MB.
const TABLES: Tables = Tables { scale: 10 };
/// Nobody is asked for a password: logins would be most of a short run's CPU.
const METHOD: AuthenticationMethod = AuthenticationMethod::Trust;

/// Client CPU per operation of pgbench's workloads, and the rows that are loaded per second, ciphertax beside pgbench: one
/// Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 5)]
    repeats: u32,
    /// Measure 64 connections with one and two load threads, and several poll delays
    #[arg(long)]
    explore: bool,
}

/// Which figures are compared.
#[derive(Clone, Copy)]
struct Cell {
    script: Script,
    transport: Transport,
    library: TlsLibrary,
    load: Load,
    /// The most client CPU, over that of pgbench.
    bar: f64,
}

/// What both measured.
#[derive(Default)]
struct Measured {
    ours_us: Repeats,
    our_system_us: Repeats,
    theirs_us: Repeats,
    their_system_us: Repeats,
    /// pgbench with its starting.
    all_of_theirs_us: Repeats,
    our_throughput: Repeats,
    their_throughput: Repeats,
    /// Load threads of ciphertax.
    workers: u32,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let Arguments { repeats, explore } = Arguments::parse();
        let server = PrivateServer::builder(&POSTGRESQL)
            .certificate(CertificateKind::EcdsaP256)
            .account(METHOD);
        let mut ground = PostgresqlGround::prepare(server)?;
        let pgbench = Pgbench::set_up(&mut ground)?;
        let mut document = Document::new("The workloads of pgbench, beside pgbench", "pgbench");
        document.fact("server", ground.identity()?);
        document.fact("pgbench", format!("{}, -M prepared", pgbench.version()?));
        let asked = format!("{TABLES}, {repeats} repeats of {SECONDS} s in turns; logins by {METHOD}");
        document.fact("asked", asked);
        for transport in [Transport::Plain, Transport::Tls13] {
            let login = ground.login(METHOD, transport)?;
            let word = pgbench.servers_word(&mut ground, &login)?;
            let word = if word.is_empty() { "in plaintext" } else { &word };
            document.fact(
                &format!("{transport}, by the server's word"),
                format!("pgbench {word}"),
            );
        }
        let loads = if explore {
            None
        } else {
            Some(load_phase::table(&mut ground, &pgbench, repeats)?)
        };
        ground.load(METHOD, TABLES)?;
        let cells = if explore { explored() } else { cells() };
        document.table("Bars: client CPU", &compare(&ground, &pgbench, &cells, repeats)?);
        if let Some(loads) = loads {
            document.table("Bar: load", &loads);
        }
        document.paragraph(
            "pgbench's CPU is that of its whole process (user and system, from `wait4`) without that of a run of one transaction \
             a connection, measured beside each run, which is its starting, connecting and preparing; both figures are given. \
             ciphertax's is that of its load threads in the slice. Both are divided by their transactions. pgbench has two \
             threads where it has several connections. Ratios are taken within a repeat. Every session of ciphertax is held to \
             what its row says by the server's word. *In the kernel* is what neither client can do much about, since both send \
             and receive once a statement: most of it is the send, which over loopback hands the bytes to the server's process \
             and wakes that. Both load the same rows by `COPY` in plaintext, make the keys afterwards and clear the tables \
             (`VACUUM ANALYZE`); ciphertax has four sessions, and \
             reads all of it again to check it.",
        );
        print!("{document}");
        Ok(())
    })
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (script, connections, bar) in [
        (Script::SelectOnly, 1, 1.0),
        (Script::SelectOnly, 8, 0.7),
        (Script::SelectOnly, 64, 0.7),
        (Script::TpcbLike, 8, 0.8),
    ] {
        for (transport, library) in [
            (Transport::Plain, TlsLibrary::OpenSsl),
            (Transport::Tls13, TlsLibrary::OpenSsl),
            (Transport::Tls13, TlsLibrary::Rustls),
        ] {
            cells.push(Cell {
                script,
                transport,
                library,
                load: Load::closed(connections),
                bar,
            });
        }
    }
    cells
}

/// Many connections, with several load threads and poll delays.
fn explored() -> Vec<Cell> {
    const MANY: u32 = 64;
    let many = cells().into_iter().filter(|cell| cell.load.connections == MANY);
    let loads = |cell: Cell| {
        [1, 2].into_iter().flat_map(move |workers| {
            [0, 30, 100].map(|poll_delay_us| Cell {
                load: Load {
                    workers: Some(workers),
                    poll_delay_us,
                    ..cell.load
                },
                ..cell
            })
        })
    };
    many.flat_map(loads).collect()
}

fn compare(ground: &PostgresqlGround, pgbench: &Pgbench, cells: &[Cell], repeats: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "script, connections, transport, library",
        "client CPU, ciphertax / pgbench",
        "bar",
        "met",
        "pgbench with its starting",
        "ciphertax µs/transaction",
        "of it in the kernel",
        "pgbench µs/transaction",
        "of it in the kernel",
        "ciphertax transactions/s",
        "pgbench transactions/s",
        "load threads, poll delay µs",
    ]);
    for cell in cells {
        let measured = measure(ground, pgbench, cell, repeats)?;
        let ratio = measured.ours_us.over(&measured.theirs_us);
        table.row([
            cell.to_string(),
            format!("{ratio:.2}"),
            format!("≤ {:.1}", cell.bar),
            if ratio.median() <= cell.bar {
                "yes"
            } else {
                "**no**"
            }
            .to_owned(),
            format!("{:.2}", measured.ours_us.over(&measured.all_of_theirs_us)),
            format!("{:.1}", measured.ours_us),
            format!("{:.1}", measured.our_system_us.median()),
            format!("{:.1}", measured.theirs_us),
            format!("{:.1}", measured.their_system_us.median()),
            format!("{:.0}", measured.our_throughput),
            format!("{:.0}", measured.their_throughput),
            format!("{}, {}", measured.workers, cell.load.poll_delay_us),
        ]);
    }
    Ok(table)
}

/// Measures both in turns.
fn measure(ground: &PostgresqlGround, pgbench: &Pgbench, cell: &Cell, repeats: u32) -> Result<Measured> {
    let mut engine = cell.engine(ground)?;
    let login = ground.login(METHOD, cell.transport)?;
    let call = Call {
        login: &login,
        script: cell.script,
        connections: cell.load.connections,
        threads: cell.load.connections.min(2),
    };
    let mut measured = Measured {
        workers: engine.workers(),
        ..Measured::default()
    };
    for (repeat, order) in BalancedOrder::new(2, 1).take(repeats as usize).enumerate() {
        for index in order {
            if index == 0 {
                let duration = Duration::from_secs(SECONDS.into());
                let slice = Slice::without_server(&mut engine, 0, duration)?;
                measured.ours_us.push(slice.client_us);
                measured.our_system_us.push(slice.client_system_us);
                measured.our_throughput.push(slice.throughput);
            } else {
                measured.push_pgbench(pgbench, &call)?;
            }
        }
        eprintln!(
            "{cell}: repeat {} of {repeats}: client CPU ciphertax/pgbench {:.2}",
            repeat + 1,
            measured.ours_us.over(&measured.theirs_us)
        );
    }
    Ok(measured)
}

impl Measured {
    fn push_pgbench(&mut self, pgbench: &Pgbench, call: &Call<'_>) -> Result<()> {
        let start = pgbench.run(call, Limit::Transactions(1))?;
        let run = pgbench.run(call, Limit::Seconds(SECONDS))?;
        let us = |cpu: Duration, transactions: u64| cpu.as_secs_f64() * 1e6 / transactions as f64;
        let transactions = run.transactions.saturating_sub(start.transactions);
        let since = |run: Duration, start: Duration| us(run.saturating_sub(start), transactions);
        self.theirs_us.push(since(run.cpu, start.cpu));
        self.their_system_us.push(since(run.system, start.system));
        self.all_of_theirs_us.push(us(run.cpu, run.transactions));
        self.their_throughput.push(run.throughput);
        Ok(())
    }
}

impl Cell {
    fn engine(&self, ground: &PostgresqlGround) -> Result<Engine> {
        let mut arm = Arm::new("ciphertax", self.transport);
        arm.authentication.method = Some(METHOD);
        arm.tls.library = self.library;
        let access = ground.access(&arm, self.load.connections as usize)?;
        let tables = TABLES;
        Ok(match self.script {
            Script::SelectOnly => Engine::start(vec![SelectOnly { access, tables }], &self.load, 1)?,
            Script::TpcbLike => Engine::start(vec![TpcbLike { access, tables }], &self.load, 1)?,
            Script::Connect | Script::Word => return Err("this is measured elsewhere".into()),
        })
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let script = match self.script {
            Script::TpcbLike => "tpcb-like",
            _ => "select-only",
        };
        let library = match self.transport.is_encrypted() {
            true => format!(" by {}", self.library.name()),
            false => String::new(),
        };
        write!(
            f,
            "{script}, {}, {}{library}",
            self.load.connections, self.transport
        )
    }
}
