//! Two servers that are alike but for when they flush: what is paid later is found, and is not a cost.

use std::env;

use ciphertax_model::study::BASELINE_AGAIN;
use ciphertax_model::{Metric, Study};
use ciphertax_records::{EstimateRow, Tool};

use super::*;
use crate::progress::Headline;
use crate::server::OPTIONS;

/// Seconds that the run may measure.
const TIME_VARIABLE: &str = "CIPHERTAX_DELAYED_FLUSH_S";

/// Tables that are written all over, and seldom, so that a page is hardly changed twice before it is flushed; and a rate, so
/// that both servers are asked as much.
const STUDY: &str = r#"
name = "delayed-flush"
question = "Is a flush that comes later billed to whoever caused it?"
server = "mariadb"
time_s = 120
dataset = { tables = 8, table_size = 100000, distribution = "uniform" }
[[arm]]
name = "at once"
transport = "plain"
[[arm]]
name = "later"
transport = "plain"
at_rest = { file_system = "bind" }
[[cell]]
name = "write"
workload = "oltp_write_only"
load = { connections = 4, rate = 20 }
"#;

/// Every page is compressed when it is flushed, so that flushing is most of what a write costs; and there is no limit to how
/// many are flushed in a second.
const ALL: [&str; 5] = [
    "--innodb-compression-default=ON",
    "--innodb-compression-level=9",
    "--innodb-io-capacity=20000",
    "--innodb-io-capacity-max=40000",
    "--innodb-flush-neighbors=0",
];
/// No page may stay dirty.
const AT_ONCE: [&str; 1] = ["--innodb-max-dirty-pages-pct=0"];
/// Pages stay dirty until nothing is committed any more.
const LATER: [&str; 2] = [
    "--innodb-max-dirty-pages-pct=95",
    "--innodb-max-dirty-pages-pct-lwm=90",
];

#[test]
#[ignore = "takes two minutes; `make slow` runs it"]
fn an_arm_that_flushes_later_costs_less_in_its_slices_and_the_same_over_whole_rounds() {
    let settings: [(&str, &[&str]); 3] = [
        ("at once", &AT_ONCE),
        (BASELINE_AGAIN, &AT_ONCE),
        ("later", &LATER),
    ];
    let options = settings.into_iter().flat_map(|(arm, own)| {
        let all = ALL.iter().chain(own);
        all.map(move |option| (arm, *option))
    });
    OPTIONS.set(options.collect());
    let run = played();
    OPTIONS.take();

    let row = |metric| run.results.estimate("write", "later", metric).unwrap();
    let (in_slices, whole, written) = (
        row(Metric::ServerCpuPerOp),
        row(Metric::ServerCpuRoundPerOp),
        row(Metric::StorageWrittenPerOp),
    );
    println!("{}", document(&run));
    assert!(in_slices.high < -0.2, "{in_slices:?}");
    assert!(whole.change.abs() < 0.15, "{whole:?}");
    // What is left of the difference is real: a page that was changed twice is written once.
    let per_byte = (1.0 + whole.change) / (1.0 + written.change);
    assert!((0.9..1.1).contains(&per_byte), "{whole:?}, {written:?}");
}

/// Plays it without asking whether it may be: an arm that lies on the disk as all others do is none that has to be proved.
fn played() -> Run {
    let mut study = Study::from_toml(STUDY).unwrap();
    if let Ok(time) = env::var(TIME_VARIABLE) {
        study.time_s = time.parse().unwrap();
    }
    let plan = Plan {
        study: study.validated().unwrap(),
        target: None,
        seed: 1,
        tool: Tool {
            name: "ciphertax".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: "unknown".into(),
        },
        command: "the test of delayed flushing".into(),
    };
    let folder = tempfile::tempdir().unwrap();
    let destination = Destination::New(folder.path().join("run"));
    let (folder, _) = destination.open().unwrap();
    let stop = Arc::default();
    let player = Player::set_up(&plan, Vec::new(), &folder, None, &mut Heard, &stop).unwrap();
    let played = player.play(folder, &mut Heard, &stop).unwrap();
    assert!(
        matches!(played.run.head.status, RunStatus::Complete),
        "{:?}",
        played.run.head.status
    );
    played.run
}

fn document(run: &Run) -> String {
    let cell = &run.results.cells[0];
    let quiet = cell.rounds.unwrap();
    let line = |row: &EstimateRow| {
        format!(
            "| {} | {:.1} | {:.1} | {:+.1} % [{:+.1}, {:+.1}] |\n",
            row.metric,
            row.baseline,
            row.variant,
            100.0 * row.change,
            100.0 * row.low,
            100.0 * row.high
        )
    };
    let host = ciphertax_observe::host();
    let again = run.results.noise_floor.iter();
    let again: String = again.filter(|row| of_servers(row)).map(line).collect();
    let later: String = run
        .results
        .estimates
        .iter()
        .filter(|row| of_servers(row))
        .map(line)
        .collect();
    format!(
        "\n# Flushing that comes later\n\n| | |\n|---|---|\n| date | {} |\n| machine | {}, kernel {}, {} × {} |\n\
         | server | {} {}, three of them with `{}`; *at once* has `{}`, *later* `{}` |\n\
         | asked | {} rounds of oltp_write_only, 20 transactions a second on 8 tables of 100,000 rows, slices of {} \
         s, {:.1} s of quiet before each on average; {} of {} slices ran while another server wrote or worked |\n\n\
         Of an operation, in µs or bytes:\n\n| metric | at once | later | change |\n|---|--:|--:|--:|\n{later}\n\
         The same of *at once* against itself:\n\n| metric | at once | again | change |\n|---|--:|--:|--:|\n{again}",
        jiff::Zoned::now().strftime("%Y-%m-%d"),
        host.os,
        host.kernel,
        host.cpus,
        host.cpu,
        run.head.servers[0].product,
        run.head.servers[0].version,
        ALL.join(" "),
        AT_ONCE.join(" "),
        LATER.join(" "),
        cell.blocks,
        run.head.study.slice_seconds(),
        quiet.quiet_s,
        quiet.disturbed,
        quiet.slices,
    )
}

fn of_servers(row: &EstimateRow) -> bool {
    row.metric == Metric::ServerCpuPerOp || Metric::COMPARED_OF_ROUNDS.contains(&row.metric)
}

struct Heard;

impl Progress for Heard {
    fn stage(&mut self, _stage: &Stage) {}
    fn block(&mut self, headline: &Headline) {
        eprintln!("{} blocks", headline.blocks);
    }
    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        eprintln!("{cell}, {arm}: void: {reason}");
    }
}
