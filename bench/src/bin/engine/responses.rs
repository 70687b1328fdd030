//! Whether response times depend on how many connections there are, against a server that costs nearly nothing.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{self, Child, Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use ciphertax_bench::{Document, Repeats, Result, Table, prepare};
use ciphertax_engine::{Context, Engine, Failure, Operation, Slot, Workload};
use ciphertax_model::Load;
use ciphertax_reactor::{Reactor, Socket};
use ciphertax_stats::histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Operations begun per second.
const RATE: u32 = 5_000;
/// Connections to compare with.
const FEW: u32 = 100;
/// How long each turn takes.
const TURN: Duration = Duration::from_secs(5);
/// About what a point select sends.
const MESSAGE: [u8; 32] = [7; 32];

/// Sends a message and waits for it to come back.
struct Echo {
    server: SocketAddr,
}

impl Workload for Echo {
    type Connection = Socket;

    const KINDS: &'static [&'static str] = &["echo"];

    async fn open(&self, reactor: &Rc<Reactor>, _slot: Slot) -> std::result::Result<Socket, Failure> {
        Socket::connect(reactor, self.server).await.map_err(gone)
    }

    async fn operate(&self, connection: &mut Socket, _: &Context) -> std::result::Result<Operation, Failure> {
        connection.send_all(&MESSAGE).await.map_err(gone)?;
        let mut received = [0; MESSAGE.len()];
        let mut count = 0;
        while count < received.len() {
            match connection.receive(&mut received[count..]).await.map_err(gone)? {
                0 => return Err(Failure::Disconnected("the server closed".into())),
                more => count += more,
            }
        }
        Ok(Operation::default())
    }
}

fn gone(error: std::io::Error) -> Failure {
    Failure::Disconnected(error.to_string())
}

pub(super) fn measure(document: &mut Document, many: u32, repeats: u32) -> Result<()> {
    document.paragraph(&format!(
        "Response times: a server of our own that sends back what it gets, {RATE} operations begun per second at even distances, by \
         {FEW} and by {many} connections in turns. The ratio is that of the same repeat.",
    ));
    let server = EchoServer::start()?;
    let start = |connections: u32| {
        let load = Load {
            rate: Some(RATE),
            workers: Some(1),
            ..Load::closed(connections)
        };
        let server = server.address;
        Engine::start(vec![Echo { server }], &load, 1)
    };
    let mut engines = [start(FEW)?, start(many)?];
    let mut figures: [[Repeats; 3]; 2] = Default::default();
    // The first turn opens the connections.
    for repeat in 0..=repeats {
        for (engine, figures) in engines.iter_mut().zip(&mut figures) {
            for (figure, value) in figures.iter_mut().zip(turn(engine)?) {
                if repeat > 0 {
                    figure.0.push(value);
                }
            }
        }
    }
    let mut table = Table::new("figure | by few | by many | many / few");
    let [few, many] = &figures;
    let names = ["median, µs", "99th percentile, µs", "client CPU, µs/op"];
    for ((name, few), many) in names.iter().zip(few).zip(many) {
        table.row(&format!("{name} | {few:.1} | {many:.1} | {:.2}", many.over(few)));
    }
    document.table("Response times", &table);
    Ok(())
}

/// Median and 99th percentile of the response times in microseconds, and the load thread's CPU time per operation.
fn turn(engine: &mut Engine) -> Result<[f64; 3]> {
    prepare(engine, 0)?;
    let yielded = engine.slice(0, TURN)?;
    let open_loop = yielded.open_loop.as_ref().ok_or("no schedule was kept")?;
    if yielded.failures > 0 || open_loop.not_begun > 0 {
        return Err(format!("{} failures, {} not begun", yielded.failures, open_loop.not_begun).into());
    }
    let responses = histogram::decode(&open_loop.response)?;
    let at = |percentile: f64| responses.value_at_quantile(percentile) as f64 / 1e3;
    let client_us = yielded.client_cpu.total_ns as f64 / yielded.operation_count() as f64 / 1e3;
    Ok([at(0.5), at(0.99), client_us])
}

/// A server that sends back what it gets, in a process of its own: both ends of every connection are a file.
struct EchoServer {
    process: Child,
    address: SocketAddr,
}

impl EchoServer {
    fn start() -> Result<Self> {
        let mut process = Command::new("/proc/self/exe")
            .arg("echo")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = process.stdout.take().ok_or("the server has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self {
            process,
            address: line.trim().parse()?,
        })
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        // Its input has ended, which is all that it waits for.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The other process: tells its address, and serves until its input ends.
pub(super) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (mut socket, _) = listener.accept().await?;
            tokio::spawn(async move {
                let mut bytes = [0; 256];
                while let Ok(count @ 1..) = socket.read(&mut bytes).await {
                    if socket.write_all(&bytes[..count]).await.is_err() {
                        return;
                    }
                }
            });
        }
    })
}
