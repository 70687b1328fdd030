//! The scenarios beside sysbench itself, on the same server: the same statements, by the server's own counters, and the
//! same distributions. `scripts/setup.sh test` installs sysbench.

use ciphertax_wire::Session as _;
use std::rc::Rc;

use ciphertax_engine::Workload;
use ciphertax_reactor::Reactor;
use ciphertax_testkit::peers::{Sysbench, SysbenchCall};
use ciphertax_wire::mysql::{Session, TextRow};
use ciphertax_workload::sql::{Picker, Tables};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::common::*;

/// So small that the ids differ in everything that counts between two runs, so large that a range rarely meets the end.
const DATASET: Dataset = Dataset {
    tables: 2,
    table_size: 20_000,
    distribution: Distribution::Uniform,
};
/// The whole of it is there: oltp_delete comes last.
const TABLES: Tables = Tables {
    dataset: DATASET,
    thinned: false,
};

/// Counters that depend on the statements alone, not on the rows that they meet.
const COUNTERS: [&str; 22] = [
    "Com_begin",
    "Com_commit",
    "Com_delete",
    "Com_execute_sql",
    "Com_insert",
    "Com_prepare_sql",
    "Com_replace",
    "Com_rollback",
    "Com_select",
    "Com_set_option",
    "Com_stmt_execute",
    "Com_stmt_fetch",
    "Com_stmt_prepare",
    "Com_stmt_reset",
    "Com_stmt_send_long_data",
    "Com_update",
    "Handler_commit",
    "Handler_rollback",
    "Handler_update",
    "Questions",
    "Sort_range",
    "Sort_scan",
];

/// Sessions of the server when nobody but the test asks, and with an engine of one connection.
const ALONE: u64 = 1;
const WITH_ENGINE: u64 = 2;

#[test]
fn every_scenario_sends_the_statements_that_sysbench_sends() {
    let mut bed = Bed::new();
    compare_scenarios(&mut bed, TABLES);
}

/// sysbench counts a row as a transaction here, so that many rows must give that many statements.
#[test]
fn bulk_inserts_have_as_many_rows_a_statement_as_those_of_sysbench() {
    let mut bed = Bed::new();
    let mut engine = bed.engine(BulkInsert::new);
    engine.prepare(0).unwrap().unwrap();
    let statements = slice(&mut engine, Duration::from_secs(1)).operation_count();
    let rows = bed.query("SELECT COUNT(*) FROM ciphertax.sbbulk1");
    let rows: u64 = rows[0].text(0).parse().unwrap();
    drop(engine);

    for sql in [
        "DROP TABLE ciphertax.sbtest1",
        "CREATE TABLE ciphertax.sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))",
    ] {
        bed.query(sql);
    }
    let before = bed.counters(ALONE);
    bed.sysbench
        .run(&call("bulk_insert"), Limit::Transactions(rows))
        .unwrap();
    let theirs = difference(&bed.counters(ALONE), &before);
    assert_eq!(theirs["Com_insert"], statements, "{rows} rows");
    let others = theirs["Com_commit"] + theirs["Com_begin"] + theirs["Com_stmt_execute"];
    assert_eq!(others, 0);
}

#[test]
fn rows_are_picked_as_sysbench_picks_them() {
    const PICKS: usize = 100_000;
    const LAST: u32 = 1000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pick.lua");
    let script =
        format!("function event() for i = 1, {PICKS} do print(sysbench.rand.default(1, {LAST})) end end");
    fs::write(&path, script).unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    // Zipf's is of sysbench 1.1 only.
    for distribution in [Distribution::Uniform, Distribution::Special, Distribution::Pareto] {
        let mut command = Command::new("sysbench");
        command.arg(format!("--rand-type={}", distribution.name()));
        command
            .args(["--rand-seed=1", "--events=1"])
            .arg(&path)
            .arg("run");
        let output = run_program(&mut command, "").unwrap().output;
        let theirs: Vec<u32> = output.lines().filter_map(|line| line.parse().ok()).collect();
        assert_eq!(theirs.len(), PICKS);
        let picker = Picker::new(distribution, 1..=LAST);
        let ours: Vec<u32> = (0..PICKS).map(|_| picker.pick(&mut random)).collect();
        let distance = greatest_distance(&ours, &theirs);
        // Kolmogorov and Smirnov: two samples of one distribution are farther apart once in a million times.
        let critical = (-0.5 * (0.5e-6_f64).ln()).sqrt() * (2.0 / PICKS as f64).sqrt();
        assert!(distance < critical, "{distribution:?}: {distance} > {critical}");
    }
}

/// A server, both who ask it, and a session that asks what they did.
struct Bed {
    reactor: Rc<Reactor>,
    control: Session,
    sysbench: Sysbench,
    /// Times that the counters were asked for.
    looks: u64,
    server: Lease,
}

impl Bed {
    fn new() -> Self {
        let server = server_with(&DATASET);
        let reactor = Reactor::new().unwrap();
        let options = options(&server, None, None);
        let (control, _) = finish(&reactor, Session::connect(&reactor, &options)).unwrap();
        Self {
            reactor,
            control,
            sysbench: Sysbench::set_up(&server, &SCHEMA).unwrap(),
            looks: 0,
            server,
        }
    }

    fn engine<W: Workload>(&self, workload: impl Fn(MysqlAccess) -> W) -> Engine {
        let load = Load {
            workers: Some(1),
            ..Load::closed(1)
        };
        Engine::start(vec![workload(access(&self.server, None))], &load, 1).unwrap()
    }

    fn query(&mut self, sql: &str) -> Vec<TextRow> {
        finish(&self.reactor, self.control.query(sql)).unwrap()
    }

    /// The counters once so many sessions are left, this one's among them: the last messages of a session have no answer,
    /// and are counted when the server comes to them. What asks for the counters is not among the questions.
    fn counters(&mut self, sessions: u64) -> BTreeMap<String, u64> {
        let deadline = Instant::now() + PATIENCE;
        let mut counters = self.look();
        while counters["Threads_connected"] != sessions {
            let holds = Instant::now() < deadline;
            assert!(holds, "{} sessions", counters["Threads_connected"]);
            counters = self.look();
        }
        *counters.get_mut("Questions").unwrap() -= self.looks;
        counters
    }

    fn look(&mut self) -> BTreeMap<String, u64> {
        self.looks += 1;
        let rows = self.query("SHOW GLOBAL STATUS");
        rows.iter()
            .filter_map(|row| Some((row.text(0), row.text(1).parse().ok()?)))
            .collect()
    }
}

impl Compare<MysqlAccess> for Bed {
    /// One connection on each side.
    fn compare<W: Workload>(&mut self, name: &str, statements: usize, workload: impl Fn(MysqlAccess) -> W) {
        let queries = statements as u64;
        const FEW: u64 = 20;
        const MORE: u64 = 100;
        // What both runs have in common is connecting, preparing and closing.
        let begin = self.counters(ALONE);
        let few = self.sysbench.run(&call(name), Limit::Transactions(FEW)).unwrap();
        let middle = self.counters(ALONE);
        self.sysbench
            .run(&call(name), Limit::Transactions(FEW + MORE))
            .unwrap();
        let end = self.counters(ALONE);
        let theirs_in_few = difference(&middle, &begin);
        let theirs = difference(&difference(&end, &middle), &theirs_in_few);

        let begin = self.counters(ALONE);
        let mut engine = self.engine(workload);
        engine.prepare(0).unwrap().unwrap();
        let middle = self.counters(WITH_ENGINE);
        let prepared = difference(&middle, &begin);
        let slice = slice(&mut engine, Duration::from_millis(200));
        let ours = difference(&self.counters(WITH_ENGINE), &middle);

        let operations = slice.operation_count();
        assert_eq!(few.statements, Some(queries * FEW), "{name}");
        assert_eq!(slice.queries, queries * operations, "{name}");
        let statement = "Com_stmt_prepare";
        let prepared = prepared[statement];
        assert_eq!(prepared, theirs_in_few[statement], "{name}: {statement}");
        for counter in COUNTERS {
            let per_transaction = |count: u64, of: u64| count as f64 / of as f64;
            let ours = per_transaction(ours[counter], operations);
            let theirs = per_transaction(theirs[counter], MORE);
            let is_same = (ours - theirs).abs() < 1e-9;
            assert!(is_same, "{name}: {counter}: {ours}, sysbench {theirs}");
        }
    }
}

fn finish<T>(reactor: &Reactor, task: impl Future<Output = T>) -> T {
    let outcome = reactor.run_one(task, Instant::now() + PATIENCE).unwrap();
    outcome.expect("it hangs")
}

/// A slice of operations that all succeed.
fn slice(engine: &mut Engine, duration: Duration) -> SliceYield {
    let slice = engine.slice(0, duration).unwrap();
    let holds = slice.is_whole() && slice.operation_count() > 0;
    assert!(holds, "{:?}", slice.first_failure);
    slice
}

fn call(scenario: &str) -> SysbenchCall<'_> {
    SysbenchCall {
        scenario,
        dataset: &DATASET,
        transport: Transport::Plain,
        connections: 1,
    }
}

fn difference(after: &BTreeMap<String, u64>, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let since = |(name, value): (&String, &u64)| {
        let before = before.get(name).copied().unwrap_or_default();
        (name.clone(), value.saturating_sub(before))
    };
    after.iter().map(since).collect()
}

/// The greatest distance between the shares of two samples up to any value.
fn greatest_distance(these: &[u32], those: &[u32]) -> f64 {
    let sorted = |sample: &[u32]| {
        let mut sorted = sample.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let (these, those) = (sorted(these), sorted(those));
    let share = |sample: &[u32], value| {
        sample.partition_point(|of_sample| *of_sample <= value) as f64 / sample.len() as f64
    };
    let values = these.iter().chain(&those);
    values
        .map(|value| (share(&these, *value) - share(&those, *value)).abs())
        .fold(0.0, f64::max)
}
