//! A report is made by this release from run folders of the release before: two real ones are kept here as they were left,
//! a `quick` on MariaDB and a study of MongoDB.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_explain::explain;
use ciphertax_records::{EstimateRow, Recorded, Run, SCHEMA, Samples, counter};
use ciphertax_report::{html, terminal};

const KEPT: [&str; 2] = ["quick", "mongodb"];

#[test]
fn its_figures_are_made_again_as_they_were() {
    for name in KEPT {
        let former = former(name);
        let run = made_again(name);
        let (then, now) = (&former.results, &run.results);
        assert!(!then.estimates.is_empty(), "{name}");
        expect_same(name, &then.estimates, &now.estimates);
        expect_same(name, &then.noise_floor, &now.noise_floor);
        let values = |run: &Run| -> Vec<f64> {
            let measured = run.results.measurements.iter().map(|row| row.value);
            let phases = run.results.connect_phases.iter().map(|row| row.mean_us);
            measured.chain(phases).collect()
        };
        let (then_values, now_values) = (values(&former), values(&run));
        assert_eq!(then_values.len(), now_values.len(), "{name}");
        for (then, now) in then_values.iter().zip(&now_values) {
            expect_near(name, *then, *now);
        }
        assert_eq!(now.block_ratios.len(), then.block_ratios.len(), "{name}");
        assert_eq!(now.connects, then.connects, "{name}");
        assert_eq!(now.published.len(), then.published.len(), "{name}");
        assert_eq!(now.verdict, then.verdict, "{name}");
    }
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
    let results = explain(&recorded.head, &recorded.samples).unwrap();
    Run::new(recorded.head, results)
}

fn expect_same(name: &str, then: &[EstimateRow], now: &[EstimateRow]) {
    assert_eq!(then.len(), now.len(), "{name}");
    for (then, now) in then.iter().zip(now) {
        let key = |row: &EstimateRow| (row.cell.clone(), row.arm.clone(), row.metric, row.blocks);
        assert_eq!(key(then), key(now), "{name}");
        assert_eq!(
            (then.verdict, then.rule),
            (now.verdict, now.rule),
            "{name}: {then:?}"
        );
        for (then, now) in [
            (then.baseline, now.baseline),
            (then.change, now.change),
            (then.low, now.low),
            (then.high, now.high),
            (then.margin, now.margin),
        ] {
            expect_near(name, then, now);
        }
    }
}

/// The same but for the order in which numbers were added up.
fn expect_near(name: &str, then: f64, now: f64) {
    assert!(
        (then - now).abs() <= 1e-9 * then.abs().max(1.0),
        "{name}: {then} is now {now}"
    );
}
