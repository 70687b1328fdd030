//! What loading TPC-C's tables costs both sides, by lines, by inserts of many rows, and with sysbench-tpcc; and what
//! checking them does.

use std::path::Path;

use ciphertax_bench::{
    Document, Figures, MariadbGround, Measured, Result, TABLES, Table, in_turns, met, quiet_ns,
};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::{Dataset, Tpcc, Transport};
use ciphertax_observe::ProcessMeter;
use ciphertax_wire::Session as _;
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
    let asked = format!("{}, {} sessions", contents.tables, contents.tables.load_workers);
    document.fact("asked", asked);
    let ways = &WAYS[..BY_PEER + usize::from(peer.is_some())];
    let rows = contents.rows() as f64;
    let mut checks = Figures::default();
    let figures = in_turns("load", ways, repeats, |index| {
        if let Some(peer) = peer.as_ref().filter(|_| index == BY_PEER) {
            peer.remove(&mut ground)?;
            let before = quiet_ns(&ground.cpu)?;
            let client = peer.prepare(&mut ground)?;
            return Ok(Measured {
                server_us: (quiet_ns(&ground.cpu)? - before) as f64 / 1e3 / rows,
                ..Measured::client(client.total_ns as f64 / 1e3 / rows)
            });
        }
        let measured = by_ourselves(&mut ground, &contents, index == BY_LINES)?;
        if index == BY_LINES {
            checks.0.push(check(&ground, &contents)?);
        }
        Ok(measured)
    })?;
    document.paragraph(
        "Ways in turns; indexes included, of ours statistics and counts too. sysbench-tpcc writes its tables by as many sessions.",
    );
    document.table("CPU time", &of_ways(ways, &figures, rows));
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

fn of_checks(checks: &Figures) -> Table {
    let client = checks.of(|turn| turn.client_us / 1e6);
    let server = checks.of(|turn| turn.server_us / 1e6);
    let both = client.plus(&server);
    let met = met(both.median() / f64::from(WAREHOUSES) <= BAR_OF_CHECK);
    let mut table = Table::new("check | client CPU s | server CPU s | both | met");
    table.row(&format!(
        "twelve conditions | {client:.3} | {server:.2} | {both:.2} | {met}"
    ));
    table
}

/// What the twelve conditions take.
fn check(ground: &MariadbGround, contents: &TpccContents) -> Result<Measured> {
    let options = ground.access(Transport::Plain)?.options;
    let mut all = Contents::NONE;
    all.tpcc = Some(contents.clone());
    used(ground, 1.0, || {
        ground.run(all.patience(), async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await?;
            for set in &contents.sets {
                tpcc::check(&mut session, set.names, &contents.tables, When::AfterLoad, &[]).await?;
            }
            Ok(())
        })?
    })
}

/// What loading all tables into an empty schema takes.
fn by_ourselves(ground: &mut MariadbGround, contents: &TpccContents, takes_lines: bool) -> Result<Measured> {
    ground.ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA}"))?;
    ground.ask(&format!("SET GLOBAL local_infile = {}", u8::from(takes_lines)))?;
    let options = ground.access(Transport::Plain)?.options;
    let mut all = Contents::NONE;
    all.tpcc = Some(contents.clone());
    used(ground, all.rows() as f64, || ground.load(&options, &all))
}

/// CPU time of both sides for something, by the operations that it is.
fn used<T>(
    ground: &MariadbGround,
    operations: f64,
    something: impl FnOnce() -> Result<T>,
) -> Result<Measured> {
    let client = ProcessMeter::open(std::process::id())?;
    let (client_before, server_before) = (client.cpu()?.total_ns, quiet_ns(&ground.cpu)?);
    something()?;
    let us = |before: u64, after: u64| (after - before) as f64 / 1e3 / operations;
    let client_us = us(client_before, client.cpu()?.total_ns);
    Ok(Measured {
        server_us: us(server_before, quiet_ns(&ground.cpu)?),
        ..Measured::client(client_us)
    })
}
