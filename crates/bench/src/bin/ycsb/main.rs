//! Client CPU per operation of YCSB's workloads, and the load phase: ciphertax beside go-ycsb, on the same MongoDB.

mod go_ycsb;
mod load_phase;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ciphertax_bench::beside_sysbench::load;
use ciphertax_bench::{Document, MongodbGround, Repeats, Result, Slice, Table};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_model::{Arm, AuthenticationMethod, Transport, Workload, YcsbMix, YcsbTable};
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::mongodb::MongodbTable;
use ciphertax_workload::ycsb::{KeySpace, Ycsb};
use clap::Parser;

use crate::go_ycsb::{Call, GoYcsb, Part};

/// Length of one measurement in seconds.
const SECONDS: u32 = 3;
/// The most client CPU for what go-ycsb does by 1.
const BAR: f64 = 0.35;

/// Client CPU per operation of YCSB on MongoDB, ciphertax beside go-ycsb: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
    /// Records of 10 fields of 100 bytes
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    records: u32,
}

/// What both do side by side.
#[derive(Clone, Copy)]
struct Cell<'a> {
    arm: &'a Arm,
    table: &'a YcsbTable,
    connections: u32,
    mix: &'a YcsbMix,
}

/// What one contestant measured.
#[derive(Default)]
struct Contestant {
    /// Client CPU per operation in microseconds.
    client_us: Repeats,
    /// Operations per second.
    throughput: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let Arguments { repeats, records } = Arguments::parse();
        let table = YcsbTable {
            record_count: records,
            ..YcsbTable::default()
        };
        let whole = table.load_threads * table.batch_size;
        if !records.is_multiple_of(whole) {
            return Err(
                format!("--records is a multiple of {whole}: go-ycsb inserts whole batches alone").into(),
            );
        }
        let go = GoYcsb::build()?;
        let server = PrivateServer::builder(&MONGODB)
            .access_control(false)
            .cache_mb(cache_mb(&table));
        let mut ground = MongodbGround::prepare(server)?;
        let mut document = Document::new("Client CPU per operation of YCSB, beside go-ycsb", "ycsb");
        document.fact("server", ground.identity()?);
        document.fact("go-ycsb", go.versions()?);
        let YcsbTable {
            field_count,
            field_length,
            load_threads,
            ..
        } = table;
        let asked = format!(
            "{records} records of {field_count} fields of {field_length} bytes, picked by a Zipfian distribution; {repeats} \
             repeats of {SECONDS} s in turns"
        );
        document.fact("asked", asked);

        let plain = arm(Transport::Plain);
        let loads = load_phase::compare(&mut ground, &go, (&plain, &table), repeats)?;
        let mut tls = arm(Transport::Tls13);
        tls.tls.cipher = Some(cipher_of_go(&mut ground, &go, &tls, &table)?);
        document.fact("sessions", word(&tls));
        for (workload, bar) in [(Workload::YcsbC, Some(BAR)), (Workload::YcsbA, None)] {
            let mix = workload.ycsb_mix().ok_or("a workload of YCSB")?;
            let rows = compare(&mut ground, &go, ([&plain, &tls], &table), (&mix, bar), repeats)?;
            document.table(&format!("Workload `{}`", workload.name()), &rows);
        }
        document.table(
            &format!("Load phase, {load_threads} connections in plaintext"),
            &loads,
        );
        document.paragraph(
            "go-ycsb's CPU is that of its whole process (user and system, from `wait4`), starting and connecting included; \
             ciphertax's is that of its load threads, both divided by their operations. Ratios are taken within a repeat. *Without \
             go-ycsb's starting* is the ratio of the medians after a run of go-ycsb with 200 operations a connection was taken \
             off its CPU and its operations.",
        );
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
        print!("{document}");
        Ok(())
    })
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
    let word = go.run(ground, &call)?.word;
    let version = arm.transport.tls_version().map_or("", |version| version.name());
    let cipher = word.strip_prefix(version).map(str::trim);
    Ok(cipher.ok_or_else(|| format!("go-ycsb has {word}"))?.to_owned())
}

fn word(tls: &Arm) -> String {
    let cipher = tls.tls.cipher.as_deref().unwrap_or_default();
    format!("both in plaintext; both {} {cipher}", tls.transport)
}

fn compare(
    ground: &mut MongodbGround,
    go: &GoYcsb,
    (arms, table): ([&Arm; 2], &YcsbTable),
    (mix, bar): (&YcsbMix, Option<f64>),
    repeats: u32,
) -> Result<Table> {
    let mut rows = Table::new(&[
        "connections, transport",
        "client CPU, ciphertax / go-ycsb",
        "bar",
        "met",
        "without go-ycsb's starting",
        "ciphertax µs/op",
        "go-ycsb µs/op",
        "ciphertax op/s",
        "go-ycsb op/s",
        "poll delay µs",
    ]);
    for connections in [8, 64] {
        for arm in arms {
            let cell = Cell {
                arm,
                table,
                connections,
                mix,
            };
            let operations = cell.operations_of_go(go, ground)?;
            let (ours, theirs) = in_turns(ground, go, (&cell, operations), repeats)?;
            let ratio = ours.client_us.over(&theirs.client_us);
            let without_starting_us = cell.without_starting_us(go, ground, (&theirs, operations))?;
            let (bar, met) = match bar {
                None => ("–".to_owned(), "–"),
                Some(bar) if ratio.median() <= bar => (format!("≤ {bar}"), "yes"),
                Some(bar) => (format!("≤ {bar}"), "**no**"),
            };
            rows.row([
                format!("{connections}, {}", arm.transport),
                format!("{ratio:.2}"),
                bar,
                met.to_owned(),
                format!("{:.2}", ours.client_us.median() / without_starting_us),
                format!("{:.1}", ours.client_us),
                format!("{:.1}", theirs.client_us),
                format!("{:.0}", ours.throughput),
                format!("{:.0}", theirs.throughput),
                load(connections).poll_delay_us.to_string(),
            ]);
        }
    }
    Ok(rows)
}

/// Measures in turns ciphertax for [`SECONDS`] and so many operations of go-ycsb.
fn in_turns(
    ground: &mut MongodbGround,
    go: &GoYcsb,
    (cell, operations): (&Cell<'_>, u64),
    repeats: u32,
) -> Result<(Contestant, Contestant)> {
    let mut engine = engine(ground, cell)?;
    let (mut ours, mut theirs) = (Contestant::default(), Contestant::default());
    for (repeat, order) in BalancedOrder::new(2, 1).take(repeats as usize).enumerate() {
        for index in order {
            if index == 0 {
                let duration = Duration::from_secs(SECONDS.into());
                let slice = Slice::measure(ground.cpu(), &mut engine, 0, duration)?;
                ours.push(slice.client_us, slice.throughput);
                continue;
            }
            let run = cell.run_by_go(go, ground, operations)?;
            let operations = run.operations as f64;
            theirs.push(run.cpu.as_secs_f64() * 1e6 / operations, operations / run.seconds);
        }
        eprintln!(
            "{} connections, {}: repeat {} of {repeats}: client CPU ciphertax/go-ycsb {:.2}",
            cell.connections,
            cell.arm.transport,
            repeat + 1,
            ours.client_us.over(&theirs.client_us)
        );
    }
    Ok((ours, theirs))
}

/// Connects, and makes sure that the server sees the connections that the cell says.
fn engine(ground: &mut MongodbGround, cell: &Cell<'_>) -> Result<Engine> {
    let store = MongodbTable {
        access: ground.access(cell.arm, cell.connections as usize)?,
        table: *cell.table,
        writes: cell.mix.writes(),
        fields: None,
    };
    let keys = Arc::new(KeySpace::new(cell.table));
    let workload = Ycsb::new(store, cell.table, *cell.mix, keys);
    let mut engine = Engine::start(vec![workload], &load(cell.connections), 1)?;
    let before = ground.counters()?;
    Slice::measure(ground.cpu(), &mut engine, 0, Duration::from_millis(100))?;
    ground.check_since(&before, cell.arm, cell.connections.into())?;
    Ok(engine)
}

impl Cell<'_> {
    /// As many operations of go-ycsb as take about [`SECONDS`].
    fn operations_of_go(&self, go: &GoYcsb, ground: &mut MongodbGround) -> Result<u64> {
        let some = self.run_by_go(go, ground, 1000 * u64::from(self.connections))?;
        Ok((some.operations as f64 / some.seconds * f64::from(SECONDS)) as u64)
    }

    /// Client CPU per operation of go-ycsb in microseconds, without its starting: what so many operations take more than a
    /// few, for which it opens as many connections.
    fn without_starting_us(
        &self,
        go: &GoYcsb,
        ground: &mut MongodbGround,
        (theirs, operations): (&Contestant, u64),
    ) -> Result<f64> {
        let a_few = 200 * u64::from(self.connections);
        let runs = (0..3).map(|_| {
            let run = self.run_by_go(go, ground, a_few)?;
            Ok(run.cpu.as_secs_f64() * 1e6)
        });
        let a_few_us = runs.collect::<Result<Repeats>>()?.median();
        let (operations, a_few) = (operations as f64, a_few as f64);
        Ok((theirs.client_us.median() * operations - a_few_us) / (operations - a_few))
    }

    fn run_by_go(&self, go: &GoYcsb, ground: &mut MongodbGround, operations: u64) -> Result<go_ycsb::Run> {
        let call = Call {
            arm: self.arm,
            table: self.table,
            threads: self.connections,
            part: Part::Run(self.mix, operations),
        };
        go.run(ground, &call)
    }
}

impl Contestant {
    fn push(&mut self, client_us: f64, throughput: f64) {
        self.client_us.push(client_us);
        self.throughput.push(throughput);
    }
}
