//! How right *why* is, over many runs: minutes each, run by `scripts/why-bars.sh`, which keeps what they print.

mod bounds;

use ciphertax_base::Interval;
use ciphertax_records::why::Why;

use super::why::spent_slowed;
use crate::common::*;
use crate::slow_write::{STUDY, SlowWrite};

/// One run slows by these, in turn, in nanoseconds.
const SLOWED_BY: [u32; 2] = [2_000, 10_000];
const SLOWED_RUNS: usize = 20;

#[test]
#[ignore = "takes a quarter of an hour"]
fn functions_that_are_slower_by_a_known_time_are_found_with_that_time() {
    println!("# Functions that were made slower\n");
    println!(
        "Each run loads a library into its private MariaDB whose `SSL_write` computes longer, and which counts its own CPU time: the \
         truth, of the slices that were looked into. Found is what the samples of the arm over TLS spend in that function, with its \
         95 % interval, in µs an operation.\n"
    );
    println!("| run | asked | truth | found | within 10 % or the interval | category's row |");
    println!("|--:|--:|--:|--:|---|--:|");
    let mut held = 0;
    for number in 0..SLOWED_RUNS {
        let asked = SLOWED_BY[number % SLOWED_BY.len()];
        let (slow, sandbox) = (SlowWrite::build(), Sandbox::new());
        let slowed = slow.run(&sandbox, asked);
        assert_eq!(slowed.run.head.not_explained, None);
        let (found, truth) = (spent_slowed(&sandbox.run()), slowed.us_where_looked());
        let half_width = found.high - found.mean;
        let holds = (found.mean - truth).abs() <= half_width.max(truth * 0.1);
        held += usize::from(holds);
        println!(
            "| {} | {} | {truth:.2} | {:.2} ± {half_width:.2} | {} | {} |",
            number + 1,
            asked / 1000,
            found.mean,
            if holds { "yes" } else { "**no**" },
            row_of(&slowed.run),
        );
    }
    println!("\n{held} of {SLOWED_RUNS} hold.\n");
    assert_eq!(held, SLOWED_RUNS);
}

/// The difference of the category that the slowed function counts as, beside the plain arm's.
fn row_of(run: &Run) -> String {
    let mut rows = run.results.why.categories.iter();
    let row = rows.find(|row| {
        row.arm == "tls" && row.side == ProfiledSide::Server && row.category == "TLS record: protocol"
    });
    row.and_then(|row| row.difference)
        .map_or("none".into(), |difference| {
            format!(
                "{:.2} [{:.2}, {:.2}]",
                difference.value, difference.low, difference.high
            )
        })
}

/// One run measures these, in turn.
const SERVERS: [&str; 5] = [
    "mariadb",
    "mariadb-10.2",
    "mysql",
    "mariadb-11.4-wolfssl",
    "mongodb",
];
const SAME_RUNS: usize = 40;
/// What a nominal 95 % allows.
const MOST_EXCLUDE: f64 = 0.05;

/// Point selects on a server, plain and over TLS; the baseline is repeated by itself.
fn study_of(server: &str) -> String {
    let workload = match server {
        "mongodb" => "ycsb_c",
        _ => "oltp_point_select",
    };
    // What all of them have.
    let settings = format!("server = \"{server}\"\ncertificate = \"rsa-2048\"\ntime_s = 20");
    STUDY
        .replace("time_s = 45", &settings)
        .replace("\"tls1.3\"", "\"tls\"")
        .replace("oltp_point_select", workload)
}

#[test]
#[ignore = "takes a quarter of an hour"]
fn a_baseline_beside_itself_differs_in_no_category_and_is_bound_by_the_cpu() {
    println!("# Categories of the baseline beside itself\n");
    println!(
        "Every run repeats its baseline, all of whose data is in memory: no category's difference is real. How many of their 95 % \
         intervals exclude zero, and what is said to bound it:\n"
    );
    println!(
        "| server | runs | categories | exclude zero | bounds of the baseline | others than the server's CPU or several |"
    );
    println!("|---|--:|--:|--:|--:|---|");
    let (mut all, mut excluding, mut misnamed) = (0, 0, Vec::new());
    for server in SERVERS {
        let runs = SAME_RUNS / SERVERS.len();
        let (mut differences, mut bounds) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let why = same(server);
            let rows = why.categories.into_iter().filter(|row| row.arm == BASELINE_AGAIN);
            differences.extend(rows.filter_map(|row| row.difference));
            let rows = why.bounds.into_iter();
            bounds.extend(rows.filter(|row| row.arm == "plain" || row.arm == BASELINE_AGAIN));
        }
        let excludes = |interval: &&Interval| interval.low > 0.0 || interval.high < 0.0;
        let of_server = differences.iter().filter(excludes).count();
        let others = bounds
            .iter()
            .filter(|row| !matches!(row.bound, Bound::ServerCpu | Bound::Mixed));
        let others: Vec<String> = others.map(|row| format!("{:?}", row.bound)).collect();
        println!(
            "| {server} | {runs} | {} | {of_server} | {} | {} |",
            differences.len(),
            bounds.len(),
            others.join(", ")
        );
        all += differences.len();
        excluding += of_server;
        misnamed.extend(others);
    }
    let share = excluding as f64 / all as f64;
    println!("\n{excluding} of {all} exclude zero: {:.1} %.\n", 100.0 * share);
    assert!(all >= SAME_RUNS && share <= MOST_EXCLUDE, "{share}");
    assert!(misnamed.is_empty(), "{misnamed:?}");
}

/// What a run says of a server whose baseline is repeated.
fn same(server: &str) -> Why {
    let sandbox = Sandbox::new();
    fs::write(sandbox.work().join("study.toml"), study_of(server)).unwrap();
    fetched(catalogue::find(server).unwrap()).unwrap();
    let mut command = sandbox.command(&["run", "study.toml", "--out", "run"]);
    command.env("XDG_CACHE_HOME", cache());
    Running::start(command).finish_within(2 * PATIENCE).measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.not_explained, None, "{server}");
    run.results.why
}

/// Bytes that ten minutes of looking may need in memory and on disk.
const MOST_MEMORY: u64 = 500 << 20;
const MOST_DISK: u64 = 100 << 20;

#[test]
#[ignore = "takes eleven minutes"]
fn ten_minutes_of_looking_need_little_memory_and_disk() {
    let sandbox = Sandbox::new();
    let arguments = [
        "run",
        "quick",
        "--time=600",
        "--profile=full",
        "--set=precision.cpu=0.0005",
        "--out=run",
    ];
    let mut command = sandbox.command(&arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (ended, peak) = end_and_peak_memory(command.spawn().unwrap());
    assert!(ended.success(), "{ended}");
    let (run, disk) = (record(&sandbox.run()), bytes_in(&sandbox.run()));
    println!("# Ten minutes of looking\n");
    println!(
        "`ciphertax {}`: {} MB of memory at most, {} MB in the run's folder, {} blocks looked into.\n",
        arguments.join(" "),
        peak >> 20,
        disk >> 20,
        run.results
            .why
            .differences
            .iter()
            .map(|row| row.blocks)
            .max()
            .unwrap_or(0),
    );
    assert!((1 << 20..MOST_MEMORY).contains(&peak) && disk < MOST_DISK);
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => bytes_in(&path),
            false => path.metadata().unwrap().len(),
        })
        .sum()
}
