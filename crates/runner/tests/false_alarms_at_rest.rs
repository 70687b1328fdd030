//! Identical servers of which each is one arm's, under writes, many times: how often does a run say that nothing costs something,
//! and is what is paid later the same for all?

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use ciphertax_model::{Metric, Study};
use ciphertax_records::{Destination, EstimateRow, Run, RunStatus, Tool};
use ciphertax_runner::{Headline, Plan, Progress, RunError, Stage, play};
use ciphertax_stats::Verdict;

const RUNS_VARIABLE: &str = "CIPHERTAX_AA_RUNS";
const RUNS: u32 = 5;
/// False alarms that a nominal 95 % allows.
const MOST_COSTS: f64 = 0.05;
/// How far the server's CPU over whole rounds may be from that of an identical one, as a fraction.
const MOST_APART: f64 = 0.03;
/// What is judged of each cell: forty verdicts in five runs.
const JUDGED: [Metric; 4] = [
    Metric::ServerCpuRoundPerOp,
    Metric::ServerCpuPerOp,
    Metric::ClientCpuPerOp,
    Metric::Throughput,
];

/// The variant lies on a bind mount, which is the same file system, and is the reason why every arm has a server of its own.
const STUDY: &str = r#"
name = "identical-servers"
question = "Do identical servers cost the same?"
server = "mariadb"
time_s = 240
dataset = { tables = 4, table_size = 25000 }
[[arm]]
name = "plain"
transport = "plain"
[[arm]]
name = "plain too"
transport = "plain"
at_rest = { file_system = "bind" }
[[cell]]
name = "oltp_write_only"
workload = "oltp_write_only"
load = { connections = 4 }
[[cell]]
name = "oltp_update_index"
workload = "oltp_update_index"
load = { connections = 4 }
"#;
/// How many cells these are.
const CELLS: u32 = 2;

ciphertax_testkit::plays_roles!();

#[test]
#[ignore = "takes twenty-two minutes; `make long` runs it"]
fn identical_servers_under_writes_seldom_cost_and_pay_the_same_over_whole_rounds() {
    let runs = env::var(RUNS_VARIABLE).map_or(RUNS, |runs| runs.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut tally = Tally::default();
    for number in 0..runs {
        let destination = Destination::New(folder.path().join(number.to_string()));
        let played = match play(&plan(number), destination, &mut Silent, &Arc::default()) {
            Ok(played) => played,
            Err(RunError::Impossible(refusals)) => {
                ciphertax_testkit::not_tested(refusals.join("; "));
                return;
            }
            Err(error) => panic!("{error}"),
        };
        match &played.run.head.status {
            RunStatus::Complete => tally.count(&played.run),
            // What a busy machine did to one run must not cost the others.
            other => eprintln!("run {} does not count: {other:?}", number + 1),
        }
        let (costs, all) = tally.costs();
        eprintln!(
            "run {} of {runs}: {costs} of {all} verdicts say costs so far; whole rounds {:+.2} %",
            number + 1,
            100.0 * tally.whole_round()
        );
    }
    println!("{}", tally.document(runs));
    let (costs, all) = tally.costs();
    assert_eq!(all, tally.runs * CELLS * JUDGED.len() as u32);
    assert!(
        tally.runs * 10 >= runs * 9,
        "only {} of {runs} runs came to their end",
        tally.runs
    );
    assert!(
        f64::from(costs) <= MOST_COSTS * f64::from(all),
        "{costs} of {all} false alarms"
    );
    let apart = tally.whole_round();
    assert!(apart.abs() <= MOST_APART, "whole rounds {:+.2} %", 100.0 * apart);
}

fn plan(number: u32) -> Plan {
    Plan {
        study: Study::from_toml(STUDY).unwrap().validated().unwrap(),
        target: None,
        encdb: None,
        ranks: None,
        seed: number.into(),
        tool: Tool {
            name: "ciphertax".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: "unknown".into(),
        },
        command: "the test of identical servers".into(),
    }
}

struct Silent;

impl Progress for Silent {
    fn stage(&mut self, _stage: &Stage) {}
    fn block(&mut self, _headline: &Headline) {}
    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        eprintln!("{cell}, {arm}: void: {reason}");
    }
}

/// What the runs said.
#[derive(Default)]
struct Tally {
    /// Runs that came to their end.
    runs: u32,
    /// By cell and metric.
    rows: BTreeMap<(String, Metric), Vec<EstimateRow>>,
    server: String,
    /// Slices with a quiet phase before them, and those of them that another server disturbed.
    slices: (u32, u32),
}

impl Tally {
    fn count(&mut self, run: &Run) {
        self.runs += 1;
        self.server = format!("{} {}", run.head.servers[0].product, run.head.servers[0].version);
        let judged = run.results.estimates.iter();
        for row in judged.filter(|row| JUDGED.contains(&row.metric)) {
            let of_cell = self.rows.entry((row.cell.clone(), row.metric));
            of_cell.or_default().push(row.clone());
        }
        for rounds in run.results.cells.iter().map(|cell| cell.rounds.unwrap()) {
            self.slices.0 += rounds.slices;
            self.slices.1 += rounds.disturbed;
        }
    }

    /// How many verdicts say *costs*, and of how many.
    fn costs(&self) -> (u32, u32) {
        let verdicts = || self.rows.values().flatten();
        let costs = verdicts().filter(|row| row.verdict == Verdict::Costs).count();
        (costs as u32, verdicts().count() as u32)
    }

    /// By how much the server's CPU over whole rounds differed, over all runs and cells, as a fraction.
    fn whole_round(&self) -> f64 {
        let mut rows = Vec::new();
        for ((_, metric), of_cell) in &self.rows {
            if *metric == Metric::ServerCpuRoundPerOp {
                rows.extend(of_cell);
            }
        }
        mean_change(&rows)
    }

    fn document(&self, runs: u32) -> String {
        let host = ciphertax_observe::host();
        let (costs, all) = self.costs();
        let mut text = format!(
            "\n# False alarms: identical servers under writes\n\n| | |\n|---|---|\n\
             | command | `{RUNS_VARIABLE}={runs} cargo test --release -p ciphertax-runner --test false_alarms_at_rest -- \
             --ignored --nocapture` |\n\
             | date | {} |\n| machine | {}, kernel {}, {} × {}, hypervisor: {} |\n| server | {}, one for each arm |\n\
             | asked | {runs} runs of at most 240 s, of which {} came to their end; 4 connections; baseline, baseline again, and a \
             variant that is the baseline; {} of {} slices ran while another server worked |\n\n\
             {costs} of {all} verdicts are a false alarm (*costs*); the bound is {:.0} %. Over whole rounds the server's CPU per \
             operation differs by {:+.2} %; the bound is ±{:.0} %.\n\n\
             | cell, metric | runs | costs | gains | no cost | cannot tell | interval without 0 | mean change | largest change |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            jiff::Zoned::now().strftime("%Y-%m-%d"),
            host.os,
            host.kernel,
            host.cpus,
            host.cpu,
            host.virtualization,
            self.server,
            self.runs,
            self.slices.1,
            self.slices.0,
            100.0 * MOST_COSTS,
            100.0 * self.whole_round(),
            100.0 * MOST_APART,
        );
        for ((cell, metric), rows) in &self.rows {
            let of = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
            let without_zero = rows.iter().filter(|row| row.low > 0.0 || row.high < 0.0).count();
            let largest = rows.iter().map(|row| row.change.abs()).fold(0.0, f64::max);
            text += &format!(
                "| {cell}, {metric} | {} | {} | {} | {} | {} | {without_zero} | {:+.2} % | {:.1} % |\n",
                rows.len(),
                of(Verdict::Costs),
                of(Verdict::Gains),
                of(Verdict::NoCost),
                of(Verdict::CannotTell),
                100.0 * mean_change(&rows.iter().collect::<Vec<_>>()),
                100.0 * largest,
            );
        }
        text
    }
}

/// The mean of the log-ratios, as a change.
fn mean_change(rows: &[&EstimateRow]) -> f64 {
    let logs: f64 = rows.iter().map(|row| row.change.ln_1p()).sum();
    (logs / rows.len() as f64).exp_m1()
}
