//! Two servers that are alike but for when they flush: what is paid later is found, and is not a cost.

use ciphertax_model::Metric;
use ciphertax_model::study::BASELINE_AGAIN;

use super::*;

const TIME_VARIABLE: &str = "CIPHERTAX_DELAYED_FLUSH_S";

/// A page that is changed twice before it is flushed is written once, so that an arm which flushes later really saves work. Here
/// it does not: a statement changes a row of every page of a table, each page once, and undo pages are few. Rows have 200 bytes,
/// some seventy to a page, which is compressed when it is flushed, so that flushing is most of what a write costs.
const STUDY: &str = r#"
name = "delayed-flush"
question = "Is a flush that comes later billed to whoever caused it?"
server = "mariadb"
time_s = 180
dataset = { tables = 1, table_size = 40000 }
arm = [
    { name = "at once", transport = "plain" },
    { name = "later", transport = "plain", at_rest = { file_system = "bind" } },
]
[[cell]]
name = "write"
workload = "command"
command = { run = ["mariadb", "--defaults-file={my_cnf}", "--execute", """
CREATE TABLE IF NOT EXISTS pages (PRIMARY KEY (id)) PAGE_COMPRESSED = 1 PAGE_COMPRESSION_LEVEL = 9
  SELECT id, c, pad FROM sbtest1;
UPDATE pages SET pad = REVERSE(pad) WHERE id % 50 = 1; DO SLEEP(2);
"""] }
"#;

/// Takes the slice and some seconds more, and is done before the arm's next slice.
const LATER: [&str; 2] = ["--innodb-io-capacity=100", "--innodb-io-capacity-max=200"];

#[test]
#[ignore = "takes four minutes; `make long` runs it"]
fn an_arm_that_flushes_later_costs_less_in_its_slices_and_the_same_over_whole_rounds() {
    let all = ["at once", BASELINE_AGAIN, "later"];
    let all = all
        .into_iter()
        .flat_map(|arm| AT_ONCE.map(|option| (arm, option)));
    let later = LATER.map(|option| ("later", option));
    let run = played(STUDY, TIME_VARIABLE, all.chain(later).collect());
    println!("{}", document(&run));

    // The same work was done.
    let [at_once, later] = ["at once", "later"].map(|arm| pages(&run, arm));
    let is_near = (later / at_once - 1.0).abs() < 0.02;
    assert!(is_near, "{at_once} and {later} pages");
    let row = |metric| run.results.estimate("write", "later", metric).unwrap();
    let in_slices = row(Metric::ServerCpuPerOp);
    assert!(in_slices.high < -0.25, "{in_slices:?}");
    let whole = row(Metric::ServerCpuRoundPerOp);
    assert!(whole.change.abs() < 0.05, "{whole:?}");
}

/// What the server of an arm wrote for an operation, by its own counter.
fn pages(run: &Run, arm: &str) -> f64 {
    let row = run.results.storage("write", arm).unwrap();
    row.pages_written.unwrap()
}

fn document(run: &Run) -> String {
    let cell = &run.results.cells[0];
    let quiet = cell.rounds.unwrap();
    let table = |rows: &[EstimateRow]| {
        let is_of_server = |row: &&EstimateRow| {
            row.metric == Metric::ServerCpuPerOp || Metric::COMPARED_OF_ROUNDS.contains(&row.metric)
        };
        let line = |row: &EstimateRow| {
            let [one, other] = [row.baseline, row.variant];
            format!("| {} | {one:.0} | {other:.0} | {} |\n", row.metric, change(row))
        };
        rows.iter().filter(is_of_server).map(line).collect::<String>()
    };
    format!(
        "\n# Flushing that comes later\n\n| | |\n|---|---|\n\
         | command | `scripts/delayed-flush.sh` |\n{}\
         | server | {} {}, three of them with `{}`; *later* with `{}` |\n\
         | asked | {} rounds; an operation is one statement that changes a row of every page of a table, and two seconds after \
         it; {:.1} s of quiet before each slice on average; {} of {} slices ran while another server wrote or worked |\n\n\
         An operation makes the server write {:.0} pages (*at once*) or {:.0} (*later*). In its slices the arm that flushes \
         later seems to save most of what a write costs; over whole rounds it costs the same. Of an operation, in µs or bytes:\n\n\
         | metric | at once | later | change |\n|---|--:|--:|--:|\n{}\n\
         The same of *at once* against a server with the same settings:\n\n\
         | metric | at once | again | change |\n|---|--:|--:|--:|\n{}",
        machine(),
        run.head.servers[0].product,
        run.head.servers[0].version,
        AT_ONCE.join(" "),
        LATER.join(" "),
        cell.blocks,
        quiet.quiet_s,
        quiet.disturbed,
        quiet.slices,
        pages(run, "at once"),
        pages(run, "later"),
        table(&run.results.estimates),
        table(&run.results.noise_floor),
    )
}
