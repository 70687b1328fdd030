//! What loading TPC-C's tables costs both sides, by lines, by inserts of many rows, and with go-tpc; and what checking them does.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ciphertax_bench::{Document, Ground, Repeats, Result, ServerCpu, TABLES, Table, TpccPeer};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::{Dataset, Tpcc, Transport};
use ciphertax_observe::ProcessCpu;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_workload::dataset::tpcc::{self, TpccContents, When};
use ciphertax_workload::dataset::{self, Contents};
use ciphertax_workload::sql::SqlSession;
use clap::Parser;

/// Cost of loading TPC-C's tables: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each way is measured
    #[arg(long, default_value_t = 3)]
    repeats: u32,
    /// Warehouses
    #[arg(long, default_value_t = 2)]
    warehouses: u32,
    /// The program go-tpc (github.com/pingcap/go-tpc)
    #[arg(long, value_name = "PROGRAM")]
    go_tpc: Option<PathBuf>,
}

/// A way to load, and what it cost, repeat by repeat.
struct Way {
    name: &'static str,
    by: Loader,
    client_us: Repeats,
    server_us: Repeats,
}

enum Loader {
    /// Ourselves, by lines or by inserts.
    Ours {
        takes_lines: bool,
    },
    Peer(TpccPeer),
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let small = Dataset {
            table_size: 1000,
            ..TABLES.dataset
        };
        let server = PrivateServer::builder(&MARIADB).cache_mb(1024);
        let mut ground = Ground::prepare_on(server, &small)?;
        let contents = TpccContents::plain(Tpcc {
            warehouses: arguments.warehouses,
            ..Tpcc::default()
        });
        let mut ways = vec![
            Way::new("lines (LOAD DATA LOCAL)", Loader::Ours { takes_lines: true }),
            Way::new("inserts of many rows", Loader::Ours { takes_lines: false }),
        ];
        if let Some(program) = &arguments.go_tpc {
            let peer = TpccPeer::go_tpc(program, &ground, arguments.warehouses);
            ways.push(Way::new("go-tpc prepare", Loader::Peer(peer)));
        }
        let (mut asking, mut answering) = (Repeats::default(), Repeats::default());
        for repeat in 1..=arguments.repeats {
            for way in &mut ways {
                way.measure(&mut ground, &contents)?;
                if let Loader::Ours { takes_lines: true } = way.by {
                    let (client, server) = check(&ground, &contents)?;
                    asking.push(client.as_secs_f64());
                    answering.push(server.as_secs_f64());
                }
            }
            eprintln!("repeat {repeat} of {}", arguments.repeats);
        }
        let mut document = Document::new("Loading TPC-C's tables", "tpcc-load");
        document.fact("server", ground.identity()?);
        document.fact(
            "asked",
            format!("{}, {} sessions", contents.tables, contents.tables.load_workers),
        );
        let mut table = Table::new(&[
            "way",
            "client µs a row",
            "server µs a row",
            "both: CPU s a warehouse",
            "both, of the first",
        ]);
        let both = |way: &Way| way.client_us.plus(&way.server_us);
        let first = both(&ways[0]);
        for way in &ways {
            let per_warehouse =
                both(way).median() * contents.rows() as f64 / f64::from(arguments.warehouses) / 1e6;
            table.row([
                way.name.to_owned(),
                format!("{:.2}", way.client_us.median()),
                format!("{:.2}", way.server_us.median()),
                format!("{per_warehouse:.2}"),
                format!("{:.2}", both(way).over(&first).median()),
            ]);
        }
        document.paragraph(
            "Ways in turns; indexes included, of ours statistics and counts too. `--go-tpc` names the other program, whose own check is \
             left out.",
        );
        document.table("CPU time", &table);
        document.paragraph(&format!(
            "The check: the twelve conditions of clause 3.3.2, and what they cannot see, asked of the {} warehouses that were just \
             loaded by lines. The bar is 2 CPU s a warehouse.",
            arguments.warehouses
        ));
        let both = asking.plus(&answering);
        let is_met = both.median() / f64::from(arguments.warehouses) <= 2.0;
        let mut table = Table::new(&["check", "client CPU s", "server CPU s", "both", "met"]);
        table.row([
            "twelve conditions".to_owned(),
            format!("{asking:.3}"),
            format!("{answering:.2}"),
            format!("{both:.2}"),
            if is_met { "yes" } else { "**no**" }.to_owned(),
        ]);
        document.table("Consistency", &table);
        print!("{document}");
        Ok(())
    })
}

impl Way {
    fn new(name: &'static str, by: Loader) -> Self {
        Self {
            name,
            by,
            client_us: Repeats::default(),
            server_us: Repeats::default(),
        }
    }

    /// Loads all tables into an empty schema.
    fn measure(&mut self, ground: &mut Ground, contents: &TpccContents) -> Result<()> {
        let (client, server) = match &self.by {
            Loader::Ours { takes_lines } => by_ourselves(ground, contents, *takes_lines)?,
            Loader::Peer(peer) => {
                peer.remove(ground)?;
                let before = ground.cpu().read_ns()?;
                let client = peer.prepare(ground)?;
                (client, Duration::from_nanos(ground.cpu().read_ns()? - before))
            }
        };
        let per_row = |cpu: Duration| cpu.as_secs_f64() * 1e6 / contents.rows() as f64;
        self.client_us.push(per_row(client));
        self.server_us.push(per_row(server));
        Ok(())
    }
}

/// CPU time of the client and of the server that the twelve conditions take.
fn check(ground: &Ground, contents: &TpccContents) -> Result<(Duration, Duration)> {
    let options = ground.login(Transport::Plain).access()?.options;
    let reactor = Reactor::new()?;
    let limit = Contents::from(contents.clone()).patience();
    let task = async {
        let (mut session, _) = Session::connect(&reactor, &options).await?;
        for set in &contents.sets {
            tpcc::check(&mut session, set.names, &contents.tables, When::AfterLoad, &[]).await?;
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    used(ground, || {
        reactor.run_one(task, Instant::now() + limit)?.ok_or("it hangs")?
    })
}

/// CPU time of the client and of the server that something takes.
fn used(ground: &Ground, something: impl FnOnce() -> Result<()>) -> Result<(Duration, Duration)> {
    let client = ProcessCpu::open(std::process::id())?;
    let server: &ServerCpu = ground.cpu();
    let (client_before, server_before) = (client.read()?.total_ns, server.read_ns()?);
    something()?;
    let since = |before: u64, after: u64| Duration::from_nanos(after - before);
    Ok((
        since(client_before, client.read()?.total_ns),
        since(server_before, server.read_ns()?),
    ))
}

/// CPU time of the client and of the server.
fn by_ourselves(ground: &Ground, contents: &TpccContents, takes_lines: bool) -> Result<(Duration, Duration)> {
    let options = ConnectOptions {
        database: None,
        ..ground.login(Transport::Plain).access()?.options
    };
    let reactor = Reactor::new()?;
    let limit = Contents::from(contents.clone()).patience();
    let begin = async {
        let (mut session, _) = Session::connect(&reactor, &options).await?;
        dataset::remove(&mut session).await?;
        session
            .command(&format!("SET GLOBAL local_infile = {}", u8::from(takes_lines)))
            .await?;
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    reactor
        .run_one(begin, Instant::now() + limit)?
        .ok_or("it hangs")??;
    let load = async {
        let contents = Contents::from(contents.clone());
        dataset::prepare_contents::<Session>(&reactor, &options, &contents, &mut Vec::new(), |_| ()).await
    };
    used(ground, || {
        reactor
            .run_one(load, Instant::now() + limit)?
            .ok_or("it hangs")??;
        Ok(())
    })
}
