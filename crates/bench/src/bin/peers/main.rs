//! Client CPU per point select: the engine beside sysbench, on the same server.

mod client_certificate;
mod sysbench;

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, ROWS, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_model::{CertificateKind, Load, Transport};
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::PointSelect;
use clap::Parser;
use sysbench::Sysbench;

/// Length of one measurement in seconds.
const SECONDS: u32 = 3;

/// Client CPU per point select, ciphertax beside sysbench: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
    /// Measure 64 connections with one and two load threads, and several gather times
    #[arg(long)]
    explore: bool,
}

/// One column of a row of the table.
struct Cell {
    connections: u32,
    transport: Transport,
    loads: Vec<Load>,
}

/// What one contestant measured in a cell.
#[derive(Default)]
struct Contestant {
    client_us: Repeats,
    throughput: Repeats,
    mean_us: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        let sysbench = Sysbench::set_up(&mut ground)?;
        let mut document = Document::new("Client CPU per point select, beside sysbench", "peers");
        document.fact("server", ground.identity()?);
        document.fact("sysbench", Sysbench::version()?);
        let asked = format!(
            "`oltp_point_select`, prepared statements, ids drawn uniformly from {ROWS}, {} repeats of {SECONDS} s in turns",
            arguments.repeats
        );
        document.fact("asked", asked);
        for transport in [Transport::Plain, Transport::Tls13] {
            let seen = prove(&mut ground, &sysbench, transport)?;
            document.fact(&format!("{transport}, by the server's word"), seen);
        }
        if arguments.explore {
            explore(&mut ground, &sysbench, &mut document, arguments.repeats)?;
        } else {
            compare(&mut ground, &sysbench, &mut document, arguments.repeats)?;
        }
        print!("{document}");
        Ok(())
    })
}

/// How `ciphertax` loads this many connections.
fn load(connections: u32) -> Load {
    /// From this many connections on, more sockets are waited for.
    const MANY: u32 = 64;
    const GATHER_US: u32 = 100;
    Load {
        connections,
        workers: None,
        gather_us: if connections < MANY { 0 } else { GATHER_US },
    }
}

/// Makes sure that both contestants use what the cell says, and prepared statements.
fn prove(ground: &mut Ground, sysbench: &Sysbench, transport: Transport) -> Result<String> {
    const QUERIES: u64 = 10;
    let theirs = sysbench.servers_word(transport)?;
    let mut engine = engine(ground, transport, &load(1))?;
    let before = ground.counter("Com_stmt_execute")?;
    sysbench.startup(transport, QUERIES as u32)?;
    let executed = ground.counter("Com_stmt_execute")? - before;
    if executed != QUERIES {
        return Err(format!("sysbench executed {executed} prepared statements; expected {QUERIES}").into());
    }
    let before = ground.counter("Com_stmt_execute")?;
    // Every session of the engine is checked against the server's word when it is opened.
    let slice = Slice::measure(ground, &mut engine, 0, Duration::from_millis(100))?;
    let executed = ground.counter("Com_stmt_execute")? - before;
    if executed != slice.operations {
        return Err(format!(
            "ciphertax executed {executed} prepared statements of {}",
            slice.operations
        )
        .into());
    }
    let ours = ground.servers_word(transport)?;
    let is_encrypted = !ours.is_empty();
    if ours != theirs || is_encrypted != transport.tls_version().is_some() {
        return Err(format!("{transport}: ciphertax has {ours:?}, sysbench {theirs:?}").into());
    }
    Ok(if is_encrypted {
        format!("both {ours}")
    } else {
        "both in clear".to_owned()
    })
}

fn compare(ground: &mut Ground, sysbench: &Sysbench, document: &mut Document, repeats: u32) -> Result<()> {
    let mut table = Table::new(&[
        "connections, transport",
        "client CPU, ciphertax / sysbench",
        "bar",
        "met",
        "without sysbench's starting",
        "ciphertax µs/op",
        "sysbench µs/op",
        "ciphertax op/s",
        "sysbench op/s",
        "gather µs",
    ]);
    for (connections, bar) in [(1, 1.0), (8, 1.0), (64, 0.6)] {
        for transport in [Transport::Plain, Transport::Tls13] {
            let load = load(connections);
            let cell = Cell {
                connections,
                transport,
                loads: vec![load],
            };
            let starting = starting_us(sysbench, transport, connections)?;
            let contestants = measure(ground, sysbench, &cell, repeats)?;
            let [theirs, ours] = contestants.as_slice() else {
                return Err("a cell has two contestants".into());
            };
            let ratio = ours.client_us.over(&theirs.client_us);
            // The share of the starting is that of the median repeat.
            let queries = theirs.throughput.median() * f64::from(SECONDS);
            let share = starting / (theirs.client_us.median() * queries);
            table.row([
                format!("{connections}, {transport}"),
                format!("{ratio:.2}"),
                format!("≤ {bar:.1}"),
                if ratio.median() <= bar { "yes" } else { "**no**" }.to_owned(),
                format!("{:.2}", ratio.median() / (1.0 - share)),
                format!("{:.1}", ours.client_us),
                format!("{:.1}", theirs.client_us),
                format!("{:.0}", ours.throughput),
                format!("{:.0}", theirs.throughput),
                load.gather_us.to_string(),
            ]);
        }
    }
    document.paragraph(
        "sysbench's CPU is that of its whole process (user and system, from `wait4`), starting and connecting included; \
         ciphertax's is that of its load threads in the slice, both divided by their queries. *Without \
         sysbench's starting* is the median ratio after what a run of sysbench with one query a connection takes was taken off \
         its CPU. Ratios are taken within a repeat.",
    );
    document.table("Bars", &table);
    Ok(())
}

/// CPU of sysbench's starting in microseconds.
fn starting_us(sysbench: &Sysbench, transport: Transport, connections: u32) -> Result<f64> {
    let runs = (0..3).map(|_| Ok(sysbench.startup(transport, connections)?.as_secs_f64() * 1e6));
    Ok(runs.collect::<Result<Repeats>>()?.median())
}

fn explore(ground: &mut Ground, sysbench: &Sysbench, document: &mut Document, repeats: u32) -> Result<()> {
    const CONNECTIONS: u32 = 64;
    let mut loads = Vec::new();
    for workers in [1, 2] {
        for gather_us in [0, 30, 50, 100] {
            loads.push(Load {
                connections: CONNECTIONS,
                workers: Some(workers),
                gather_us,
            });
        }
    }
    for transport in [Transport::Plain, Transport::Tls13] {
        let cell = Cell {
            connections: CONNECTIONS,
            transport,
            loads: loads.clone(),
        };
        let contestants = measure(ground, sysbench, &cell, repeats)?;
        let theirs = &contestants[0];
        let mut table = Table::new(&[
            "load threads, gather µs",
            "client CPU / sysbench",
            "throughput / sysbench",
            "client CPU µs/op",
            "op/s",
            "mean latency µs",
        ]);
        let labels = loads.iter().map(|load| {
            let workers = load.workers.unwrap_or_default();
            format!("{workers}, {}", load.gather_us)
        });
        for (label, contestant) in std::iter::once("sysbench".to_owned())
            .chain(labels)
            .zip(&contestants)
        {
            table.row([
                label,
                format!("{:.2}", contestant.client_us.over(&theirs.client_us)),
                format!("{:.2}", contestant.throughput.over(&theirs.throughput)),
                format!("{:.1}", contestant.client_us),
                format!("{:.0}", contestant.throughput),
                format!("{:.0}", contestant.mean_us),
            ]);
        }
        document.table(&format!("{CONNECTIONS} connections, {transport}"), &table);
    }
    Ok(())
}

/// Measures sysbench and each load in turns; sysbench comes first in the result.
fn measure(ground: &mut Ground, sysbench: &Sysbench, cell: &Cell, repeats: u32) -> Result<Vec<Contestant>> {
    let mut engines = cell
        .loads
        .iter()
        .map(|load| engine(ground, cell.transport, load))
        .collect::<Result<Vec<Engine>>>()?;
    let count = 1 + engines.len();
    let mut contestants: Vec<Contestant> = (0..count).map(|_| Contestant::default()).collect();
    let orders = BalancedOrder::new(count, 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let contestant = &mut contestants[index];
            match index.checked_sub(1) {
                None => contestant.push_sysbench(ground, sysbench, cell)?,
                Some(index) => {
                    let duration = Duration::from_secs(SECONDS.into());
                    let slice = Slice::measure(ground, &mut engines[index], 0, duration)?;
                    contestant.push(&slice);
                }
            }
        }
        eprintln!(
            "{} connections, {}: repeat {} of {repeats}: client CPU ciphertax/sysbench {}",
            cell.connections,
            cell.transport,
            repeat + 1,
            contestants[1..]
                .iter()
                .map(|ours| format!("{:.2}", ours.client_us.over(&contestants[0].client_us)))
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    Ok(contestants)
}

impl Contestant {
    fn push(&mut self, slice: &Slice) {
        self.client_us.push(slice.client_us);
        self.throughput.push(slice.throughput);
        self.mean_us.push(slice.mean_us);
    }

    fn push_sysbench(&mut self, ground: &mut Ground, sysbench: &Sysbench, cell: &Cell) -> Result<()> {
        let before = ground.counter("Ssl_accepts")?;
        let run = sysbench.run(cell.transport, cell.connections, SECONDS)?;
        let accepted = ground.counter("Ssl_accepts")? - before;
        let is_encrypted = accepted >= cell.connections.into();
        let is_plain = accepted == 0;
        if !(if cell.transport.tls_version().is_some() {
            is_encrypted
        } else {
            is_plain
        }) {
            return Err(format!(
                "sysbench made {accepted} TLS sessions in the cell {}",
                cell.transport
            )
            .into());
        }
        self.client_us
            .push(run.cpu.as_secs_f64() * 1e6 / run.queries as f64);
        self.throughput.push(run.throughput);
        // A closed loop: every connection always has one query under way (Little's law).
        self.mean_us
            .push(f64::from(cell.connections) / run.throughput * 1e6);
        Ok(())
    }
}

fn engine(ground: &Ground, transport: Transport, load: &Load) -> Result<Engine> {
    let workload = PointSelect {
        access: ground.access(transport)?,
        rows: ROWS,
    };
    Ok(Engine::start(vec![workload], load, 1)?)
}
