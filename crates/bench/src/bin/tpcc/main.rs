//! Client CPU per transaction of TPC-C, beside `oltp_read_write` and other programs' TPC-C on the same server.

mod contestant;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ciphertax_bench::beside_sysbench::load;
use ciphertax_bench::{Document, Ground, Result, TABLES, Table, TpccPeer};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::{StatementKind, Tpcc, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_workload::ArmColumns;
use ciphertax_workload::dataset::tpcc::{TableNames, TpccContents};
use ciphertax_workload::dataset::{self, Contents};
use ciphertax_workload::sql::tpcc::Terminals;
use ciphertax_workload::sql::{Oltp, Scenario};
use clap::Parser;
use contestant::Contestant;

/// Length of one measurement.
const SLICE: Duration = Duration::from_secs(4);
const TERMINALS: [u32; 3] = [1, 8, 64];
const WAREHOUSES: u32 = 7;

/// Client CPU per transaction of TPC-C: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
    /// The program go-tpc (github.com/pingcap/go-tpc)
    #[arg(long, value_name = "PROGRAM")]
    go_tpc: Option<PathBuf>,
    /// The folder of sysbench-tpcc's scripts (github.com/Percona-Lab/sysbench-tpcc)
    #[arg(long, value_name = "FOLDER")]
    sysbench_tpcc: Option<PathBuf>,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut ground = ground()?;
        let mut peers = Vec::new();
        if let Some(program) = &arguments.go_tpc {
            peers.push(TpccPeer::go_tpc(program, &ground, WAREHOUSES));
        }
        if let Some(scripts) = &arguments.sysbench_tpcc {
            peers.push(TpccPeer::sysbench_tpcc(scripts, &ground, WAREHOUSES));
        }
        for peer in &peers {
            peer.prepare(&mut ground)?;
        }
        let mut document = Document::new("Client CPU per transaction of TPC-C", "tpcc");
        document.fact("server", ground.identity()?);
        document.fact("warehouses", WAREHOUSES.to_string());
        document.fact("repeats", arguments.repeats.to_string());
        let mut table = Table::new(&[
            "terminals",
            "asked",
            "client µs/transaction",
            "of the better peer's",
            "statements/transaction",
            "client µs/statement",
            "server µs/transaction",
            "transactions/s",
        ]);
        for terminals in TERMINALS {
            let contestants = in_turns(&mut ground, &peers, terminals, arguments.repeats)?;
            let theirs = contestants.iter().filter(|contestant| contestant.is_peer());
            let better = theirs.min_by(|a, b| a.client_us.median().total_cmp(&b.client_us.median()));
            for contestant in &contestants {
                let ratio = better.map(|better| contestant.client_us.over(&better.client_us));
                table.row([
                    terminals.to_string(),
                    contestant.name.to_owned(),
                    format!("{:.0}", contestant.client_us),
                    ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.2}")),
                    format!("{:.1}", contestant.statements.median()),
                    format!("{:.1}", contestant.client_statement_us),
                    format!("{:.0}", contestant.server_us),
                    format!("{:.0}", contestant.throughput),
                ]);
            }
        }
        document.paragraph(
            "CPU time of the client in a slice, by the transactions of the slice; contestants in turns. Of ours it is that of the load \
             threads, of peers that of the whole process once it has opened its connections, with transactions and statements by the \
             server's count. Ratios are taken within a repeat. Peers do less than TPC-C asks for in ways of their own; how much, the \
             column of statements says in part. `--go-tpc` and `--sysbench-tpcc` name them.",
        );
        document.table("Client CPU", &table);
        print!("{document}");
        Ok(())
    })
}

fn ground() -> Result<Ground> {
    let server = PrivateServer::builder(&MARIADB).cache_mb(4096);
    let ground = Ground::prepare_on(server, &TABLES.dataset)?;
    eprintln!("writing {WAREHOUSES} warehouses …");
    let mut contents = Contents::from(TpccContents::plain(tables(StatementKind::Prepared)));
    contents.sbtest = Some(TABLES.dataset);
    let options = ConnectOptions {
        database: None,
        ..ground.access(Transport::Plain)?.options
    };
    let reactor = Reactor::new()?;
    let mut opened = Vec::new();
    let task = dataset::prepare_contents::<Session>(&reactor, &options, &contents, &mut opened, |_| ());
    reactor
        .run_one(task, Instant::now() + contents.patience())?
        .ok_or("the server does not answer")??;
    Ok(ground)
}

fn tables(statements: StatementKind) -> Tpcc {
    Tpcc {
        warehouses: WAREHOUSES,
        statements,
        ..Tpcc::default()
    }
}

fn in_turns<'a>(
    ground: &mut Ground,
    peers: &'a [TpccPeer],
    terminals: u32,
    repeats: u32,
) -> Result<Vec<Contestant<'a>>> {
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
    let (prepared, text) = (tpcc(StatementKind::Prepared), tpcc(StatementKind::Text));
    let mut contestants = vec![
        Contestant::ours("oltp_read_write", Engine::start(vec![oltp], &load, 1)?),
        Contestant::ours("ciphertax, prepared", Engine::start(vec![prepared], &load, 1)?),
        Contestant::ours("ciphertax, text", Engine::start(vec![text], &load, 1)?),
    ];
    contestants.extend(peers.iter().map(|peer| Contestant::peer(peer, terminals)));
    for repeat in 0..=repeats {
        for contestant in &mut contestants {
            contestant.measure(ground, repeat > 0)?;
        }
        eprintln!("{terminals} terminals: repeat {repeat} of {repeats}");
    }
    Ok(contestants)
}
