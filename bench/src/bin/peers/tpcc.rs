//! Transactions of TPC-C, beside those of sysbench-tpcc and `oltp_read_write`.

use std::path::Path;
use std::time::Duration;

use ciphertax_bench::{Document, MariadbGround, Measured, Result, Slice, TABLES, Table, in_turns, load};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::{StatementKind, Tpcc, Transport};
use ciphertax_workload::ArmColumns;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::dataset::tpcc::{TableNames, TpccContents};
use ciphertax_workload::sql::tpcc::Terminals;
use ciphertax_workload::sql::{Oltp, Scenario};

use crate::sysbench_tpcc::SysbenchTpcc;

/// Length of one measurement.
const TURN: Duration = Duration::from_secs(4);
const TERMINALS: [u32; 3] = [1, 8, 64];
const WAREHOUSES: u32 = 7;
/// Who runs transactions: an engine each, and then the peer.
const NAMES: [&str; 4] = [
    "oltp_read_write",
    "ciphertax, prepared",
    "ciphertax, text",
    "sysbench-tpcc, text",
];

pub(crate) fn measure(document: &mut Document, repeats: u32, scripts: Option<&Path>) -> Result<()> {
    let mut ground = ground()?;
    let peer = scripts.map(|scripts| SysbenchTpcc::new(scripts, &ground, WAREHOUSES));
    if let Some(peer) = &peer {
        peer.prepare(&mut ground)?;
    }
    document.fact("server", &ground.identity);
    document.fact("asked", format!("{WAREHOUSES} warehouses, {TURN:?} a turn"));
    let mut table = Table::new(
        "terminals | who asks | client µs/transaction | of sysbench-tpcc's | statements/transaction | client µs/statement \
         | server µs/transaction | transactions/s",
    );
    for terminals in TERMINALS {
        let mut engines = engines(&ground, terminals)?;
        let names = &NAMES[..engines.len() + usize::from(peer.is_some())];
        let mut turn = |index: usize| -> Result<Measured> {
            match (engines.get_mut(index), &peer) {
                (Some(engine), _) => Ok(Slice::measure(&ground.cpu, engine, 0, TURN)?.turn),
                (None, Some(peer)) => peer.measure(&mut ground, terminals, TURN),
                (None, None) => Err("nobody else asks".into()),
            }
        };
        // The first turn prepares statements and fills caches.
        for index in 0..names.len() {
            turn(index)?;
        }
        let figures = in_turns(format!("{terminals} terminals"), names, repeats, turn)?;
        let theirs = figures.get(engines.len());
        for (name, figures) in names.iter().zip(&figures) {
            let (client_us, server_us) = (figures.client_us(), figures.server_us());
            let ratio = theirs.map(|theirs| client_us.over(&theirs.client_us()));
            let ratio = ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.2}"));
            let statements = figures.of(|turn| turn.statements).median();
            let statement_us = figures.of(|turn| turn.client_us / turn.statements);
            table.row(&format!(
                "{terminals} | {name} | {client_us:.0} | {ratio} | {statements:.1} | {statement_us:.1} | {server_us:.0} | {:.0}",
                figures.throughput()
            ));
        }
    }
    document.paragraph(
        "CPU time of the client in a turn, by the transactions of the turn. Of ours it is that of the load threads, of sysbench-tpcc \
         that of the whole process once it has opened its connections, with transactions and statements by the server's count. \
         Ratios are taken within a repeat. sysbench-tpcc does less than TPC-C asks for in ways of its own; how much, the column of \
         statements says in part.",
    );
    document.table("Client CPU", &table);
    Ok(())
}

/// A server with both data sets.
fn ground() -> Result<MariadbGround> {
    let server = PrivateServer::builder(&MARIADB).cache_mb(4096);
    let ground = MariadbGround::prepare_on(server, &TABLES.dataset)?;
    eprintln!("writing {WAREHOUSES} warehouses …");
    let mut contents = Contents::NONE;
    contents.sbtest = Some(TABLES.dataset);
    contents.tpcc = Some(TpccContents::plain(tables(StatementKind::Prepared)));
    ground.load(&ground.access(Transport::Plain)?.options, &contents)?;
    Ok(ground)
}

fn tables(statements: StatementKind) -> Tpcc {
    Tpcc {
        warehouses: WAREHOUSES,
        statements,
        ..Tpcc::default()
    }
}

/// Those of the first [`NAMES`].
fn engines(ground: &MariadbGround, terminals: u32) -> Result<[Engine; 3]> {
    let load = load(terminals);
    let access = ground.access(Transport::Plain)?;
    let tpcc = |statements| Terminals {
        access: access.clone(),
        tables: tables(statements),
        names: TableNames::ONLY,
        columns: ArmColumns::default(),
        seed: 1,
    };
    let oltp = Oltp {
        access: access.clone(),
        tables: TABLES,
        scenario: Scenario::ReadWrite,
    };
    Ok([
        Engine::start(vec![oltp], &load, 1)?,
        Engine::start(vec![tpcc(StatementKind::Prepared)], &load, 1)?,
        Engine::start(vec![tpcc(StatementKind::Text)], &load, 1)?,
    ])
}
