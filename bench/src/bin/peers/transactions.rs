//! sysbench's transactions, each statement of which waits for the one before.

use std::time::Duration;

use ciphertax_bench::{Document, Login, PeerTable, Result, Slice, TABLES, billing, load, start};
use ciphertax_engine::Engine;
use ciphertax_model::{TlsLibrary, Transport};
use ciphertax_testkit::peers::Limit;
use ciphertax_wire::tls::TlsPolicy;
use ciphertax_workload::sql::{Oltp, Scenario};

use crate::beside_sysbench::{BesideSysbench, EXECUTED, call, session};

/// Length of one measurement in seconds.
const SECONDS: u32 = 5;
const CONNECTIONS: u32 = 64;
/// The most that ciphertax may take of sysbench's CPU per transaction.
const BAR: f64 = 0.7;
const SCENARIOS: [(&str, Scenario); 2] = [
    ("oltp_read_only", Scenario::ReadOnly),
    ("oltp_read_write", Scenario::ReadWrite),
];
/// Transports with the TLS libraries of ciphertax by which they are measured.
const CELLS: [(Transport, &[TlsLibrary]); 2] = [
    (Transport::Plain, &[TlsLibrary::OpenSsl]),
    (Transport::Tls13, &[TlsLibrary::OpenSsl, TlsLibrary::Rustls]),
];

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let mut beside = BesideSysbench::prepare(document, SECONDS, repeats)?;
    let poll_delay_us = load(CONNECTIONS).poll_delay_us;
    let asked = format!(
        "prepared statements, {CONNECTIONS} connections, poll delay {poll_delay_us} µs, {SECONDS} s a turn"
    );
    document.fact("asked", asked);
    let mut table = PeerTable::new("sysbench", "transaction");
    for (name, scenario) in SCENARIOS {
        for (transport, libraries) in CELLS {
            let login = Login::to(&beside.ground.server, transport);
            let arms = libraries.iter().map(|library| {
                let library = *library;
                let (access, tables) = (login.access(|policy| TlsPolicy { library, ..policy })?, TABLES);
                Ok(Oltp {
                    access,
                    tables,
                    scenario,
                })
            });
            let mut engine = start(&load(CONNECTIONS), arms)?;
            let statements = statements(&mut beside, &mut engine, name, transport)?;
            let what = format!("{name}, {transport}");
            let call = call(name, transport, CONNECTIONS);
            let figures = beside.compare(&what, (&mut engine, libraries), &call, EXECUTED)?;
            let ways = libraries.iter().map(|library| {
                let session = session(transport, *library);
                format!("{name}, {session}, {statements} statements")
            });
            table.rows(ways, &figures, Some(BAR));
        }
    }
    document.table("Bars", &table.0);
    document.paragraph(&billing("sysbench", "transaction"));
    document.paragraph("Both send the same statements, one at a time.");
    Ok(())
}

/// Statements of a transaction, which must be as many on both sides.
fn statements(
    beside: &mut BesideSysbench,
    engine: &mut Engine,
    scenario: &str,
    transport: Transport,
) -> Result<u64> {
    let run = beside.run(&call(scenario, transport, 1), Limit::Transactions(10))?;
    let theirs = run.statements.unwrap_or_default() / run.transactions;
    let slice = Slice::measure(&beside.ground.cpu, engine, 0, Duration::from_millis(100))?;
    // What a transaction that was begun anew had sent before comes on top.
    let ours = slice.queries / slice.operations;
    if ours != theirs {
        return Err(format!("sysbench sends {theirs} statements a transaction, ciphertax {ours}").into());
    }
    Ok(ours)
}
