//! The same against the same, many times: how often does a run say that nothing costs something?

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use ciphertax_explain::explain;
use ciphertax_model::{Arm, Metric, Study, Transport};
use ciphertax_records::why::LookLog;
use ciphertax_records::{Destination, EstimateRow, Run, RunStatus, Tool};
use ciphertax_runner::{Headline, Measured, Plan, Progress, RunError, Stage, play};
use ciphertax_stats::Verdict;

/// The cells, slices and precision of `ciphertax quick`.
const QUICK: &str = include_str!("../../cli/studies/quick.toml");
const RUNS_VARIABLE: &str = "CIPHERTAX_AA_RUNS";
/// False alarms that a nominal 95 % allows.
const MOST_COSTS: f64 = 0.05;
/// How far the server's CPU over whole rounds may be from that of an identical one, as a fraction.
const MOST_APART: f64 = 0.03;
/// Metrics with a target precision: those a reader decides by.
const JUDGED: [Metric; 3] = [Metric::ClientCpuPerOp, Metric::ServerCpuPerOp, Metric::Throughput];

/// The variant lies on a bind mount, which is the same file system, and is the reason why every arm has a server of its own.
const IDENTICAL_SERVERS: &str = r#"
name = "identical-servers"
question = "Do identical servers cost the same?"
server = "mariadb"
time_s = 240
dataset = { tables = 4, table_size = 25000 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "plain too", transport = "plain", at_rest = { file_system = "bind" } },
]
cell = [
    { name = "oltp_write_only", workload = "oltp_write_only", load = { connections = 4 } },
    { name = "oltp_update_index", workload = "oltp_update_index", load = { connections = 4 } },
]
"#;

ciphertax_testkit::plays_roles!();

#[test]
#[ignore = "takes a quarter of an hour; `make long` runs it"]
fn plain_against_plain_seldom_costs() {
    let plain = |name: &str| Arm::new(name, Transport::Plain);
    let mut study = Study::from_toml(QUICK).unwrap();
    study.arms = vec![plain("plain"), plain("plain too")];
    study.time_s = 20.0;
    judge("plain against plain", 40, &study, &JUDGED).unwrap();
}

#[test]
#[ignore = "takes twenty-two minutes; `make long` runs it"]
fn identical_servers_under_writes_seldom_cost_and_pay_the_same_over_whole_rounds() {
    let study = Study::from_toml(IDENTICAL_SERVERS).unwrap();
    let judged = [&JUDGED[..], &[Metric::ServerCpuRoundPerOp]].concat();
    let Some(tally) = judge("identical servers under writes", 5, &study, &judged) else {
        return;
    };
    let apart = tally.whole_round();
    println!(
        "\n{} of {} slices ran while another server worked. Over whole rounds the server's CPU per operation differs by \
         {:+.2} %; the bound is ±{:.0} %.",
        tally.slices.1,
        tally.slices.0,
        100.0 * apart,
        100.0 * MOST_APART
    );
    assert!(apart.abs() <= MOST_APART, "whole rounds {:+.2} %", 100.0 * apart);
}

/// Plays a study, whose variants are the baseline under other names, so many times unless the environment says otherwise, and
/// prints what came of it; `None` where it cannot be played.
fn judge(title: &str, runs: u32, study: &Study, judged: &[Metric]) -> Option<Tally> {
    let runs = env::var(RUNS_VARIABLE).map_or(runs, |runs| runs.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut tally = Tally::default();
    for number in 0..runs {
        let destination = Destination::New(folder.path().join(number.to_string()));
        let plan = Plan {
            study: study.clone().validated().unwrap(),
            target: None,
            encdb: None,
            ranks: None,
            no_wrong_logins: false,
            seed: number.into(),
            tool: Tool {
                name: "ciphertax".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                commit: "unknown".into(),
            },
            command: "the test of false alarms".into(),
        };
        let measured = match play(&plan, destination, &mut Silent, &Arc::default()) {
            Ok(measured) => measured,
            Err(RunError::Impossible(refusals)) => {
                let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
                ciphertax_testkit::not_tested(refusals.join("; "));
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let Measured { head, samples, .. } = measured;
        match &head.status {
            RunStatus::Complete => {
                let results = explain(&head, &samples, &LookLog::default(), None).unwrap();
                tally.count(&Run::new(head, results), judged);
            }
            // What a busy machine did to one run must not cost the others.
            other => eprintln!("run {} does not count: {other:?}", number + 1),
        }
        let all = tally.all();
        let (costs, verdicts) = (all.of(Verdict::Costs), all.rows.len());
        eprintln!(
            "run {} of {runs}: {costs} of {verdicts} verdicts cost so far",
            number + 1
        );
    }
    println!("{}", tally.document(title, runs, study));
    let all = tally.all();
    let rows = all.rows.len();
    assert_eq!(rows, tally.runs as usize * study.cells.len() * judged.len());
    let ended = tally.runs;
    let are_enough = ended * 10 >= runs * 9;
    assert!(are_enough, "only {ended} of {runs} runs came to their end");
    let costs = all.of(Verdict::Costs) as f64 / all.rows.len() as f64;
    assert!(costs <= MOST_COSTS, "{:.1} % false alarms", costs * 100.0);
    Some(tally)
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
    rows: BTreeMap<(String, Metric), Estimates>,
    server: String,
    /// Slices with a quiet phase before them, and those of them that another server disturbed.
    slices: (u32, u32),
}

/// Those of the variant, and of the repeated baseline.
#[derive(Default, Clone)]
struct Estimates {
    rows: Vec<EstimateRow>,
    again: Vec<EstimateRow>,
}

impl Tally {
    fn count(&mut self, run: &Run, judged: &[Metric]) {
        self.runs += 1;
        self.server = format!("{} {}", run.head.servers[0].product, run.head.servers[0].version);
        let of = |rows: &[EstimateRow]| -> Vec<EstimateRow> {
            let rows = rows.iter().filter(|row| judged.contains(&row.metric));
            rows.cloned().collect()
        };
        for row in of(&run.results.estimates) {
            self.of(&row).rows.push(row);
        }
        for row in of(&run.results.noise_floor) {
            self.of(&row).again.push(row);
        }
        for rounds in run.results.cells.iter().filter_map(|cell| cell.rounds) {
            self.slices.0 += rounds.slices;
            self.slices.1 += rounds.disturbed;
        }
    }

    fn of(&mut self, row: &EstimateRow) -> &mut Estimates {
        self.rows.entry((row.cell.clone(), row.metric)).or_default()
    }

    fn all(&self) -> Estimates {
        let (mut rows, mut again) = (Vec::new(), Vec::new());
        for estimates in self.rows.values() {
            rows.extend(estimates.rows.clone());
            again.extend(estimates.again.clone());
        }
        Estimates { rows, again }
    }

    /// By how much the server's CPU over whole rounds differed, over all runs and cells, as a fraction.
    fn whole_round(&self) -> f64 {
        let mut rows = self.all().rows;
        rows.retain(|row| row.metric == Metric::ServerCpuRoundPerOp);
        mean_change(&rows)
    }

    fn document(&self, title: &str, runs: u32, study: &Study) -> String {
        let host = ciphertax_observe::host();
        let all = self.all();
        let (costs, verdicts) = (all.of(Verdict::Costs), all.rows.len());
        let mut text = format!(
            "\n# False alarms: {title}\n\n| | |\n|---|---|\n\
             | command | `{RUNS_VARIABLE}={runs} cargo test --release -p ciphertax-runner --test false_alarms -- --ignored --nocapture \
             --exact {}` |\n\
             | date | {} |\n| machine | {}, kernel {}, {} × {}, hypervisor: {} |\n| server | {} |\n\
             | asked | {runs} runs of `{}` of at most {} s, of which {} came to their end; baseline, baseline again, and a \
             variant that is the baseline |\n\n\
             {costs} of {verdicts} verdicts are a false alarm (*costs*): {:.1} %; the bound is {:.0} %. The intervals alone \
             exclude zero in {:.1} % of the estimates of the variant and {:.1} % of those of the repeated baseline; a nominal 95 % \
             allows 5 %. Verdicts are rarer than that: the change must also exceed the noise floor, and hold in the family of all \
             cells and metrics.\n\n\
             | cell, metric | runs | costs | costs, perhaps | gains | gains, perhaps | no cost | cannot tell | \
             interval without 0 | the same, baseline again | mean change | largest change | median half-width |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            std::thread::current().name().unwrap_or_default(),
            jiff::Zoned::now().strftime("%Y-%m-%d"),
            host.os,
            host.kernel,
            host.cpus,
            host.cpu,
            host.virtualization,
            self.server,
            study.name,
            study.time_s,
            self.runs,
            percent(costs, verdicts),
            MOST_COSTS * 100.0,
            percent(excluding_zero(&all.rows), verdicts),
            percent(excluding_zero(&all.again), all.again.len()),
        );
        for ((cell, metric), estimates) in &self.rows {
            text += &estimates.line(&format!("{cell}, {metric}"));
        }
        text + &all.line("**all**")
    }
}

impl Estimates {
    fn of(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    fn line(&self, name: &str) -> String {
        let largest = self.rows.iter().map(|row| row.change.abs()).fold(0.0, f64::max);
        let widths = self.rows.iter().map(|row| (row.high - row.low) / 2.0);
        let mut widths: Vec<f64> = widths.collect();
        widths.sort_by(f64::total_cmp);
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:+.2} % | {:.1} % | {:.1} % |\n",
            self.rows.len(),
            self.of(Verdict::Costs),
            self.of(Verdict::CostsPerhaps),
            self.of(Verdict::Gains),
            self.of(Verdict::GainsPerhaps),
            self.of(Verdict::NoCost),
            self.of(Verdict::CannotTell),
            excluding_zero(&self.rows),
            excluding_zero(&self.again),
            mean_change(&self.rows) * 100.0,
            largest * 100.0,
            widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN) * 100.0,
        )
    }
}

/// Estimates whose interval does not hold zero, before floor and family are considered.
fn excluding_zero(rows: &[EstimateRow]) -> usize {
    rows.iter().filter(|row| row.low > 0.0 || row.high < 0.0).count()
}

/// The mean of the log-ratios, as a change.
fn mean_change(rows: &[EstimateRow]) -> f64 {
    let logs: f64 = rows.iter().map(|row| row.change.ln_1p()).sum();
    (logs / rows.len() as f64).exp_m1()
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
