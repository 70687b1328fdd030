//! A report is made by this release from run folders of the release before: two real ones are kept here as they were left,
//! a `quick` on MariaDB and a study of MongoDB.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_explain::explain;
use ciphertax_records::{EstimateRow, Recorded, Results, Run, SCHEMA, Samples, counter};
use ciphertax_report::{html, terminal};
use ciphertax_stats::Verdict;
use serde_json::{Map, Number, Value};

const KEPT: [&str; 2] = ["quick", "mongodb"];

#[test]
fn its_figures_are_made_again_as_they_were_but_for_what_a_better_estimator_makes_of_them() {
    let mut differences = Vec::new();
    for name in KEPT {
        let (then, now) = (former(name).results, made_again(name).results);
        assert!(!then.estimates.is_empty() && !then.findings.is_empty(), "{name}");
        compare(name, &json(&then), &json(&now), &mut differences);
    }
    differences.retain(|difference| !difference.is_wanted());
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn what_it_estimated_is_estimated_again_within_the_uncertainty_of_then() {
    for name in KEPT {
        let (then, now) = (former(name).results, made_again(name).results);
        assert_eq!(then.estimates.len(), now.estimates.len());
        for (then, now) in then.estimates.iter().zip(&now.estimates) {
            assert_eq!(
                (&then.cell, &then.arm, then.metric),
                (&now.cell, &now.arm, now.metric)
            );
            assert!(now.low <= then.high && then.low <= now.high, "{then:?} {now:?}");
            let is_decided = |row: &EstimateRow| row.verdict != Verdict::CannotTell;
            assert!(
                then.verdict == now.verdict || !is_decided(then) || !is_decided(now),
                "{then:?} {now:?}"
            );
        }
    }
}

/// A value that was another one.
#[derive(Debug)]
struct Difference {
    path: String,
    then: Value,
    now: Value,
}

impl Difference {
    /// What this release says otherwise on purpose.
    fn is_wanted(&self) -> bool {
        // Which cell measured the query of a churn model was not recorded.
        let query_cell = self.path.ends_with("/query_cell") && self.then == "";
        // Evidence names no counter of a database: what is said is the same of all.
        let counter = match (self.then.as_str(), self.now.as_str()) {
            (Some(then), Some(now)) => then.replace(" (connections.totalCreated)", "") == now,
            _ => false,
        };
        // What an operation is has a name now.
        let operation = match (self.then.as_str(), self.now.as_str()) {
            (Some(then), Some(now)) => {
                let now = now.replace("per new connection", "per operation");
                then == now.replace("per query", "per operation")
            }
            _ => false,
        };
        // What was in memory, and what was read and written of the rest, has rows of its own.
        let storage = self.path.ends_with("/storage") && self.then.is_null();
        // What two runs are compared by was not recorded.
        let log_ratio = self.path.ends_with("/log_ratio") && self.then.is_null();
        // How long slices were was said of the study alone.
        let slice = self.path.ends_with("/slice_s") && self.then.is_null();
        query_cell
            || counter
            || operation
            || storage
            || log_ratio
            || slice
            || self.follows_from_the_estimator()
    }

    /// A variant is compared with both baselines, and by another location than the mean: figures differ, and what is said of them.
    fn follows_from_the_estimator(&self) -> bool {
        const PARTS: [&str; 10] = [
            "block_ratios",
            "capacity",
            "churn",
            "connect_phases",
            "estimates",
            "findings",
            "measurements",
            "noise_floor",
            "published",
            "verdict",
        ];
        const SAID: [&str; 9] = [
            "disturbed",
            "evidence",
            "explanation",
            "findings",
            "location",
            "query_verdict",
            "rule",
            "summary",
            "verdict",
        ];
        let mut parts = self.path.split('/').skip(1);
        let is_figure = |value: &Value| value.is_number() || value.is_null();
        let last = self.path.rsplit('/').next().unwrap_or_default();
        last == "more_time_s"
            || parts.next().is_some_and(|part| PARTS.contains(&part))
                && (SAID.contains(&last) || is_figure(&self.then) && is_figure(&self.now))
    }
}

/// Where two values differ; numbers by more than the order in which they were added up.
fn compare(path: &str, then: &Value, now: &Value, differences: &mut Vec<Difference>) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
            for key in keys {
                let of = |object: &Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                compare(&format!("{path}/{key}"), &of(then), &of(now), differences);
            }
        }
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            for (index, (then, now)) in then.iter().zip(now).enumerate() {
                compare(&format!("{path}/{index}"), then, now, differences);
            }
        }
        (Value::Number(then), Value::Number(now)) if near(then, now) => {}
        _ if then == now => {}
        _ => differences.push(Difference {
            path: path.to_owned(),
            then: then.clone(),
            now: now.clone(),
        }),
    }
}

fn near(then: &Number, now: &Number) -> bool {
    let (Some(then), Some(now)) = (then.as_f64(), now.as_f64()) else {
        return false;
    };
    (then - now).abs() <= 1e-9 * then.abs().max(1.0)
}

fn json(results: &Results) -> Value {
    serde_json::to_value(results).unwrap()
}

#[test]
fn every_output_is_made_of_it() {
    for name in KEPT {
        let run = made_again(name);
        assert_eq!(run.schema, SCHEMA);
        let style = terminal::Style {
            width: 120,
            colour: false,
        };
        let text = terminal::render(&run, style);
        assert!(text.contains(&run.head.arms[2].name), "{name}: {text}");
        let page = html::render(&run).unwrap();
        let start = page.find(r#"id="run">"#).unwrap();
        assert!(page[start..].contains(SCHEMA), "{name}");
    }
}

#[test]
fn counters_of_the_databases_have_the_names_of_today() {
    for (name, has, former) in [
        ("quick", counter::PAGES_READ, "Innodb_buffer_pool_reads"),
        ("mongodb", counter::CONNECTIONS, "connections.totalCreated"),
    ] {
        let recorded = Recorded::open(&folder(name)).unwrap();
        let sample = recorded.samples.get(0).unwrap();
        let counters = &sample.server.server_counters;
        assert!(
            counters.contains_key(has) && !counters.contains_key(former),
            "{counters:?}"
        );
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/former")
        .join(name)
}

/// What the former release made of it.
fn former(name: &str) -> Run {
    let text = fs::read_to_string(folder(name).join("run.json")).unwrap();
    assert!(text.contains("\"ciphertax.run/2\""));
    Run::from_json(&text).unwrap()
}

fn made_again(name: &str) -> Run {
    let recorded = Recorded::open(&folder(name)).unwrap();
    let results = explain(&recorded.head, &recorded.samples, &recorded.looks().unwrap()).unwrap();
    Run::new(recorded.head, results)
}
