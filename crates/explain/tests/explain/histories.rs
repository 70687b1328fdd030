//! Many runs over time: what changed, with what, and what is no part of the series.

use ciphertax_explain::history::{GivenRun, HistoryError, history};
use ciphertax_model::{Metric, ReadPreference};
use ciphertax_records::{History, HistoryFigure, Run, RunStatus};

use crate::made_up::{explain, head, samples, study, study_with};
use crate::targets::{agent_on, counter, session};

/// A run on this day, whose server CPU per operation of `tls` in `select` is so much more than the baseline's.
fn run_on(day: usize, change: f64) -> GivenRun {
    let mut head = head(study());
    head.started = format!("2026-01-{day:02}T03:00:00Z");
    head.arms[2].sessions.push(session("none"));
    head.arms[2].sessions[0].server = head.servers[0].name.clone();
    let results = explain(&head, samples(6).as_slice()).unwrap();
    let mut run = Run::new(head, results);
    for row in &mut run.results.estimates {
        let by = match (row.cell.as_str(), row.metric) {
            ("select", Metric::ServerCpuPerOp) => change,
            // Not the same from run to run, and without a trend.
            _ => 0.2 + 0.001 * (day * 7 % 11) as f64,
        };
        (row.change, row.low, row.high) = (by, by - 0.01, by + 0.01);
    }
    GivenRun {
        folder: format!("run-{day}"),
        run,
    }
}

/// A little scatter that has no order.
fn noise(day: usize) -> f64 {
    0.002 * ((day * 5 % 9) as f64 - 4.0) / 4.0
}

/// Fourteen runs, of which the eighth and later cost ten points in a hundred more.
fn with_a_step() -> Vec<GivenRun> {
    let cost = |day: usize| if day < 8 { 0.28 } else { 0.41 } + noise(day);
    (1..=14).map(|day| run_on(day, cost(day))).collect()
}

fn figure<'a>(history: &'a History, cell: &str, metric: Metric) -> &'a HistoryFigure {
    let mut figures = history.figures.iter();
    figures
        .find(|figure| figure.cell == cell && figure.metric == metric)
        .unwrap()
}

#[test]
fn a_cost_that_rose_with_a_version_is_found_with_the_run_and_the_version() {
    let mut runs = with_a_step();
    for given in &mut runs[7..] {
        given.run.head.servers[0].version = "10.11.19".into();
        given.run.head.arms[2].sessions[0]
            .facts
            .tls
            .as_mut()
            .unwrap()
            .cipher = "TLS_CHACHA20_POLY1305_SHA256".into();
    }
    // In any order.
    runs.reverse();
    let history = history(runs, None).unwrap();
    let changed = &history.figures[0];
    assert_eq!(
        (changed.cell.as_str(), changed.metric),
        ("select", Metric::ServerCpuPerOp)
    );
    let [change] = &changed.changes[..] else {
        panic!("{:?}", changed.changes)
    };
    assert_eq!((change.before_run, change.run), (6, 7));
    assert_eq!(history.runs[7].folder, "run-8");
    let near = |value: f64, expected: f64| (value - expected).abs() < 0.002;
    assert!(
        near(change.before.value, 0.28) && near(change.after.value, 0.41),
        "{change:?}"
    );
    assert!(near(change.shift.value, 1.41 / 1.28 - 1.0), "{change:?}");
    assert!(change.shift.low > 0.09 && change.shift.high < 0.11, "{change:?}");
    let differs: Vec<&str> = change
        .differs
        .iter()
        .map(|differs| differs.what.as_str())
        .collect();
    assert_eq!(differs, ["server", "cipher"]);
    assert_eq!(change.differs[0].after.as_deref(), Some("MariaDB 10.11.19"));
    assert!(
        history.figures[1..]
            .iter()
            .all(|figure| figure.changes.is_empty())
    );
    assert!(
        history
            .verdict
            .contains("server CPU per operation of tls in select, from +28.0 % to +41.0 %")
            && history
                .verdict
                .contains("2026-01-08, when the server became MariaDB 10.11.19 (1 more thing differs)"),
        "{}",
        history.verdict
    );
    let [old, new] = &changed.versions[..] else {
        panic!("{:?}", changed.versions)
    };
    assert_eq!((old.runs, new.runs), (7, 7));
    assert!(old.interval.unwrap().high < new.interval.unwrap().low);
}

#[test]
fn a_change_without_a_reason_says_so_and_one_cell_changes_alone() {
    let history = history(with_a_step(), None).unwrap();
    assert!(history.figures[0].changes[0].differs.is_empty());
    assert!(
        history
            .verdict
            .contains("though nothing that is recorded differs"),
        "{}",
        history.verdict
    );
    assert!(
        figure(&history, "connect", Metric::ServerCpuPerOp)
            .changes
            .is_empty()
    );
    assert_eq!(
        history
            .figures
            .iter()
            .filter(|figure| !figure.changes.is_empty())
            .count(),
        1
    );
}

#[test]
fn runs_that_do_not_differ_have_no_change() {
    let runs = (1..=20).map(|day| run_on(day, 0.28 + noise(day))).collect();
    let history = history(runs, None).unwrap();
    assert!(
        history
            .verdict
            .starts_with("No change was found in 6 figures over 20 runs")
            && history.verdict.contains("may go unseen"),
        "{}",
        history.verdict
    );
    assert_eq!(history.figures[0].points.len(), 20);
    // Of a scatter of a thousandth: ten standard deviations of a mean of 20.
    let shift = figure(&history, "select", Metric::ServerCpuPerOp)
        .smallest_shift
        .unwrap();
    assert!((0.001..0.004).contains(&shift), "{shift}");
}

#[test]
fn few_runs_are_too_few() {
    let history = history(with_a_step()[4..11].to_vec(), None).unwrap();
    assert!(history.verdict.contains("are too few"), "{}", history.verdict);
    assert!(history.figures.iter().all(|figure| figure.changes.is_empty()));
}

#[test]
fn a_figure_of_few_runs_among_others_of_many_is_not_said_to_be_unchanged() {
    let mut runs: Vec<GivenRun> = (1..=14).map(|day| run_on(day, 0.28 + noise(day))).collect();
    for given in &mut runs[6..] {
        let estimates = &mut given.run.results.estimates;
        estimates.retain(|row| row.cell != "connect");
    }
    let history = history(runs, None).unwrap();
    assert_eq!(
        figure(&history, "connect", Metric::ServerCpuPerOp).smallest_shift,
        None
    );
    let verdict = &history.verdict;
    assert!(
        verdict.contains("in 3 figures") && verdict.ends_with(" 3 figures have too few runs to tell."),
        "{verdict}"
    );
}

#[test]
fn another_counter_of_the_servers_cpu_is_another_question_and_its_machine_a_condition() {
    let mut runs = with_a_step();
    runs[0].run.head.servers[0].cpu_from = Some(counter("CPU of the whole machine"));
    for given in &mut runs[7..] {
        given.run.head.servers[0].cpu_from = Some(agent_on("Fast CPU"));
    }
    let history = history(runs, None).unwrap();
    assert_eq!(
        figure(&history, "select", Metric::ServerCpuPerOp).points.len(),
        13
    );
    assert_eq!(
        figure(&history, "select", Metric::ClientCpuPerOp).points.len(),
        14
    );
    assert!(
        history.left_out.iter().any(|left_out| left_out.folder == "run-1"
            && left_out
                .reason
                .contains("server's CPU is that of is CPU of the whole machine there")),
        "{:?}",
        history.left_out
    );
    let what: Vec<&str> = history.figures[0].changes[0]
        .differs
        .iter()
        .map(|differs| differs.what.as_str())
        .collect();
    assert!(
        what.contains(&"server's processor") && what.contains(&"server's CPU read by"),
        "{what:?}"
    );
}

#[test]
fn tables_that_no_workload_of_a_cell_reads_are_not_part_of_its_question() {
    let mut runs = with_a_step();
    runs[2].run.head.study.pgbench.scale += 1;
    assert!(history(runs, None).unwrap().left_out.is_empty());
    let mut runs = with_a_step();
    runs[2].run.head.study.read_preference = ReadPreference::Secondary;
    let history = history(runs, None).unwrap();
    assert!(
        history.left_out[0]
            .reason
            .contains("read_preference is secondary there"),
        "{:?}",
        history.left_out
    );
}

#[test]
fn a_run_that_asks_something_else_is_left_out_by_name() {
    let mut runs = with_a_step();
    runs[2].run.head.study = study_with("load = { connections = 64 }");
    let history = history(runs, None).unwrap();
    assert_eq!(
        figure(&history, "connect", Metric::ServerCpuPerOp).points.len(),
        13
    );
    assert_eq!(
        figure(&history, "select", Metric::ServerCpuPerOp).points.len(),
        14
    );
    let [left_out] = &history.left_out[..] else {
        panic!("{:?}", history.left_out)
    };
    assert_eq!(left_out.folder, "run-3");
    assert_eq!(
        left_out.reason,
        "connect, tls: not the question of later runs: load.connections is 64 there and 2 later"
    );
}

#[test]
fn figures_that_are_the_clients_or_no_numbers_are_no_points() {
    let mut runs = with_a_step();
    for row in &mut runs[3].run.results.estimates {
        row.change = f64::NAN;
    }
    runs[6].run.results.estimates[0].change = 1e18;
    for row in &mut runs[4].run.results.estimates {
        row.rule = ciphertax_stats::Rule::ClientBound;
    }
    let history = history(runs, None).unwrap();
    let points = &figure(&history, "select", Metric::ServerCpuPerOp).points;
    assert!(points.len() == 12 && points.iter().all(|point| ![3, 4].contains(&point.run)));
    let named = |folder: &str, why: &str| {
        let mut left_out = history.left_out.iter();
        left_out.any(|row| {
            row.folder == folder
                && row.reason.contains(why)
                && row.reason.contains("throughput of tls in select")
        })
    };
    assert!(
        named("run-4", "no number") && named("run-5", "the load generator was the bottleneck"),
        "{:?}",
        history.left_out
    );
}

#[test]
fn runs_on_several_databases_are_no_history_and_those_of_mysqls_family_are_one() {
    let mut runs = with_a_step();
    for given in &mut runs[10..] {
        given.run.head.servers[0].product = "MySQL".into();
    }
    assert_eq!(history(runs.clone(), None).unwrap().runs.len(), 14);
    for given in &mut runs[12..] {
        given.run.head.servers[0].product = "PostgreSQL".into();
    }
    assert_eq!(
        history(runs, None).unwrap_err().to_string(),
        "there are runs on several databases: MariaDB (10), MySQL (2), PostgreSQL (2); choose one with --server"
    );
}

#[test]
fn runs_of_one_day_are_told_apart_by_their_times() {
    let mut runs = with_a_step();
    for (number, given) in runs.iter_mut().enumerate() {
        given.run.head.started = format!("2026-01-02T{:02}:30:00Z", number + 1);
    }
    let verdict = history(runs, None).unwrap().verdict;
    assert!(
        verdict.contains("from 2026-01-02 01:30 to 2026-01-02 14:30")
            && verdict.contains("with the run of 2026-01-02 08:30"),
        "{verdict}"
    );
}

#[test]
fn runs_of_several_studies_are_one_history_only_if_one_is_chosen() {
    let mut runs = with_a_step();
    for given in &mut runs[10..] {
        given.run.head.study.name = "other".into();
    }
    let error = history(runs.clone(), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are runs of several studies: made-up (10), other (4); choose one with --study"
    );
    assert_eq!(history(runs.clone(), Some("other")).unwrap().runs.len(), 4);
    let error = history(runs, Some("third")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no run of the study third, but of made-up (10)"),
        "{error}"
    );
    assert_eq!(history(Vec::new(), None), Err(HistoryError::NoRun));
}

#[test]
fn what_a_run_left_behind_is_no_early_end() {
    let mut runs = vec![run_on(1, 0.2), run_on(2, 0.2), run_on(3, 0.2)];
    runs[1].run.head.status = RunStatus::NotCleanedUp {
        problem: "a schema is left".into(),
    };
    runs[2].run.head.status = RunStatus::Running;
    let history = history(runs, None).unwrap();
    let complete: Vec<bool> = history.runs.iter().map(|run| run.complete).collect();
    assert_eq!(complete, [true, true, false]);
}
