//! How soon connections are open, and the memory that they take.

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use ciphertax_bench::{
    Document, Login, MariadbGround, NO_BAR, Repeats, Result, Slice, TABLES, Table, at_least, at_most, prepare,
};
use ciphertax_engine::Engine;
use ciphertax_model::{Load, TlsLibrary, Transport};
use ciphertax_observe::ProcessMeter;
use ciphertax_testkit::peers::run_program;
use ciphertax_wire::tls::TlsPolicy;
use ciphertax_workload::sql::PointSelect;
use procfs::process::Process;
use serde::{Deserialize, Serialize};

/// Long enough for every connection to get an answer.
const WORK: Duration = Duration::from_secs(3);

/// Connections where there are few, whose sessions of OpenSSL keep their buffers, as the product has it up to so many.
const FEW: u32 = 1000;

/// What is opened, and how good is good enough.
struct Arm {
    name: &'static str,
    transport: Transport,
    library: TlsLibrary,
    /// How many of many connections are opened per second at least.
    opened: Option<f64>,
    /// Kilobytes of each that has worked, at most, with few connections and with many.
    memory_kb: [Option<f64>; 2],
}

const ARMS: [Arm; 3] = [
    Arm {
        name: "plain",
        transport: Transport::Plain,
        library: TlsLibrary::OpenSsl,
        opened: Some(5_000.0),
        memory_kb: [Some(60.0), Some(15.0)],
    },
    Arm {
        name: "TLS 1.3, OpenSSL",
        transport: Transport::Tls13,
        library: TlsLibrary::OpenSsl,
        opened: None,
        memory_kb: [None, Some(35.0)],
    },
    Arm {
        name: "TLS 1.3, rustls",
        transport: Transport::Tls13,
        library: TlsLibrary::Rustls,
        opened: None,
        memory_kb: [None, Some(35.0)],
    },
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

pub(super) fn measure(
    document: &mut Document,
    ground: &MariadbGround,
    many: u32,
    repeats: u32,
) -> Result<()> {
    document.paragraph(&format!(
        "Opened: connections per second, each logged in and with its statement prepared, to a MariaDB on the same CPUs, with its thread \
         pool beyond 2,000, and the CPU time that takes the client. Memory: growth of the resident set of a process (`VmRSS`) by the \
         open connections, and after every one of them has asked for a row at least once. OpenSSL gives the buffers of idle \
         connections back beyond {FEW} connections, as in a run."
    ));
    let mut table = Table::new(
        "connections, arm | opened/s | bar | met | client CPU, µs each | open, kB each | after work, kB each | bar | met",
    );
    for (place, connections) in [FEW.min(many), many].into_iter().enumerate() {
        for arm in &ARMS {
            let asked = Asked {
                login: Login::to(&ground.server, arm.transport),
                library: arm.library,
                connections,
            };
            let [rate, cpu_us, open, worked] = repeated(&asked, repeats)?;
            let name = format!("{connections}, {}", arm.name);
            eprintln!("{name}: {rate:.0} opened per second, {worked:.1} kB each");
            let opened = arm.opened.filter(|_| connections > FEW);
            let soon = opened.map_or(NO_BAR.to_owned(), |bar| at_least(&rate, bar));
            let small = arm.memory_kb[place].map_or(NO_BAR.to_owned(), |bar| at_most(&worked, bar));
            table.row(&format!(
                "{name} | {rate:.0} | {soon} | {cpu_us:.0} | {open:.1} | {worked:.1} | {small}"
            ));
        }
    }
    document.table("Opening and memory", &table);
    Ok(())
}

/// Connections opened per second, the client's CPU time for each in microseconds, and kilobytes of each when it is open and
/// when it has worked.
fn repeated(asked: &Asked, repeats: u32) -> Result<[Repeats; 4]> {
    let mut figures: [Repeats; 4] = Default::default();
    let input = serde_json::to_string(asked)?;
    for _ in 0..repeats {
        // A process of its own each time: memory that was given back is not given back to the kernel.
        let finished = run_program(Command::new("/proc/self/exe").arg("memory"), &input)?;
        let found: Found = serde_json::from_str(&finished.output)?;
        let connections = f64::from(asked.connections);
        let each = |bytes: u64| bytes.saturating_sub(found.before) as f64 / connections / 1e3;
        let values = [
            connections / found.opening_s,
            found.opening_cpu_s / connections * 1e6,
            each(found.open),
            each(found.worked),
        ];
        for (figure, value) in figures.iter_mut().zip(values) {
            figure.0.push(value);
        }
    }
    Ok(figures)
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
        access: asked.login.access(|policy| TlsPolicy {
            library: asked.library,
            releases_buffers: asked.connections > FEW,
            ..policy
        })?,
        tables: TABLES,
    };
    let mut engine = Engine::start(vec![workload], &Load::closed(asked.connections), 1)?;
    let cpu = ProcessMeter::open(std::process::id())?;
    let (began, before_ns) = (Instant::now(), cpu.cpu()?.total_ns);
    prepare(&mut engine, 0)?;
    let opening_s = began.elapsed().as_secs_f64();
    let opening_cpu_s = (cpu.cpu()?.total_ns - before_ns) as f64 / 1e9;
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
