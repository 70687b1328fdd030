//! The load phase: the same records, the same connections, the same batches.

use std::time::{Duration, Instant};

use ciphertax_bench::{MongodbGround, Repeats, Result, Table};
use ciphertax_model::{Arm, YcsbTable};
use ciphertax_observe::ThreadUsage;
use ciphertax_stats::BalancedOrder;
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::mongodb::{DATABASE, dataset};

use crate::go_ycsb::{self, Call, GoYcsb, Part};

/// As fast as go-ycsb at least.
const BAR: f64 = 1.0;

/// Records of an insert: what go-ycsb's MongoDB can do, and what ciphertax does if nothing else is asked for.
const BATCHES: [(u32, &str); 2] = [(1, "1"), (100, "100 (added to go-ycsb)")];

/// What one contestant measured.
#[derive(Default)]
struct Loads {
    /// Records per second.
    rate: Repeats,
    /// Client CPU per record in microseconds.
    client_us: Repeats,
    /// Records per second, with what makes sure that they are there.
    checked: Repeats,
}

/// Measures both in turns. Afterwards the databases of both hold all records.
pub(crate) fn compare(
    ground: &mut MongodbGround,
    go: &GoYcsb,
    (arm, table): (&Arm, &YcsbTable),
    repeats: u32,
) -> Result<Table> {
    let mut rows = Table::new(&[
        "records of an insert",
        "records/s, ciphertax / go-ycsb",
        "bar",
        "met",
        "client CPU, ciphertax / go-ycsb",
        "ciphertax records/s",
        "go-ycsb records/s",
        "ciphertax µs/record",
        "go-ycsb µs/record",
        "ciphertax records/s, checked",
    ]);
    for (batch_size, label) in BATCHES {
        let table = YcsbTable { batch_size, ..*table };
        let (ours, theirs) = in_turns(ground, go, (arm, &table), repeats)?;
        let ratio = ours.rate.over(&theirs.rate);
        rows.row([
            label.to_owned(),
            format!("{ratio:.2}"),
            format!("≥ {BAR:.1}"),
            if ratio.median() >= BAR { "yes" } else { "**no**" }.to_owned(),
            format!("{:.2}", ours.client_us.over(&theirs.client_us)),
            format!("{:.0}", ours.rate),
            format!("{:.0}", theirs.rate),
            format!("{:.1}", ours.client_us),
            format!("{:.1}", theirs.client_us),
            format!("{:.0}", ours.checked),
        ]);
    }
    Ok(rows)
}

fn in_turns(
    ground: &mut MongodbGround,
    go: &GoYcsb,
    (arm, table): (&Arm, &YcsbTable),
    repeats: u32,
) -> Result<(Loads, Loads)> {
    let (mut ours, mut theirs) = (Loads::default(), Loads::default());
    for (repeat, order) in BalancedOrder::new(2, 1).take(repeats as usize).enumerate() {
        // Both begin with nothing.
        for database in [DATABASE, go_ycsb::DATABASE] {
            ground.command(&rawdoc! { "dropDatabase": 1_i32, "$db": database })?;
        }
        for index in order {
            // Until the server is quiet.
            ground.cpu().read_ns()?;
            match index {
                0 => load(ground, (arm, table), &mut ours)?,
                _ => load_by_go(ground, go, (arm, table), &mut theirs)?,
            }
        }
        let of_ours = bytes(ground, DATABASE, table)?;
        let of_theirs = bytes(ground, go_ycsb::DATABASE, table)?;
        // A key may have a digit more or less.
        if of_ours.abs_diff(of_theirs) > u64::from(table.record_count) {
            return Err(format!("ciphertax wrote {of_ours} bytes, go-ycsb {of_theirs}").into());
        }
        eprintln!(
            "load phase, {} records an insert: repeat {} of {repeats}: records/s ciphertax/go-ycsb {:.2}",
            table.batch_size,
            repeat + 1,
            ours.rate.over(&theirs.rate)
        );
    }
    Ok((ours, theirs))
}

/// Loads by ciphertax, all connections on this thread.
fn load(ground: &mut MongodbGround, (arm, table): (&Arm, &YcsbTable), loads: &mut Loads) -> Result<()> {
    let options = ground.access(arm, 1)?.options;
    let (began, usage) = (Instant::now(), ThreadUsage::now());
    let mut written: Option<(Duration, ThreadUsage)> = None;
    let progress = |records| {
        if records == u64::from(table.record_count) {
            written.get_or_insert_with(|| (began.elapsed(), ThreadUsage::now()));
        }
    };
    ground.run(Contents::from(*table).patience(), async |reactor| {
        dataset::prepare(reactor, &options, table, None, progress).await
    })??;
    let checked = began.elapsed();
    let (elapsed, now) = written.ok_or("nothing was said to be written")?;
    let records = f64::from(table.record_count);
    loads.rate.push(records / elapsed.as_secs_f64());
    loads.checked.push(records / checked.as_secs_f64());
    loads
        .client_us
        .push(now.since(&usage).cpu.total_ns as f64 / records / 1e3);
    Ok(())
}

fn load_by_go(
    ground: &mut MongodbGround,
    go: &GoYcsb,
    (arm, table): (&Arm, &YcsbTable),
    loads: &mut Loads,
) -> Result<()> {
    let call = Call {
        arm,
        table,
        threads: table.load_threads,
        part: Part::Load,
    };
    let run = go.run(ground, &call)?;
    let records = f64::from(table.record_count);
    loads.rate.push(records / run.seconds);
    loads.client_us.push(run.cpu.as_secs_f64() * 1e6 / records);
    Ok(())
}

/// Bytes of all documents, by the server's count, which must be as many as there are records.
fn bytes(ground: &mut MongodbGround, database: &str, table: &YcsbTable) -> Result<i64> {
    let counted = ground.command(&rawdoc! { "collStats": "usertable", "$db": database })?;
    let number = |name: &str| -> Result<i64> {
        let number = counted.get(name)?;
        let number = number.and_then(|number| number.as_i64().or(number.as_i32().map(i64::from)));
        Ok(number.ok_or_else(|| format!("{database} does not say its {name}"))?)
    };
    let (records, expected) = (number("count")?, i64::from(table.record_count));
    if records != expected {
        return Err(format!("{database} has {records} records; expected {expected}").into());
    }
    number("size")
}
