//! YCSB's workloads on MongoDB.

use std::sync::Arc;
use std::time::Duration;

use ciphertax_bench::{Document, Measured, MongodbGround, PeerTable, Result, Slice, billing, in_turns, load};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_model::{Arm, AuthenticationMethod, Transport, Workload, YcsbMix, YcsbTable};
use ciphertax_workload::mongodb::MongodbTable;
use ciphertax_workload::ycsb::{KeySpace, Ycsb};

use crate::go_ycsb::{Call, GoYcsb, Part};
use crate::ycsb_load;

/// Length of one measurement in seconds.
const SECONDS: u32 = 3;
/// Records of 10 fields of 100 bytes: a multiple of what all connections insert at a time, since go-ycsb inserts whole
/// batches alone.
const RECORDS: u32 = 100_000;
/// Workloads, with the most client CPU for what go-ycsb does by 1.
const BARS: [(Workload, Option<f64>); 2] = [(Workload::YcsbC, Some(0.35)), (Workload::YcsbA, None)];
const CONNECTIONS: [u32; 2] = [8, 64];
/// Operations of a connection in the run that shows what go-ycsb's starting takes.
const A_FEW: u64 = 200;

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let table = YcsbTable {
        record_count: RECORDS,
        ..YcsbTable::default()
    };
    let go = GoYcsb::build()?;
    let server = PrivateServer::builder(&MONGODB)
        .access_control(false)
        .cache_mb(cache_mb(&table));
    let mut ground = MongodbGround::prepare(server)?;
    document.fact("server", &ground.identity);
    document.fact("go-ycsb", go.versions()?);
    let (field_count, field_length) = (table.field_count, table.field_length);
    let asked = format!(
        "{RECORDS} records of {field_count} fields of {field_length} bytes, picked by a Zipfian distribution; {SECONDS} s a turn"
    );
    document.fact("asked", asked);
    let plain = arm(Transport::Plain);
    let loads = ycsb_load::compare(&mut ground, &go, (&plain, &table), repeats)?;
    let mut tls = arm(Transport::Tls13);
    let cipher = cipher_of_go(&mut ground, &go, &tls, &table)?;
    let sessions = format!("both in plaintext; both {} {cipher}", tls.transport);
    document.fact("sessions", sessions);
    tls.tls.cipher = Some(cipher);
    for (workload, bar) in BARS {
        let mix = workload.ycsb_mix().ok_or("a workload of YCSB")?;
        let mut rows = PeerTable::new("go-ycsb", "operation");
        for connections in CONNECTIONS {
            for arm in [&plain, &tls] {
                let poll_delay_us = load(connections).poll_delay_us;
                let transport = arm.transport;
                let what = format!("{connections} connections, {transport}, poll delay {poll_delay_us} µs");
                let call = |operations| Call {
                    arm,
                    table: &table,
                    threads: connections,
                    part: Part::Run(&mix, operations),
                };
                let mut engine = engine(&mut ground, &call(0), &mix)?;
                // As many operations of go-ycsb as take about as long.
                let some = go.run(&mut ground, &call(1000 * u64::from(connections)))?.0;
                let operations = (some.throughput * f64::from(SECONDS)) as u64;
                let figures = in_turns(&what, &["ciphertax", "go-ycsb"], repeats, |index| {
                    if index == 0 {
                        let duration = Duration::from_secs(SECONDS.into());
                        return Ok(Slice::measure(&ground.cpu, &mut engine, 0, duration)?.turn);
                    }
                    let start = go.run(&mut ground, &call(A_FEW * u64::from(connections)))?.0;
                    let run = go.run(&mut ground, &call(operations))?.0;
                    Measured::of_peer(&start, &run)
                })?;
                rows.rows([what], &figures, bar);
            }
        }
        document.table(&format!("Workload `{}`", workload.name()), &rows.0);
    }
    let heading = format!("Load phase, {} connections in plaintext", table.load_threads);
    document.table(&heading, &loads);
    document.paragraph(&billing("go-ycsb", "operation"));
    document.paragraph(
        "Each has a table of its own on the same server, with as many records of the same size. Their keys differ: go-ycsb \
         hashes a record's number from its highest octet on and YCSB from its lowest, so go-ycsb's keys lie close together. \
         Neither asks for a read or write concern, so both get the server's. Both read whole records; go-ycsb names their \
         fields in a projection. Over TLS both have the cipher suite that Go and the server agree on. The server counted the \
         connections and the TLS handshakes of both as the rows say.",
    );
    document.paragraph(
        "The load phase takes from the first connection of ciphertax, and from go-ycsb's own start of its clock, to the last \
         record. go-ycsb's MongoDB inserts the records of a batch one by one, so for batches it was given an insert of many \
         by the same driver. *Checked* is with ciphertax's own check of what it has written, which go-ycsb has not.",
    );
    Ok(())
}

/// Enough for the tables of both, with what the server needs besides.
fn cache_mb(table: &YcsbTable) -> u32 {
    let tables_mb = 3 * table.bytes() / 1_000_000;
    let megabytes = 512 + u32::try_from(tables_mb).unwrap_or(u32::MAX / 2);
    megabytes.next_multiple_of(256)
}

fn arm(transport: Transport) -> Arm {
    let mut arm = Arm::new("ycsb", transport);
    arm.authentication.method = Some(AuthenticationMethod::NoLogin);
    arm
}

/// The cipher suite that Go and the server agree on: Go does not let its users choose one of TLS 1.3.
fn cipher_of_go(ground: &mut MongodbGround, go: &GoYcsb, arm: &Arm, table: &YcsbTable) -> Result<String> {
    let mix = Workload::YcsbC.ycsb_mix().ok_or("a workload of YCSB")?;
    let call = Call {
        arm,
        table,
        threads: 1,
        part: Part::Run(&mix, 1),
    };
    let (_, word) = go.run(ground, &call)?;
    let version = arm.transport.tls_version().map_or("", |version| version.name());
    let cipher = word.strip_prefix(version).map(str::trim);
    Ok(cipher.ok_or_else(|| format!("go-ycsb has {word}"))?.to_owned())
}

/// Connects, and makes sure that the server sees the connections that the call says.
fn engine(ground: &mut MongodbGround, call: &Call<'_>, mix: &YcsbMix) -> Result<Engine> {
    let store = MongodbTable {
        access: ground.access(call.arm, call.threads as usize)?,
        table: *call.table,
        writes: mix.writes(),
        fields: None,
    };
    let keys = Arc::new(KeySpace::new(call.table));
    let workload = Ycsb::new(store, call.table, *mix, keys);
    let mut engine = Engine::start(vec![workload], &load(call.threads), 1)?;
    let before = ground.counters()?;
    Slice::measure(&ground.cpu, &mut engine, 0, Duration::from_millis(100))?;
    ground.check_since(&before, call.arm, call.threads.into())?;
    Ok(engine)
}
