//! Point selects, where the kernel puts server and clients, and with all of them on one CPU.

use std::time::Duration;

use ciphertax_bench::{Document, PeerTable, ROWS, Result, Slice, TABLES, billing};
use ciphertax_engine::{Engine, Part};
use ciphertax_model::{Load, TlsLibrary, Transport};
use ciphertax_observe::placement::{confine_process, confine_thread, last_allowed_cpu};
use ciphertax_testkit::peers::Limit;
use ciphertax_workload::sql::PointSelect;

use crate::beside_sysbench::{BesideSysbench, EXECUTED, call};

/// Length of one measurement in seconds.
const SECONDS: u32 = 3;
const SCENARIO: &str = "oltp_point_select";
/// Connections, and the largest share of sysbench's CPU time that is good enough.
const BARS: [(u32, f64); 3] = [(1, 0.97), (8, 0.5), (64, 0.35)];
const TRANSPORTS: [Transport; 2] = [Transport::Plain, Transport::Tls13];

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let mut beside = BesideSysbench::prepare(document, SECONDS, repeats)?;
    let asked = format!(
        "`{SCENARIO}`, prepared statements, ids drawn uniformly from {ROWS}, {SECONDS} s a turn, no poll delay"
    );
    document.fact("asked", asked);
    for transport in TRANSPORTS {
        prove(&mut beside, transport)?;
    }
    document.paragraph(&billing("sysbench", "operation"));
    let table = compare(&mut beside, None)?;
    document.table("Server and clients where the kernel puts them", &table.0);
    let cpu = last_allowed_cpu()?;
    confine_process(beside.ground.server.pids()[0], cpu)?;
    // What this thread starts stays there with it: sysbench.
    confine_thread(cpu)?;
    let table = compare(&mut beside, Some(cpu))?;
    document.table("Server and clients together on one CPU", &table.0);
    Ok(())
}

/// Makes sure that both use prepared statements, and nothing else.
fn prove(beside: &mut BesideSysbench, transport: Transport) -> Result<()> {
    const QUERIES: u32 = 10;
    let before = beside.ground.counter(EXECUTED)?;
    let limit = Limit::Transactions(QUERIES.into());
    beside.run(&call(SCENARIO, transport, QUERIES), limit)?;
    let executed = beside.ground.counter(EXECUTED)? - before;
    if executed != u64::from(QUERIES) {
        return Err(format!("sysbench executed {executed} prepared statements; expected {QUERIES}").into());
    }
    let mut engine = engine(beside, transport, 1, None)?;
    let before = beside.ground.counter(EXECUTED)?;
    // Every session of the engine is checked against the server's word when it is opened.
    let slice = Slice::measure(&beside.ground.cpu, &mut engine, 0, Duration::from_millis(100))?;
    let executed = beside.ground.counter(EXECUTED)? - before;
    if executed != slice.operations {
        let operations = slice.operations;
        return Err(format!("ciphertax executed {executed} prepared statements of {operations}").into());
    }
    Ok(())
}

/// `cpu` is the only one of the load threads; `None` leaves them to the kernel.
fn compare(beside: &mut BesideSysbench, cpu: Option<usize>) -> Result<PeerTable> {
    let mut table = PeerTable::new("sysbench", "operation");
    for (connections, bar) in BARS {
        for transport in TRANSPORTS {
            let mut engine = engine(beside, transport, connections, cpu)?;
            let what = format!("{connections} connections, {transport}");
            let ours = (&mut engine, &[TlsLibrary::OpenSsl][..]);
            let call = call(SCENARIO, transport, connections);
            let figures = beside.compare(&what, ours, &call, EXECUTED)?;
            table.rows([what], &figures, Some(bar));
        }
    }
    Ok(table)
}

fn engine(
    beside: &BesideSysbench,
    transport: Transport,
    connections: u32,
    cpu: Option<usize>,
) -> Result<Engine> {
    let (access, tables) = (beside.ground.access(transport)?, TABLES);
    let (arms, load) = (vec![PointSelect { access, tables }], Load::closed(connections));
    Ok(Engine::start_part(Part::WHOLE, cpu, arms, &load, 1)?)
}
