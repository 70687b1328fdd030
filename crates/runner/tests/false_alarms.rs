//! Plain against plain, many times: how often does a run say that nothing costs something?

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use ciphertax_model::{Arm, Metric, Study, Transport};
use ciphertax_records::Destination;
use ciphertax_records::{EstimateRow, Run, RunStatus, Tool};
use ciphertax_runner::{Plan, Progress, play};
use ciphertax_stats::Verdict;

/// The cells, slices and precision of `ciphertax quick`.
const QUICK: &str = include_str!("../../cli/studies/quick.toml");
const RUNS_VARIABLE: &str = "CIPHERTAX_AA_RUNS";
const RUNS: u32 = 40;
/// Time that a run may measure, in seconds.
const TIME_S: f64 = 20.0;
/// False alarms that a nominal 95 % allows.
const MOST_COSTS: f64 = 0.05;
/// Metrics with a target precision: those a reader decides by.
const JUDGED: [Metric; 3] = [Metric::ClientCpuPerOp, Metric::ServerCpuPerOp, Metric::Throughput];

ciphertax_testkit::plays_roles!();

#[test]
#[ignore = "takes a quarter of an hour; `make long` runs it"]
fn plain_against_plain_seldom_costs() {
    let runs = env::var(RUNS_VARIABLE).map_or(RUNS, |runs| runs.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut tally = Tally::default();
    for number in 0..runs {
        let destination = Destination::New(folder.path().join(number.to_string()));
        let played = play(&plan(number), destination, &mut Silent, &Arc::default()).unwrap();
        let run = played.run;
        match &run.head.status {
            RunStatus::Complete => tally.count(&run),
            // What a busy machine did to one run must not cost the others.
            other => eprintln!("run {} does not count: {other:?}", number + 1),
        }
        eprintln!(
            "run {} of {runs}: {} of {} cells cost so far",
            number + 1,
            tally.of(Verdict::Costs),
            tally.all()
        );
    }
    println!("{}", tally.document(runs));
    assert_eq!(tally.all(), tally.runs * 9, "three cells, three metrics");
    assert!(
        tally.runs * 10 >= runs * 9,
        "only {} of {runs} runs came to their end",
        tally.runs
    );
    let costs = f64::from(tally.of(Verdict::Costs)) / f64::from(tally.all());
    assert!(costs <= MOST_COSTS, "{:.1} % false alarms", costs * 100.0);
}

/// The study of `ciphertax quick`, whose only variant is the baseline under another name.
fn plan(number: u32) -> Plan {
    let plain = |name: &str| Arm::new(name, Transport::Plain);
    let mut study = Study::from_toml(QUICK).unwrap();
    study.arms = vec![plain("plain"), plain("plain too")];
    study.time_s = TIME_S;
    Plan {
        study: study.validated().unwrap(),
        target: None,
        encdb: None,
        ranks: None,
        seed: number.into(),
        tool: Tool {
            name: "ciphertax".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: "unknown".into(),
        },
        command: "the test of false alarms".into(),
    }
}

struct Silent;

impl Progress for Silent {
    fn stage(&mut self, _stage: &ciphertax_runner::Stage) {}
    fn block(&mut self, _headline: &ciphertax_runner::Headline) {}
    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        eprintln!("{cell}, {arm}: void: {reason}");
    }
}

/// Verdicts by cell and metric.
#[derive(Default)]
struct Tally {
    /// Runs that came to their end.
    runs: u32,
    rows: BTreeMap<(String, &'static str), Counts>,
    server: String,
}

#[derive(Default)]
struct Counts {
    verdicts: Vec<Verdict>,
    /// Estimates of the variant whose interval does not hold zero, before floor and family are considered.
    excluding_zero: u32,
    /// The same for the repeated baseline.
    again_excluding_zero: u32,
    changes: Vec<f64>,
    half_widths: Vec<f64>,
}

impl Tally {
    fn count(&mut self, run: &Run) {
        self.runs += 1;
        self.server = format!("{} {}", run.head.servers[0].product, run.head.servers[0].version);
        for row in run
            .results
            .estimates
            .iter()
            .filter(|row| JUDGED.contains(&row.metric))
        {
            let counts = self.counts(row);
            counts.verdicts.push(row.verdict);
            counts.excluding_zero += u32::from(excludes_zero(row));
            counts.changes.push(row.change);
            counts.half_widths.push((row.high - row.low) / 2.0);
        }
        for row in run
            .results
            .noise_floor
            .iter()
            .filter(|row| JUDGED.contains(&row.metric))
        {
            self.counts(row).again_excluding_zero += u32::from(excludes_zero(row));
        }
    }

    fn counts(&mut self, row: &EstimateRow) -> &mut Counts {
        self.rows
            .entry((row.cell.clone(), row.metric.label()))
            .or_default()
    }

    fn all(&self) -> u32 {
        self.rows.values().map(Counts::all).sum()
    }

    fn of(&self, verdict: Verdict) -> u32 {
        self.rows.values().map(|counts| counts.of(verdict)).sum()
    }

    fn document(&self, runs: u32) -> String {
        let host = ciphertax_observe::host();
        let all = Counts {
            verdicts: self.rows.values().flat_map(|row| row.verdicts.clone()).collect(),
            excluding_zero: self.rows.values().map(|row| row.excluding_zero).sum(),
            again_excluding_zero: self.rows.values().map(|row| row.again_excluding_zero).sum(),
            changes: self.rows.values().flat_map(|row| row.changes.clone()).collect(),
            half_widths: self
                .rows
                .values()
                .flat_map(|row| row.half_widths.clone())
                .collect(),
        };
        let mut text = format!(
            "\n# False alarms: plain against plain\n\n| | |\n|---|---|\n\
             | command | `{RUNS_VARIABLE}={runs} cargo test --release -p ciphertax-runner --test false_alarms -- --ignored --nocapture` |\n\
             | date | {} |\n| machine | {}, kernel {}, {} × {}, hypervisor: {} |\n| server | {} |\n\
             | asked | {runs} runs of at most {TIME_S} s, of which {} came to their end; the cells of `ciphertax \
             quick`; baseline, baseline again, and a variant that is the baseline |\n\n\
             {} of {} verdicts are a false alarm (*costs*): {:.1} %; the bound is {:.0} %. The intervals alone exclude zero in \
             {:.1} % of the estimates of the variant and {:.1} % of those of the repeated baseline; a nominal 95 % allows 5 %. \
             Verdicts are rarer than that: the change must also exceed the noise floor, and hold in the family of all \
             cells and metrics.\n\n\
             | cell, metric | runs | costs | gains | no cost | cannot tell | interval without 0 | the same, baseline again | \
             largest change | median half-width |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            jiff::Zoned::now().strftime("%Y-%m-%d"),
            host.os,
            host.kernel,
            host.cpus,
            host.cpu,
            host.virtualization,
            self.server,
            self.runs,
            all.of(Verdict::Costs),
            all.all(),
            percent(all.of(Verdict::Costs), all.all()),
            MOST_COSTS * 100.0,
            percent(all.excluding_zero, all.all()),
            percent(all.again_excluding_zero, all.all()),
        );
        for ((cell, metric), counts) in &self.rows {
            text += &counts.line(&format!("{cell}, {metric}"));
        }
        text + &all.line("**all**")
    }
}

impl Counts {
    fn all(&self) -> u32 {
        self.verdicts.len() as u32
    }

    fn of(&self, verdict: Verdict) -> u32 {
        self.verdicts.iter().filter(|found| **found == verdict).count() as u32
    }

    fn line(&self, name: &str) -> String {
        let largest = self
            .changes
            .iter()
            .fold(0.0_f64, |most, change| most.max(change.abs()));
        let mut half_widths = self.half_widths.clone();
        half_widths.sort_by(f64::total_cmp);
        let median = half_widths
            .get(half_widths.len() / 2)
            .copied()
            .unwrap_or(f64::NAN);
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {:.1} % | {:.1} % |\n",
            self.all(),
            self.of(Verdict::Costs),
            self.of(Verdict::Gains),
            self.of(Verdict::NoCost),
            self.of(Verdict::CannotTell),
            self.excluding_zero,
            self.again_excluding_zero,
            largest * 100.0,
            median * 100.0,
        )
    }
}

fn excludes_zero(row: &EstimateRow) -> bool {
    row.low > 0.0 || row.high < 0.0
}

fn percent(part: u32, whole: u32) -> f64 {
    100.0 * f64::from(part) / f64::from(whole.max(1))
}
