//! How soon connections are open, and the memory that they take.

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use ciphertax_bench::{Ground, Login, Repeats, Result, Slice, TABLES, Table, child};
use ciphertax_engine::Engine;
use ciphertax_model::{Load, TlsLibrary, Transport};
use ciphertax_observe::ProcessCpu;
use ciphertax_workload::sql::PointSelect;
use procfs::process::Process;
use serde::{Deserialize, Serialize};

/// Long enough for every connection to get an answer.
const WORK: Duration = Duration::from_secs(3);

/// With the bars: how many are opened per second at least, and what each may take, in kB.
const ARMS: [(&str, Transport, TlsLibrary, Option<f64>, f64); 3] = [
    (
        "plain",
        Transport::Plain,
        TlsLibrary::OpenSsl,
        Some(5_000.0),
        15.0,
    ),
    (
        "TLS 1.3, OpenSSL",
        Transport::Tls13,
        TlsLibrary::OpenSsl,
        None,
        35.0,
    ),
    (
        "TLS 1.3, rustls",
        Transport::Tls13,
        TlsLibrary::Rustls,
        None,
        35.0,
    ),
];

/// What the other process is told.
#[derive(Serialize, Deserialize)]
struct Asked {
    login: Login,
    library: TlsLibrary,
    connections: u32,
}

/// Resident memory of a process in bytes, and what it took to open the connections.
#[derive(Serialize, Deserialize)]
struct Found {
    before: u64,
    open: u64,
    worked: u64,
    opening_s: f64,
    opening_cpu_s: f64,
}

pub(super) fn measure(ground: &Ground, connections: u32, repeats: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "arm",
        "opened/s",
        "bar",
        "client CPU, µs each",
        "open, kB each",
        "after work, kB each",
        "bar",
    ]);
    for (name, transport, library, soon, small) in ARMS {
        let (mut rate, mut cpu) = (Repeats::default(), Repeats::default());
        let (mut open, mut worked) = (Repeats::default(), Repeats::default());
        for _ in 0..repeats {
            let asked = Asked {
                login: ground.login(transport),
                library,
                connections,
            };
            // A process of its own each time: memory that was given back is not given back to the kernel.
            let input = serde_json::to_string(&asked)?;
            let finished = child::run(Command::new("/proc/self/exe").arg("memory"), &input)?;
            let found: Found = serde_json::from_str(&finished.output)?;
            let each = |bytes: u64| bytes.saturating_sub(found.before) as f64 / f64::from(connections) / 1e3;
            rate.push(f64::from(connections) / found.opening_s);
            cpu.push(found.opening_cpu_s / f64::from(connections) * 1e6);
            open.push(each(found.open));
            worked.push(each(found.worked));
        }
        eprintln!("{connections} connections, {name}: {rate:.0} opened per second, {worked:.1} kB each");
        table.row([
            name.to_owned(),
            format!("{rate:.0}"),
            soon.map_or("–".to_owned(), |soon| {
                judged(format!("≥ {soon}"), rate.median() >= soon)
            }),
            format!("{cpu:.0}"),
            format!("{open:.1}"),
            format!("{worked:.1}"),
            judged(format!("≤ {small} kB"), worked.median() <= small),
        ]);
    }
    Ok(table)
}

fn judged(bar: String, is_met: bool) -> String {
    format!("{bar}: {}", if is_met { "met" } else { "**missed**" })
}

/// The other process: opens the connections and says what they take.
pub(super) fn tell() -> Result<()> {
    let asked: Asked = serde_json::from_reader(io::stdin())?;
    let process = Process::myself()?;
    let resident = || -> Result<u64> {
        let kilobytes = process.status()?.vmrss.ok_or("the kernel does not tell VmRSS")?;
        Ok(kilobytes * 1024)
    };
    let before = resident()?;
    let workload = PointSelect {
        access: asked.login.access_by_many(asked.library)?,
        tables: TABLES,
    };
    let mut engine = Engine::start(vec![workload], &Load::closed(asked.connections), 1)?;
    let cpu = ProcessCpu::open(std::process::id())?;
    let (began, before_ns) = (Instant::now(), cpu.read()?.total_ns);
    engine
        .prepare(0)?
        .map_err(|failure| failure.message().to_owned())?;
    let opening_s = began.elapsed().as_secs_f64();
    let opening_cpu_s = (cpu.read()?.total_ns - before_ns) as f64 / 1e9;
    let open = resident()?;
    Slice::without_server(&mut engine, 0, WORK)?;
    let found = Found {
        before,
        open,
        worked: resident()?,
        opening_s,
        opening_cpu_s,
    };
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}
