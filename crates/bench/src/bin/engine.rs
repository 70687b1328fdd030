//! What the engine itself costs: per operation, and in memory per connection.

use std::cell::RefCell;
use std::io;
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::time::Duration;

use ciphertax_bench::{Document, Ground, Login, Repeats, Result, Slice, TABLES, Table, child};
use ciphertax_engine::{Engine, Failure, Operation, Recorder, Slot, Workload};
use ciphertax_model::{CertificateKind, Load, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_supervise::child::raise_limit_of_files;
use ciphertax_workload::sql::PointSelect;
use clap::{Parser, Subcommand};
use procfs::process::Process;
use serde::{Deserialize, Serialize};

const CONNECTIONS: u32 = 1000;
const THREADED_CONNECTIONS: u32 = 64;
const MIB: f64 = 1024.0 * 1024.0;

/// The engine's own cost per operation and its memory: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Opens connections and tells the memory they take; reads where to from standard input
    #[command(hide = true)]
    Memory,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        match arguments.part {
            Some(Part::Memory) => tell_memory(),
            None => measure(arguments.repeats),
        }
    })
}

fn measure(repeats: u32) -> Result<()> {
    let mut document = Document::new("The engine's own cost", "engine");
    let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
    document.fact("server", ground.identity()?);
    document.fact("asked", format!("{repeats} repeats"));
    document.paragraph(
        "Per operation: a workload that answers at once, without any socket, so that what is left is the loop of a connection, \
         one look at the clock and the recording. The bar is 0.2 µs.",
    );
    document.table("CPU per operation", &cost_per_operation(repeats)?);
    document.paragraph(&format!(
        "Load threads share nothing that an operation touches: {THREADED_CONNECTIONS} connections by one thread and by two, in turns. \
         The bar for two is 1.1 times the CPU time that one takes for an operation.",
    ));
    document.table("One load thread and two", &cost_of_threads(&ground, repeats)?);
    document.paragraph(&format!(
        "Memory: growth of the resident set of a process (`VmRSS`) by {CONNECTIONS} open connections of the point-select \
         workload, and after every one of them has worked for a second. The bar is 60 MB for plain connections.",
    ));
    document.table("Memory", &memory(&ground, repeats)?);
    print!("{document}");
    Ok(())
}

/// Answers at once.
struct Nothing;

impl Workload for Nothing {
    type Connection = ();

    const KINDS: &'static [&'static str] = &["nothing"];

    async fn open(&self, _reactor: &Rc<Reactor>, _seat: Slot) -> std::result::Result<(), Failure> {
        Ok(())
    }

    async fn operate(
        &self,
        _reactor: &Rc<Reactor>,
        _connection: &mut (),
        _recorder: &RefCell<Recorder>,
    ) -> std::result::Result<Operation, Failure> {
        Ok(Operation::default())
    }
}

fn cost_per_operation(repeats: u32) -> Result<Table> {
    let mut table = Table::new(&["connections", "µs/op", "million op/s", "met"]);
    for connections in [8, 64] {
        let load = Load::closed(connections);
        let mut engine = Engine::start(vec![Nothing], &load, 1)?;
        let (mut cost, mut rate) = (Repeats::default(), Repeats::default());
        for _ in 0..repeats {
            let slice = Slice::without_server(&mut engine, 0, Duration::from_secs(1))?;
            cost.push(slice.client_us);
            rate.push(slice.throughput / 1e6);
        }
        eprintln!("{connections} connections that answer at once: {cost:.3} µs/op");
        table.row([
            connections.to_string(),
            format!("{cost:.3}"),
            format!("{rate:.1}"),
            met(cost.median() <= 0.2),
        ]);
    }
    Ok(table)
}

fn cost_of_threads(ground: &Ground, repeats: u32) -> Result<Table> {
    let mut table = Table::new(&["operation", "one, µs/op", "two, µs/op", "two / one", "met"]);
    let threads = |workers| Load {
        workers: Some(workers),
        ..Load::closed(THREADED_CONNECTIONS)
    };
    let mut at_once = [
        Engine::start(vec![Nothing], &threads(1), 1)?,
        Engine::start(vec![Nothing], &threads(2), 1)?,
    ];
    table.row(one_and_two("nothing", &mut at_once, repeats)?);
    for transport in [Transport::Plain, Transport::Tls13] {
        let select = || -> Result<Vec<_>> {
            Ok(vec![PointSelect {
                access: ground.access(transport)?,
                tables: TABLES,
            }])
        };
        let mut engines = [
            Engine::start(select()?, &threads(1), 1)?,
            Engine::start(select()?, &threads(2), 1)?,
        ];
        table.row(one_and_two(
            &format!("point select, {transport}"),
            &mut engines,
            repeats,
        )?);
    }
    Ok(table)
}

fn one_and_two(operation: &str, engines: &mut [Engine; 2], repeats: u32) -> Result<[String; 5]> {
    let mut costs = [Repeats::default(), Repeats::default()];
    for _ in 0..repeats {
        for (engine, cost) in engines.iter_mut().zip(&mut costs) {
            cost.push(Slice::without_server(engine, 0, Duration::from_secs(1))?.client_us);
        }
    }
    let [one, two] = costs;
    let ratio = two.over(&one);
    eprintln!("{operation}: one load thread {one:.3} µs/op, two {two:.3}");
    Ok([
        operation.to_owned(),
        format!("{one:.3}"),
        format!("{two:.3}"),
        format!("{ratio:.2}"),
        met(ratio.median() <= 1.1),
    ])
}

/// Resident memory of a process in bytes.
#[derive(Serialize, Deserialize)]
struct Memory {
    before: u64,
    open: u64,
    worked: u64,
}

fn memory(ground: &Ground, repeats: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "transport",
        "open, MB",
        "after work, MB",
        "per connection, kB",
        "whole process, MB",
        "bar",
        "met",
    ]);
    for transport in [Transport::Plain, Transport::Tls13] {
        let (mut open, mut worked, mut whole) = (Repeats::default(), Repeats::default(), Repeats::default());
        for _ in 0..repeats {
            let input = serde_json::to_string(&ground.login(transport))?;
            // A process of its own each time: memory that was given back is not given back to the kernel.
            let finished = child::run(Command::new("/proc/self/exe").arg("memory"), &input)?;
            let memory: Memory = serde_json::from_str(&finished.output)?;
            open.push(memory.open.saturating_sub(memory.before) as f64 / MIB);
            worked.push(memory.worked.saturating_sub(memory.before) as f64 / MIB);
            whole.push(memory.worked as f64 / MIB);
        }
        eprintln!("{CONNECTIONS} connections, {transport}: {worked:.1} MB");
        let (bar, verdict) = if transport.is_encrypted() {
            ("–".to_owned(), "–".to_owned())
        } else {
            ("≤ 60".to_owned(), met(worked.median() <= 60.0))
        };
        table.row([
            transport.to_string(),
            format!("{open:.1}"),
            format!("{worked:.1}"),
            format!("{:.1}", worked.median() * 1024.0 / f64::from(CONNECTIONS)),
            format!("{whole:.1}"),
            bar,
            verdict,
        ]);
    }
    Ok(table)
}

/// The other process: opens the connections and says what they take.
fn tell_memory() -> Result<()> {
    raise_limit_of_files()?;
    let login: Login = serde_json::from_reader(io::stdin())?;
    let process = Process::myself()?;
    let resident = || -> Result<u64> {
        let kilobytes = process.status()?.vmrss.ok_or("the kernel does not tell VmRSS")?;
        Ok(kilobytes * 1024)
    };
    let before = resident()?;
    let workload = PointSelect {
        access: login.access()?,
        tables: TABLES,
    };
    let mut engine = Engine::start(vec![workload], &Load::closed(CONNECTIONS), 1)?;
    engine
        .prepare(0)?
        .map_err(|failure| failure.message().to_owned())?;
    let open = resident()?;
    Slice::without_server(&mut engine, 0, Duration::from_secs(1))?;
    let worked = resident()?;
    println!("{}", serde_json::to_string(&Memory { before, open, worked })?);
    Ok(())
}

fn met(yes: bool) -> String {
    if yes { "yes" } else { "**no**" }.to_owned()
}
