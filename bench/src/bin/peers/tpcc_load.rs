//! What loading TPC-C's tables costs both sides, by lines, by inserts of many rows, and with sysbench-tpcc; and what
//! checking them does.

use std::path::Path;
use std::time::Duration;

use ciphertax_bench::{
    Document, Figures, MariadbGround, Measured, Repeats, Result, TABLES, Table, in_turns, met,
};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::{Dataset, Tpcc, Transport};
use ciphertax_observe::ProcessCpu;
use ciphertax_wire::mysql::Session;
use ciphertax_workload::dataset::tpcc::{self, TpccContents, When};
use ciphertax_workload::dataset::{Contents, SCHEMA};

use crate::sysbench_tpcc::SysbenchTpcc;

const WAREHOUSES: u32 = 2;
/// The most CPU time of both sides for the check of a warehouse, in seconds.
const BAR_OF_CHECK: f64 = 2.0;
/// The ways to load, the peer's last.
const WAYS: [&str; 3] = [
    "lines (LOAD DATA LOCAL)",
    "inserts of many rows",
    "sysbench-tpcc prepare",
];
const BY_LINES: usize = 0;
const BY_PEER: usize = 2;

/// CPU time of the client and of the server.
type Cpu = (Duration, Duration);

pub(crate) fn measure(document: &mut Document, repeats: u32, scripts: Option<&Path>) -> Result<()> {
    let small = Dataset {
        table_size: 1000,
        ..TABLES.dataset
    };
    let server = PrivateServer::builder(&MARIADB).cache_mb(1024);
    let mut ground = MariadbGround::prepare_on(server, &small)?;
    let contents = TpccContents::plain(Tpcc {
        warehouses: WAREHOUSES,
        ..Tpcc::default()
    });
    let peer = scripts.map(|scripts| SysbenchTpcc::new(scripts, &ground, WAREHOUSES));
    document.fact("server", &ground.identity);
    document.fact(
        "asked",
        format!("{}, {} sessions", contents.tables, contents.tables.load_workers),
    );
    let ways = &WAYS[..BY_PEER + usize::from(peer.is_some())];
    let mut checks = Vec::new();
    let figures = in_turns("load", ways, repeats, |index| {
        let (client, server) = match &peer {
            Some(peer) if index == BY_PEER => {
                peer.remove(&mut ground)?;
                let before = ground.cpu.read_ns()?;
                let client = peer.prepare(&mut ground)?;
                (client, Duration::from_nanos(ground.cpu.read_ns()? - before))
            }
            _ => by_ourselves(&mut ground, &contents, index == BY_LINES)?,
        };
        if index == BY_LINES {
            checks.push(check(&ground, &contents)?);
        }
        let per_row = |cpu: Duration| cpu.as_secs_f64() * 1e6 / contents.rows() as f64;
        Ok(Measured {
            server_us: per_row(server),
            ..Measured::client(per_row(client))
        })
    })?;
    document.paragraph(
        "Ways in turns; indexes included, of ours statistics and counts too. sysbench-tpcc writes its tables by as many sessions.",
    );
    document.table("CPU time", &of_ways(ways, &figures, contents.rows() as f64));
    document.paragraph(&format!(
        "The check: the twelve conditions of clause 3.3.2, and what they cannot see, asked of the {WAREHOUSES} warehouses that were \
         just loaded by lines. The bar is {BAR_OF_CHECK} CPU s a warehouse.",
    ));
    document.table("Consistency", &of_checks(&checks));
    Ok(())
}

fn of_ways(ways: &[&str], figures: &[Figures], rows: f64) -> Table {
    let mut table =
        Table::new("way | client µs a row | server µs a row | both: CPU s a warehouse | both, of the first");
    let both = |figures: &Figures| figures.client_us().plus(&figures.server_us());
    let first = both(&figures[BY_LINES]);
    for (way, figures) in ways.iter().zip(figures) {
        let per_warehouse = both(figures).median() * rows / f64::from(WAREHOUSES) / 1e6;
        let [client, server] = [figures.client_us(), figures.server_us()].map(|figure| figure.median());
        let of_first = both(figures).over(&first).median();
        table.row(&format!(
            "{way} | {client:.2} | {server:.2} | {per_warehouse:.2} | {of_first:.2}"
        ));
    }
    table
}

fn of_checks(checks: &[Cpu]) -> Table {
    let (client, server): (Repeats, Repeats) = (
        checks.iter().map(|(client, _)| client.as_secs_f64()).collect(),
        checks.iter().map(|(_, server)| server.as_secs_f64()).collect(),
    );
    let both = client.plus(&server);
    let met = met(both.median() / f64::from(WAREHOUSES) <= BAR_OF_CHECK);
    let mut table = Table::new("check | client CPU s | server CPU s | both | met");
    table.row(&format!(
        "twelve conditions | {client:.3} | {server:.2} | {both:.2} | {met}"
    ));
    table
}

/// What the twelve conditions take.
fn check(ground: &MariadbGround, contents: &TpccContents) -> Result<Cpu> {
    let options = ground.access(Transport::Plain)?.options;
    let limit = Contents::from(contents.clone()).patience();
    used(ground, || {
        ground.run(limit, async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await?;
            for set in &contents.sets {
                tpcc::check(&mut session, set.names, &contents.tables, When::AfterLoad, &[]).await?;
            }
            Ok(())
        })?
    })
}

/// What loading all tables into an empty schema takes.
fn by_ourselves(ground: &mut MariadbGround, contents: &TpccContents, takes_lines: bool) -> Result<Cpu> {
    ground.ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA}"))?;
    ground.ask(&format!("SET GLOBAL local_infile = {}", u8::from(takes_lines)))?;
    let options = ground.access(Transport::Plain)?.options;
    let contents = Contents::from(contents.clone());
    used(ground, || ground.load(&options, &contents))
}

/// What something takes.
fn used<T>(ground: &MariadbGround, something: impl FnOnce() -> Result<T>) -> Result<Cpu> {
    let client = ProcessCpu::open(std::process::id())?;
    let (client_before, server_before) = (client.read()?.total_ns, ground.cpu.read_ns()?);
    something()?;
    let since = |before: u64, after: u64| Duration::from_nanos(after - before);
    Ok((
        since(client_before, client.read()?.total_ns),
        since(server_before, ground.cpu.read_ns()?),
    ))
}
