//! New connections per second and core: connect, log in, disconnect.

mod rust;

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, GoProgram, Ground, Login, Repeats, Result, Slice, Table, driver};
use ciphertax_engine::Engine;
use ciphertax_model::{CertificateKind, Load, Resumption, TlsLibrary, Transport};
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::connect::{Connect, Nothing};
use ciphertax_workload::mysql::MysqlAccess;
use clap::{Parser, Subcommand};
use serde::{Deserialize, Serialize};

/// Length of one measurement in seconds.
const SECONDS: u32 = 2;
/// Connections being opened at a time.
const FEW: u32 = 2;
const MANY: u32 = 8;

/// Client CPU per new connection, ciphertax beside Go's and Rust's drivers: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
    /// Measure sessions in plaintext alone
    #[arg(long)]
    plain: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Connects by Rust's driver; reads what to do from standard input
    #[command(hide = true)]
    MysqlAsync,
}

/// What a driver's process is told.
#[derive(Clone, Serialize, Deserialize)]
struct Task {
    login: Login,
    seconds: u32,
    at_a_time: u32,
    /// Resume TLS sessions, where the driver has a choice.
    resume: bool,
}

/// What a driver's process answers.
#[derive(Serialize, Deserialize)]
struct Answer {
    connects: u64,
    seconds: f64,
    /// Protocol version and cipher by the server's word; empty for a session in plaintext.
    word: String,
}

/// Who connects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contestant {
    Ciphertax(TlsLibrary, Resumption),
    Go,
    MysqlAsync { resume: bool },
}

impl Contestant {
    /// Those that a transport is measured with; ours come first, the best of them at the head of its kind.
    fn all(transport: Transport) -> Vec<Self> {
        let rust = |resume| Self::MysqlAsync { resume };
        let ours = |library, resumption| Self::Ciphertax(library, resumption);
        if transport.is_encrypted() {
            vec![
                ours(TlsLibrary::Rustls, Resumption::Off),
                ours(TlsLibrary::Rustls, Resumption::Ticket),
                ours(TlsLibrary::OpenSsl, Resumption::Off),
                ours(TlsLibrary::OpenSsl, Resumption::Ticket),
                Self::Go,
                rust(false),
                rust(true),
            ]
        } else {
            vec![ours(TlsLibrary::OpenSsl, Resumption::Off), Self::Go, rust(false)]
        }
    }

    fn resumes(self) -> bool {
        matches!(
            self,
            Self::Ciphertax(_, Resumption::Ticket) | Self::MysqlAsync { resume: true }
        )
    }

    fn label(self, transport: Transport) -> String {
        let resumed = if self.resumes() { ", resumed" } else { "" };
        match (self, transport) {
            (Self::Ciphertax(..), Transport::Plain) => "ciphertax".into(),
            (Self::Ciphertax(library, _), _) => format!("ciphertax, {}{resumed}", library.name()),
            (Self::Go, _) => "Go, go-sql-driver".into(),
            (Self::MysqlAsync { .. }, Transport::Plain) => "Rust, mysql_async".into(),
            (Self::MysqlAsync { resume: true }, _) => format!("Rust, mysql_async as it is{resumed}"),
            (Self::MysqlAsync { resume: false }, _) => "Rust, mysql_async, new TLS settings each time".into(),
        }
    }
}

/// What one contestant measured in a cell.
#[derive(Default)]
struct Measured {
    client_us: Repeats,
    server_us: Repeats,
    rate: Repeats,
    word: String,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        match arguments.part {
            Some(Part::MysqlAsync) => rust::main(),
            None => compare(arguments.repeats, arguments.plain),
        }
    })
}

fn compare(repeats: u32, plain: bool) -> Result<()> {
    let go = GoProgram::build("go-connect")?;
    let mut document = Document::new("New connections, beside Go's and Rust's drivers", "connects");
    document.fact("Go", go.versions(&["github.com/go-sql-driver/mysql"])?);
    document.fact("Rust", rust::VERSION);
    let asked = format!(
        "connect, log in, disconnect; {FEW} at a time where nothing else is said, {repeats} repeats of {SECONDS} s in turns"
    );
    document.fact("asked", asked);
    for certificate in [CertificateKind::EcdsaP256, CertificateKind::Rsa2048] {
        let mut ground = Ground::prepare(certificate)?;
        if certificate == CertificateKind::EcdsaP256 {
            document.fact("server", ground.identity()?);
            for at_a_time in [FEW, MANY] {
                let table = cell(&mut ground, &go, (Transport::Plain, at_a_time), repeats)?;
                document.table(&format!("Plain, {at_a_time} at a time"), &table);
            }
        }
        if plain {
            break;
        }
        let heading = format!("TLSv1.3, certificate {certificate}");
        let table = cell(&mut ground, &go, (Transport::Tls13, FEW), repeats)?;
        document.table(&heading, &table);
    }
    document.paragraph(
        "Per second and core is 1 / client CPU. The drivers' CPU is that of their whole process (user and system, from `wait4`), \
         starting included; ciphertax's is that of its load threads. All verify the server's certificate against the private \
         authority. Every session of ciphertax is held to what its row says, resumed or not. Go never resumes one. mysql_async \
         does, unless it gets new settings for every connection, which makes it parse the authority's certificate each time \
         too: both are given. The server's CPU shows who resumed: a resumed handshake needs no signature. Ratios compare client \
         CPU among full handshakes, and among resumed ones.",
    );
    print!("{document}");
    Ok(())
}

/// Measures all contestants in turns.
fn cell(
    ground: &mut Ground,
    go: &GoProgram,
    (transport, at_a_time): (Transport, u32),
    repeats: u32,
) -> Result<Table> {
    let contestants = Contestant::all(transport);
    let arms: Vec<Connect<MysqlAccess, Nothing>> = contestants
        .iter()
        .filter_map(|contestant| match contestant {
            Contestant::Ciphertax(library, resumption) => Some((*library, *resumption)),
            Contestant::Go | Contestant::MysqlAsync { .. } => None,
        })
        .map(|(library, resumption)| {
            Ok(Connect {
                access: MysqlAccess {
                    connections: at_a_time as usize,
                    ..ground.login(transport).access_by(library, resumption)?
                },
                task: Nothing,
            })
        })
        .collect::<Result<_>>()?;
    let mut engine = Engine::start(arms, &Load::closed(at_a_time), 1)?;
    let mut measured: Vec<Measured> = contestants.iter().map(|_| Measured::default()).collect();
    let orders = BalancedOrder::new(contestants.len(), 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let task = |resume| Task {
                login: ground.login(transport),
                seconds: SECONDS,
                at_a_time,
                resume,
            };
            let (task, contestant) = match contestants[index] {
                Contestant::Ciphertax(..) => {
                    let duration = Duration::from_secs(SECONDS.into());
                    // Ours come first, in the order of the engine.
                    let slice = Slice::measure(ground.cpu(), &mut engine, index, duration)?;
                    measured[index].push(slice.client_us, slice.server_us, slice.throughput);
                    measured[index].word = ground.servers_word(transport)?;
                    continue;
                }
                Contestant::Go => (task(false), Driver::Go(go)),
                Contestant::MysqlAsync { resume } => (task(resume), Driver::MysqlAsync),
            };
            contestant.measure(ground, &task, &mut measured[index])?;
        }
        let figures = contestants.iter().zip(&measured).map(|(contestant, measured)| {
            format!(
                "{} {:.0}",
                contestant.label(transport),
                measured.client_us.median()
            )
        });
        eprintln!(
            "{transport}: repeat {} of {repeats}: client µs per connection: {}",
            repeat + 1,
            figures.collect::<Vec<_>>().join("; ")
        );
    }
    Ok(table(&contestants, &measured, transport))
}

fn table(contestants: &[Contestant], measured: &[Measured], transport: Transport) -> Table {
    let mut table = Table::new(&[
        "client",
        "client CPU µs",
        "per second and core",
        "best ciphertax / this",
        "server CPU µs",
        "connections/s",
        "session",
    ]);
    for (contestant, this) in contestants.iter().zip(measured) {
        let session = if this.word.is_empty() {
            "in plaintext"
        } else {
            &this.word
        };
        let best = contestants
            .iter()
            .position(|other| other.resumes() == contestant.resumes())
            .expect("it has its own kind");
        table.row([
            contestant.label(transport),
            format!("{:.0}", this.client_us),
            format!("{:.0}", 1e6 / this.client_us.median()),
            format!("{:.2}", measured[best].client_us.over(&this.client_us)),
            format!("{:.0}", this.server_us),
            format!("{:.0}", this.rate),
            session.to_owned(),
        ]);
    }
    table
}

impl Measured {
    fn push(&mut self, client_us: f64, server_us: f64, rate: f64) {
        self.client_us.push(client_us);
        self.server_us.push(server_us);
        self.rate.push(rate);
    }
}

/// A driver in a process of its own.
enum Driver<'a> {
    Go(&'a GoProgram),
    MysqlAsync,
}

impl Driver<'_> {
    fn measure(&self, ground: &mut Ground, task: &Task, measured: &mut Measured) -> Result<()> {
        let mut command = match self {
            Self::Go(program) => program.command(),
            Self::MysqlAsync => driver::command(rust::PART),
        };
        let input = serde_json::to_string(task)?;
        let connections_before = ground.counter("Connections")?;
        let server_before = ground.cpu().read_ns()?;
        let finished = ciphertax_bench::child::run(&mut command, &input)?;
        let server_ns = ground.cpu().read_ns()? - server_before;
        let opened = ground.counter("Connections")? - connections_before;
        let answer: Answer = serde_json::from_str(&finished.output)?;
        if opened < answer.connects || answer.connects == 0 {
            let says = answer.connects;
            return Err(
                format!("the driver says {says} connections, the server {opened}: is there a pool?").into(),
            );
        }
        let connects = answer.connects as f64;
        measured.push(
            finished.cpu.as_secs_f64() * 1e6 / connects,
            server_ns as f64 / connects / 1e3,
            connects / answer.seconds,
        );
        let is_encrypted = !answer.word.is_empty();
        if is_encrypted != task.login.ca_file.is_some() {
            return Err(format!("the driver's session is {:?}", answer.word).into());
        }
        measured.word = answer.word;
        Ok(())
    }
}
