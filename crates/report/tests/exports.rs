//! A run as CSV, Markdown and OpenMetrics.

use std::collections::BTreeSet;

use ciphertax_records::{OperationSample, Run, RunStatus, Sample, SampleLog, SliceId, VoidReason, Yield};
use ciphertax_report::{csv, markdown, openmetrics};
use ciphertax_stats::histogram::{empty, encode};

use crate::fixture;

/// What a study file may call things, and what no format may take for its own.
const HOSTILE: &str = "a,\"b\"<c>&d|e\\\n_f_\u{1b}[31m'";

fn hostile() -> Run {
    let mut run = fixture::run();
    let arm = run.head.arms[2].name.clone();
    let rename = |name: &mut String| {
        if *name == arm {
            *name = HOSTILE.into();
        }
    };
    run.head.arms.iter_mut().for_each(|arm| rename(&mut arm.name));
    let (study, results) = (&mut run.head.study, &mut run.results);
    study.arms.iter_mut().for_each(|arm| rename(&mut arm.name));
    results.estimates.iter_mut().for_each(|row| rename(&mut row.arm));
    let measured = &mut results.measurements;
    measured.iter_mut().for_each(|row| rename(&mut row.arm));
    run.results.verdict = HOSTILE.into();
    run
}

/// The rows of a table with the names of its columns.
fn rows(text: &[u8]) -> Vec<Vec<(String, String)>> {
    let mut reader = ::csv::Reader::from_reader(text);
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |record: ::csv::StringRecord| {
        names
            .iter()
            .cloned()
            .zip(record.iter().map(str::to_owned))
            .collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn field<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    &row.iter().find(|(column, _)| column == name).unwrap().1
}

fn estimates(run: &Run) -> Vec<Vec<(String, String)>> {
    let mut text = Vec::new();
    csv::estimates(run, &mut text).unwrap();
    rows(&text)
}

#[test]
fn every_comparison_is_a_line_with_the_figures_of_the_record() {
    let run = hostile();
    let rows = estimates(&run);
    let count = rows.len();
    assert_eq!(count, run.results.estimates.len() + run.results.noise_floor.len());
    for (row, of_record) in rows.iter().zip(&run.results.estimates) {
        assert_eq!(field(row, "arm"), of_record.arm);
        assert_eq!(field(row, "change").parse::<f64>().unwrap(), of_record.change);
        assert_eq!(field(row, "blocks").parse::<u32>().unwrap(), of_record.blocks);
        assert_eq!(field(row, "kind"), "");
    }
    assert!(rows.iter().any(|row| field(row, "arm") == HOSTILE));
    assert!(rows.iter().any(|row| field(row, "arm") == "baseline again"));
    assert_eq!(field(&rows[0], "metric"), "client_cpu_per_op");
    let verdicts: BTreeSet<&str> = rows.iter().map(|row| field(row, "verdict")).collect();
    assert!(verdicts.contains("costs"), "{verdicts:?}");
}

#[test]
fn a_run_in_which_nothing_was_compared_leaves_the_names_of_the_columns() {
    let mut run = fixture::run();
    run.results.estimates.clear();
    run.results.noise_floor.clear();
    let mut text = Vec::new();
    csv::estimates(&run, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let is_empty = text.starts_with("study,cell,arm,kind,metric,") && text.lines().count() == 1;
    assert!(is_empty, "{text}");
    // The names of the columns are those of the fields.
    assert!(estimates(&fixture::run()).iter().all(|row| row.len() == 20));
}

#[test]
fn every_slice_is_a_line() {
    let mut histogram = empty();
    for latency in [100_000, 200_000, 300_000] {
        histogram.saturating_record(latency);
    }
    let operations = OperationSample {
        kind: "point_select".into(),
        count: 3,
        errors: 0,
        latency_sum_ns: 600_000,
        latency: encode(&histogram),
    };
    let good = sample(Yield {
        duration_ns: 500_000_000,
        operations: vec![operations],
        ..Yield::default()
    });
    let mut void = sample(Yield::default());
    void.void = Some(VoidReason::Empty);
    let mut text = Vec::new();
    csv::samples(&SampleLog::from(vec![good, void]), &mut text).unwrap();
    let rows = rows(&text);
    assert_eq!(rows.len(), 2);
    for (column, value) in [
        ("cell", "select"),
        ("arm", HOSTILE),
        ("duration_s", "0.5"),
        ("operations", "3"),
        ("latency_mean_us", "200.0"),
        ("server_cpu_us", ""),
        ("looked_into", "false"),
        ("void", ""),
    ] {
        assert_eq!(field(&rows[0], column), value, "{column}");
    }
    let median: f64 = field(&rows[0], "latency_p50_us").parse().unwrap();
    assert!((median - 200.0).abs() < 1.0, "{median}");
    assert_eq!(field(&rows[1], "latency_p50_us"), "");
    assert_eq!(field(&rows[1], "void"), "no operation completed");
}

#[test]
fn a_histogram_that_is_none_is_an_error() {
    let broken = sample(Yield {
        operations: vec![OperationSample {
            kind: "x".into(),
            count: 1,
            errors: 0,
            latency_sum_ns: 1,
            latency: Default::default(),
        }],
        ..Yield::default()
    });
    assert!(csv::samples(&SampleLog::from(vec![broken]), &mut Vec::new()).is_err());
}

fn sample(load: Yield) -> Sample {
    let slice = SliceId {
        cell: "select".into(),
        position: 1,
        arm: HOSTILE.into(),
        ..SliceId::default()
    };
    Sample {
        slice,
        load,
        ..Sample::default()
    }
}

#[test]
fn markdown_has_the_verdict_first_then_what_each_arm_costs() {
    insta::assert_snapshot!(markdown::render(&fixture::run()));
}

#[test]
fn names_are_no_markup_and_no_row_of_a_table_breaks() {
    let text = markdown::render(&hostile());
    assert!(!text.contains("<c>") && !text.contains('\u{1b}'), "{text}");
    let mut columns = 0;
    for line in text.lines() {
        let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
        match (line.starts_with("| "), columns) {
            (true, 0) => columns = bars,
            (true, _) => assert_eq!(bars, columns, "{line}"),
            (false, _) => columns = 0,
        }
    }
}

#[test]
fn openmetrics_has_base_units_and_ends() {
    let mut run = fixture::run();
    run.results.estimates.truncate(1);
    run.results.noise_floor.clear();
    run.results.measurements.truncate(8);
    insta::assert_snapshot!(openmetrics::render(&run).unwrap());
}

#[test]
fn openmetrics_calls_a_run_complete_that_measured_to_its_end_and_left_something() {
    let mut run = fixture::run();
    run.head.status = RunStatus::NotCleanedUp {
        problem: "a schema is left".into(),
    };
    let text = openmetrics::render(&run).unwrap();
    let words = "ciphertax_run_complete{study=\"tls\"} 1.0\n";
    assert!(text.contains(words), "{text}");
    run.head.status = RunStatus::Running;
    let text = openmetrics::render(&run).unwrap();
    let words = "ciphertax_run_complete{study=\"tls\"} 0.0\n";
    assert!(text.contains(words), "{text}");
}

#[test]
fn openmetrics_names_every_product_once() {
    let mut run = fixture::run();
    let [server, ..] = run.head.servers.as_slice() else {
        panic!("the fixture has a server");
    };
    let (same, mut other) = (server.clone(), server.clone());
    other.product = "MySQL".into();
    run.head.servers.extend([other, same]);
    let text = openmetrics::render(&run).unwrap();
    let (_, servers) = text.split_once("server=\"").unwrap();
    let (servers, _) = servers.split_once('"').unwrap();
    assert_eq!(servers.matches("MariaDB 10.11").count(), 1, "{servers}");
    assert_eq!(servers.matches("MySQL ").count(), 1, "{servers}");
}

#[test]
fn openmetrics_is_the_same_every_time_and_no_name_ends_a_label() {
    let run = hostile();
    let text = openmetrics::render(&run).unwrap();
    assert_eq!(text, openmetrics::render(&run).unwrap());
    assert!(text.ends_with("# EOF\n"));
    let mut families = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# TYPE ") {
            assert!(families.insert(name.to_owned()), "{name} twice");
        } else if !line.starts_with('#') {
            let (_, value) = line.rsplit_once("} ").unwrap();
            value.parse::<f64>().unwrap();
        }
    }
    assert!(text.contains(r#"arm="a,\"b\"<c>&d|e\\\n_f_"#), "{text}");
}
