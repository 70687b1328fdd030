//! Client CPU per point select: the engine beside sysbench, on the same server.

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::bare::Completions;
use ciphertax_bench::beside_sysbench::{self, Client, Contestant, in_turns};
use ciphertax_bench::sysbench::{Call, Sysbench};
use ciphertax_bench::{Document, Ground, ROWS, Repeats, Result, Slice, TABLES, Table};
use ciphertax_engine::Engine;
use ciphertax_model::{CertificateKind, Load, Transport};
use ciphertax_observe::placement::{confine_process, confine_thread, last_allowed_cpu};
use ciphertax_workload::sql::PointSelect;
use clap::Parser;

/// Length of one measurement in seconds.
const SECONDS: u32 = 3;

/// Client CPU per point select, ciphertax beside sysbench: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
    /// Measure 64 connections with one and two load threads, and several poll delays
    #[arg(long)]
    explore: bool,
}

/// Which figures are compared.
struct Cell {
    connections: u32,
    transport: Transport,
    loads: Vec<Load>,
    /// The only CPU of the load threads; `None` to leave them to the kernel.
    cpu: Option<usize>,
}

/// Connections, and the largest share of sysbench's CPU time that is good enough.
const BARS: [(u32, f64); 3] = [(1, 0.97), (8, 0.5), (64, 0.35)];

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

/// Makes sure that both contestants use what the cell says, and prepared statements.
fn prove(ground: &mut Ground, sysbench: &Sysbench, transport: Transport) -> Result<String> {
    const QUERIES: u32 = 10;
    let before = ground.counter("Com_stmt_execute")?;
    sysbench.startup(&call(transport, QUERIES))?;
    let executed = ground.counter("Com_stmt_execute")? - before;
    if executed != u64::from(QUERIES) {
        return Err(format!("sysbench executed {executed} prepared statements; expected {QUERIES}").into());
    }
    let mut engine = engine(ground, transport, &Load::closed(1), None)?;
    let before = ground.counter("Com_stmt_execute")?;
    // Every session of the engine is checked against the server's word when it is opened.
    let slice = Slice::measure(ground.cpu(), &mut engine, 0, Duration::from_millis(100))?;
    let executed = ground.counter("Com_stmt_execute")? - before;
    if executed != slice.operations {
        return Err(format!(
            "ciphertax executed {executed} prepared statements of {}",
            slice.operations
        )
        .into());
    }
    beside_sysbench::prove(ground, sysbench, transport)
}

fn call(transport: Transport, connections: u32) -> Call<'static> {
    Call {
        scenario: "oltp_point_select",
        dataset: &TABLES.dataset,
        transport,
        connections,
    }
}

fn compare(ground: &mut Ground, sysbench: &Sysbench, document: &mut Document, repeats: u32) -> Result<()> {
    document.paragraph(
        "sysbench's CPU is that of its whole process (user and system, from `wait4`), starting and connecting included; \
         ciphertax's is that of its load threads in the slice, both divided by their queries. *Without \
         sysbench's starting* is the median ratio after what a run of sysbench with one query a connection takes was taken off \
         its CPU. Ratios are taken within a repeat. ciphertax has no poll delay. *The bare loop* is a client that does \
         nothing but wait by io_uring for the first answer: it sends requests that were built before, and reads nothing of the \
         answers but their size. Who does more between two waits finds more answers at the next, which can take less. It takes \
         turns with the others, without TLS, and unlike ciphertax's load threads it does not give way to the server \
         (`SCHED_BATCH`).",
    );
    let table = beside(ground, sysbench, None, repeats)?;
    document.table("Server and clients where the kernel puts them", &table);
    let cpu = last_allowed_cpu()?;
    confine_process(ground.server().pids()[0], cpu)?;
    // What this thread starts stays there with it: sysbench.
    confine_thread(cpu)?;
    let table = beside(ground, sysbench, Some(cpu), repeats)?;
    document.table("Server and clients together on one CPU", &table);
    Ok(())
}

fn beside(ground: &mut Ground, sysbench: &Sysbench, cpu: Option<usize>, repeats: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "connections, transport",
        "client CPU, ciphertax / sysbench",
        "bar",
        "met",
        "the bare loop / sysbench",
        "ciphertax / the bare loop",
        "without sysbench's starting",
        "ciphertax µs/op",
        "sysbench µs/op",
        "ciphertax op/s",
        "sysbench op/s",
    ]);
    for (connections, bar) in BARS {
        for transport in [Transport::Plain, Transport::Tls13] {
            let cell = Cell {
                connections,
                transport,
                loads: vec![Load::closed(connections)],
                cpu,
            };
            let mut clients = engines(ground, &cell)?;
            let bare = match transport {
                Transport::Plain => Completions::connect(&ground.login(transport), connections, 0)?,
                _ => None,
            };
            clients.extend(bare.map(|bare| Box::new(bare) as Box<dyn Client>));
            let contestants = measure(ground, sysbench, &cell, &mut clients, repeats)?;
            let [theirs, ours, bare @ ..] = contestants.as_slice() else {
                return Err("a cell has at least two contestants".into());
            };
            let of_bare = |ratio: &dyn Fn(&Contestant) -> Repeats| {
                let ratio = bare.first().map(ratio);
                ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
            };
            let ratio = ours.client_us.over(&theirs.client_us);
            // The share of the starting is that of the median repeat.
            let share =
                beside_sysbench::share_of_starting(sysbench, &call(transport, connections), theirs, SECONDS)?;
            table.row([
                format!("{connections}, {transport}"),
                format!("{ratio:.2}"),
                format!("≤ {bar}"),
                if ratio.median() <= bar { "yes" } else { "**no**" }.to_owned(),
                of_bare(&|bare| bare.client_us.over(&theirs.client_us)),
                of_bare(&|bare| ours.client_us.over(&bare.client_us)),
                format!("{:.2}", ratio.median() / (1.0 - share)),
                format!("{:.1}", ours.client_us),
                format!("{:.1}", theirs.client_us),
                format!("{:.0}", ours.throughput),
                format!("{:.0}", theirs.throughput),
            ]);
        }
    }
    Ok(table)
}

fn explore(ground: &mut Ground, sysbench: &Sysbench, document: &mut Document, repeats: u32) -> Result<()> {
    const CONNECTIONS: u32 = 64;
    let mut loads = Vec::new();
    for workers in [1, 2] {
        for poll_delay_us in [0, 30, 50, 100] {
            loads.push(Load {
                workers: Some(workers),
                poll_delay_us,
                ..Load::closed(CONNECTIONS)
            });
        }
    }
    for transport in [Transport::Plain, Transport::Tls13] {
        let cell = Cell {
            connections: CONNECTIONS,
            transport,
            loads: loads.clone(),
            cpu: None,
        };
        let mut clients = engines(ground, &cell)?;
        let contestants = measure(ground, sysbench, &cell, &mut clients, repeats)?;
        let theirs = &contestants[0];
        let mut table = Table::new(&[
            "load threads, poll delay µs",
            "client CPU / sysbench",
            "throughput / sysbench",
            "client CPU µs/op",
            "op/s",
            "mean latency µs",
        ]);
        let labels = loads.iter().map(|load| {
            let workers = load.workers.unwrap_or_default();
            format!("{workers}, {}", load.poll_delay_us)
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

/// Measures sysbench and each client in turns; sysbench comes first in the result.
fn measure(
    ground: &mut Ground,
    sysbench: &Sysbench,
    cell: &Cell,
    clients: &mut [Box<dyn Client>],
    repeats: u32,
) -> Result<Vec<Contestant>> {
    let call = call(cell.transport, cell.connections);
    in_turns(ground, sysbench, &call, clients, SECONDS, repeats)
}

/// An engine for each load.
fn engines(ground: &Ground, cell: &Cell) -> Result<Vec<Box<dyn Client>>> {
    let engines = cell.loads.iter().map(|load| {
        let engine = engine(ground, cell.transport, load, cell.cpu)?;
        Ok(Box::new(engine) as Box<dyn Client>)
    });
    engines.collect()
}

fn engine(ground: &Ground, transport: Transport, load: &Load, cpu: Option<usize>) -> Result<Engine> {
    let workload = PointSelect {
        access: ground.access(transport)?,
        tables: TABLES,
    };
    Ok(Engine::start_on(cpu, vec![workload], load, 1)?)
}
