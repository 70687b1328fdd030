//! The same point select over the same kind of sockets, driven by several event loops on one thread.
//!
//! No protocol is spoken in the loops: a request is bytes that were built before, an answer is a known number of bytes.
//! So what differs is how a thread waits for its sockets, and nothing else.

mod epoll;
mod reactor;
mod tokio;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ciphertax_bench::bare::Completions;
use ciphertax_bench::{Document, Ground, Repeats, Result, Table};
use ciphertax_model::{CertificateKind, Transport};
use ciphertax_observe::ThreadUsage;
use ciphertax_reactor::EventLoop;
use ciphertax_stats::BalancedOrder;
use clap::Parser;

/// Length of one measurement.
const SLICE: Duration = Duration::from_secs(1);

/// Client CPU per point select by event loop: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 9)]
    repeats: u32,
}

/// An event loop with its connections.
trait Driver {
    fn label(&self) -> String;

    /// Keeps every connection busy until `deadline` and lets requests under way finish. Returns the operations done.
    fn run(&mut self, deadline: Instant) -> Result<u64>;
}

/// What one driver measured.
#[derive(Default)]
struct Measured {
    client_us: Repeats,
    system_us: Repeats,
    throughput: Repeats,
    switches: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        let mut document = Document::new("How a thread waits for its sockets", "io-choice");
        document.fact("server", ground.identity()?);
        let asked = format!(
            "prepared point select by requests built before, plain, one thread, {} repeats of {SLICE:?} in turns",
            arguments.repeats
        );
        document.fact("asked", asked);
        document.paragraph(
            "`reactor` is the event loop of ciphertax, by edge-triggered epoll or by io_uring, which may wait for more sockets \
             before it serves those that are ready (poll delay); ratios are to the first; `epoll` is the textbook loop, \
             level-triggered; `io_uring` has registered files, one issuer and deferred task work, \
             and may wait for the answers of all connections for some time before it takes those that are there \
             (the kernel's minimal wait, since 6.12); `tokio` is its single-threaded runtime, one task a connection. Sleeps of \
             the thread end within 1 µs of their time. Ratios are taken within a repeat.",
        );
        for connections in [1, 8, 64] {
            let table = cell(&ground, connections, arguments.repeats)?;
            document.table(&format!("{connections} connections"), &table);
        }
        print!("{document}");
        Ok(())
    })
}

fn cell(ground: &Ground, connections: u32, repeats: u32) -> Result<Table> {
    let mut drivers = drivers(ground, connections)?;
    let mut measured: Vec<Measured> = drivers.iter().map(|_| Measured::default()).collect();
    // One round that does not count: every statement has been executed once, every buffer touched.
    for driver in &mut drivers {
        driver.run(Instant::now() + SLICE / 20)?;
    }
    for (repeat, order) in BalancedOrder::new(drivers.len(), 1)
        .take(repeats as usize)
        .enumerate()
    {
        for index in order {
            measured[index].push(drivers[index].as_mut())?;
        }
        eprintln!("{connections} connections: repeat {} of {repeats}", repeat + 1);
    }
    let mut table = Table::new(&[
        "event loop",
        "client CPU / reactor",
        "client CPU µs/op",
        "of it system",
        "context switches/op",
        "op/s",
    ]);
    for (driver, this) in drivers.iter().zip(&measured) {
        table.row([
            driver.label(),
            format!("{:.2}", this.client_us.over(&measured[0].client_us)),
            format!("{:.1}", this.client_us),
            format!("{:.1}", this.system_us),
            format!("{:.3}", this.switches.median()),
            format!("{:.0}", this.throughput),
        ]);
    }
    Ok(table)
}

fn drivers(ground: &Ground, connections: u32) -> Result<Vec<Box<dyn Driver>>> {
    let login = ground.login(Transport::Plain);
    let mut drivers: Vec<Box<dyn Driver>> = Vec::new();
    let mut kinds = vec![EventLoop::Epoll];
    // Where the kernel allows it.
    kinds.extend((EventLoop::of_this_process() == EventLoop::IoUring).then_some(EventLoop::IoUring));
    for event_loop in kinds {
        for poll_delay_us in [0, 30, 50, 100] {
            let driver = reactor::WithDelay::connect(&login, connections, poll_delay_us, event_loop)?;
            drivers.push(Box::new(driver));
        }
    }
    drivers.push(Box::new(epoll::LevelTriggered::connect(&login, connections)?));
    for wait_us in [0, 50, 100] {
        if let Some(driver) = Completions::connect(&login, connections, wait_us)? {
            drivers.push(Box::new(driver));
        }
    }
    drivers.push(Box::new(tokio::CurrentThread::connect(&login, connections)?));
    Ok(drivers)
}

impl Driver for Completions {
    fn label(&self) -> String {
        match self.wait_us() {
            0 => "io_uring".to_owned(),
            micros => format!("io_uring, wait {micros} µs"),
        }
    }

    fn run(&mut self, deadline: Instant) -> Result<u64> {
        self.run(deadline)
    }
}

impl Measured {
    fn push(&mut self, driver: &mut dyn Driver) -> Result<()> {
        let before = ThreadUsage::now();
        let began = Instant::now();
        let operations = driver.run(began + SLICE)? as f64;
        let seconds = began.elapsed().as_secs_f64();
        let used = ThreadUsage::now().since(&before);
        self.client_us.push(used.cpu.total_ns as f64 / operations / 1e3);
        self.system_us.push(used.cpu.system_ns as f64 / operations / 1e3);
        self.throughput.push(operations / seconds);
        self.switches.push(used.context_switches as f64 / operations);
        Ok(())
    }
}
