//! The load phase of YCSB: the same records, the same connections, the same batches.

use std::time::{Duration, Instant};

use ciphertax_bench::{Measured, MongodbGround, Repeats, Result, Table, at_least, in_turns, quiet_ns};
use ciphertax_model::{Arm, YcsbTable};
use ciphertax_observe::ThreadUsage;
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::mongodb::{DATABASE, dataset};

use crate::go_ycsb::{self, Call, GoYcsb, Part};

/// As fast as go-ycsb at least.
const BAR: f64 = 1.0;
/// Records of an insert: what go-ycsb's MongoDB can do, and what ciphertax does if nothing else is asked for.
const BATCHES: [(u32, &str); 2] = [(1, "1"), (100, "100 (added to go-ycsb)")];

/// Measures both in turns. Afterwards the databases of both hold all records.
pub(crate) fn compare(
    ground: &mut MongodbGround,
    go: &GoYcsb,
    (arm, table): (&Arm, &YcsbTable),
    repeats: u32,
) -> Result<Table> {
    let mut rows = Table::new(
        "records of an insert | records/s, ciphertax / go-ycsb | bar | met | client CPU, ciphertax / go-ycsb | ciphertax records/s \
         | go-ycsb records/s | ciphertax µs/record | go-ycsb µs/record | ciphertax records/s, checked",
    );
    for (batch_size, label) in BATCHES {
        let table = YcsbTable { batch_size, ..*table };
        let mut checked = Repeats::default();
        let what = format!("load phase, {batch_size} records an insert");
        let figures = in_turns(what, &["ciphertax", "go-ycsb"], repeats, |index| {
            // Each begins with nothing of its own.
            let database = [&*DATABASE, go_ycsb::DATABASE][index];
            ground.command(&rawdoc! { "dropDatabase": 1_i32, "$db": database })?;
            // Until the server is quiet.
            quiet_ns(&ground.cpu)?;
            match index {
                0 => load(ground, (arm, &table), &mut checked),
                _ => load_by_go(ground, go, (arm, &table)),
            }
        })?;
        let of_ours = bytes(ground, &DATABASE, &table)?;
        let of_theirs = bytes(ground, go_ycsb::DATABASE, &table)?;
        // A key may have a digit more or less.
        if of_ours.abs_diff(of_theirs) > u64::from(table.record_count) {
            return Err(format!("ciphertax wrote {of_ours} bytes, go-ycsb {of_theirs}").into());
        }
        let [ours, theirs] = [0, 1].map(|index: usize| figures[index].throughput());
        let [ours_us, theirs_us] = [0, 1].map(|index: usize| figures[index].client_us());
        let (ratio, cpu) = (ours.over(&theirs), ours_us.over(&theirs_us));
        let bar = at_least(&ratio, BAR);
        rows.row(&format!(
            "{label} | {ratio:.2} | {bar} | {cpu:.2} | {ours:.0} | {theirs:.0} | {ours_us:.1} | {theirs_us:.1} | {checked:.0}"
        ));
    }
    Ok(rows)
}

/// Loads by ciphertax, all connections on this thread; an operation is a record. `checked` are records per second, with
/// what makes sure that they are there.
fn load(
    ground: &mut MongodbGround,
    (arm, table): (&Arm, &YcsbTable),
    checked: &mut Repeats,
) -> Result<Measured> {
    let options = ground.access(arm, 1)?.options;
    let (began, usage) = (Instant::now(), ThreadUsage::now());
    let mut written: Option<(Duration, ThreadUsage)> = None;
    let mut progress = |records| {
        if records == u64::from(table.record_count) {
            written.get_or_insert_with(|| (began.elapsed(), ThreadUsage::now()));
        }
    };
    let mut contents = Contents::NONE;
    contents.usertable = Some(*table);
    ground.run(contents.patience(), async |reactor| {
        dataset::prepare(reactor, &options, table, None, &mut progress).await
    })??;
    let records = f64::from(table.record_count);
    checked.0.push(records / began.elapsed().as_secs_f64());
    let (elapsed, now) = written.ok_or("nothing was said to be written")?;
    Ok(Measured {
        throughput: records / elapsed.as_secs_f64(),
        ..Measured::client(now.since(&usage).cpu.total_ns as f64 / records / 1e3)
    })
}

fn load_by_go(ground: &mut MongodbGround, go: &GoYcsb, (arm, table): (&Arm, &YcsbTable)) -> Result<Measured> {
    let call = Call {
        arm,
        table,
        threads: table.load_threads,
        part: Part::Load,
    };
    let (run, _) = go.run(ground, &call)?;
    let (records, inserts) = (f64::from(table.record_count), run.transactions as f64);
    Ok(Measured {
        throughput: run.throughput * records / inserts,
        ..Measured::client(run.cpu.total_ns as f64 / 1e3 / records)
    })
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
