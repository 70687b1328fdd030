//! The run folder: what a crash leaves can be read, what is not a run is refused.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use ciphertax_base::{AuthenticationFacts, LoginPath, Phase};
use ciphertax_model::workload::CELLS;
use ciphertax_records::*;
use ciphertax_stats::HistogramText;

/// A record as `play` writes it before the first slice, without its results.
const HEAD: &str = r#"{
  "schema": "ciphertax.run/3",
  "tool": {"name": "ciphertax", "version": "0", "commit": "unknown"},
  "host": {"os": "", "kernel": "", "cpu": "", "cpus": 2, "memory_bytes": 0, "virtualization": "none"},
  "started": "2026-01-01T00:00:00Z", "status": {"state": "running"}, "command": "", "seed": 1,
  "study": {"name": "s", "question": "", "time_s": 10.0,
    "arm": [{"name": "plain", "transport": "plain"}, {"name": "tls", "transport": "tls1.3"}],
    "cell": [{"name": "c", "workload": "oltp_point_select", "load": {"connections": 8}}]},
  "servers": [{"id": "1", "name": "s", "cells": ["c"], "product": "MariaDB", "version": "", "tls_library": "",
    "placement": "private", "address": "", "same_host": true, "settings": {}}],
  "arms": []
}"#;

/// A sample with what every sample has.
const SAMPLE: &str = concat!(
    r#"{"cell":"c","block":0,"position":0,"arm":"plain","start_ns":0,"duration_ns":500000000,"#,
    r#""operations":[],"client_cpu":{"total_ns":1,"system_ns":1},"server_cpu":null,"bytes_sent":1,"#,
    r#""bytes_received":1,"client_context_switches":1,"server_context_switches":null,"steal_ns":0,"#,
    r#""workers":1}"#
);

#[test]
fn a_line_that_a_crash_cut_off_is_passed_over() {
    let (_temporary, folder) = run_folder();
    append(&folder, &format!("{SAMPLE}\n{}", &SAMPLE[..100]));
    let samples = Recorded::open(&folder).unwrap().read_all().unwrap().samples.len();
    assert_eq!(samples, 1);
}

#[test]
fn a_damaged_line_is_named() {
    let (_temporary, folder) = run_folder();
    append(&folder, &format!("{SAMPLE}\n{}\n", &SAMPLE[..100]));
    let recorded = Recorded::open(&folder).unwrap();
    let message = recorded.read_all().unwrap_err().to_string();
    // The first line says the version.
    assert!(message.contains("samples.jsonl: line 3"), "{message}");
}

#[test]
fn a_folder_without_a_run_is_refused_with_what_is_missing() {
    let temporary = tempfile::tempdir().unwrap();
    let message = Recorded::open(temporary.path()).unwrap_err().to_string();
    assert!(message.contains("is not a run folder: run.json"), "{message}");
    let message = Recorded::open(Path::new("/nonexistent")).unwrap_err().to_string();
    assert!(message.contains("is not a run folder"), "{message}");
}

#[test]
fn another_format_is_refused_by_its_name_with_the_remedy() {
    let (_temporary, folder) = run_folder();
    fs::write(
        folder.join("run.json"),
        HEAD.replace("ciphertax.run/3", "ciphertax.run/9"),
    )
    .unwrap();
    let message = Recorded::open(&folder).unwrap_err().to_string();
    for words in [
        "run.json: it has the format \"ciphertax.run/9\"",
        "this release reads \"ciphertax.run/3\"",
        "use the release of ciphertax that wrote it",
    ] {
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_folder_that_exists_is_never_written_into() {
    let temporary = tempfile::tempdir().unwrap();
    let error = RunFolder::create(temporary.path()).unwrap_err();
    assert!(matches!(error, RecordError::FolderExists(_)), "{error}");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn samples_of_another_format_are_refused_by_its_name_and_those_without_one_are_damaged() {
    let (_temporary, folder) = run_folder();
    for (first_line, words) in [
        (
            "{\"schema\":\"ciphertax.samples/9\"}",
            [
                "\"ciphertax.samples/9\"",
                "this release reads \"ciphertax.samples/2\"",
            ],
        ),
        (SAMPLE, ["samples.jsonl", "line 1 does not say its version"]),
    ] {
        fs::write(folder.join("samples.jsonl"), format!("{first_line}\n{SAMPLE}\n")).unwrap();
        let message = Recorded::open(&folder).unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}

#[test]
fn what_a_load_yielded_is_read_by_itself_as_it_is_read_with_the_rest() {
    let (_temporary, folder) = run_folder();
    let mut sample: Sample = serde_json::from_str(SAMPLE).unwrap();
    let latency = HistogramText("latencies".into());
    sample.load = Yield {
        operations: vec![OperationSample {
            kind: "connect".into(),
            count: 9,
            errors: 1,
            latency_sum_ns: 900,
            latency: latency.clone(),
        }],
        logins: BTreeMap::from([(
            AuthenticationFacts {
                method: "ed25519".into(),
                path: LoginPath::Single,
            },
            9,
        )]),
        handshakes: Some(Handshakes {
            count: 9,
            ..Handshakes::default()
        }),
        phases: vec![PhaseSample {
            phase: Phase::Tls,
            count: 9,
            wall_sum_ns: 800,
            client_cpu_sum_ns: Some(700),
            bytes_sent: 600,
            bytes_received: 500,
            flights: 9,
            wall: latency,
        }],
        client_bound: true,
        ..sample.load
    };
    sample.server.server_counters = BTreeMap::from([("pages_read".into(), 3)]);
    sample.void = Some(VoidReason::Empty);
    append(&folder, &format!("{}\n", serde_json::to_string(&sample).unwrap()));
    let samples = SampleFile::open(&folder.join("samples.jsonl")).unwrap();
    assert_eq!(samples.get(0).unwrap().as_ref(), &sample);
    assert_eq!(samples.load(0).unwrap().as_ref(), &sample.load);
}

#[test]
fn what_is_written_is_what_is_read() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("run");
    let sample: Sample = serde_json::from_str(SAMPLE).unwrap();
    let mut written = RunFolder::create(&folder).unwrap();
    let round = Round {
        cell: "c".into(),
        arms: vec![RoundOfArm {
            arm: "plain".into(),
            bytes_written: Some(4096),
            ..RoundOfArm::default()
        }],
        ..Round::default()
    };
    // Also where a line begins in one piece that is read and ends in the next.
    for _ in 0..500 {
        written.append(&sample).unwrap();
        written.append_round(&round).unwrap();
    }
    let head: Head = serde_json::from_str(HEAD).unwrap();
    write_run(&folder, &Run::new(head.clone(), Results::default())).unwrap();
    let recorded = Recorded::open(&folder).unwrap();
    assert_eq!(recorded.head, head);
    let log = recorded.read_all().unwrap();
    assert_eq!(log.samples, vec![sample; 500]);
    assert_eq!(log.rounds, vec![round; 500]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no draft is left");
}

#[test]
fn counts_of_a_workload_are_written_by_their_names_where_there_are_some() {
    let mut sample: Sample = serde_json::from_str(SAMPLE).unwrap();
    assert_eq!(sample.load.counts_of(CELLS), [0; 3]);
    let written = serde_json::to_string(&sample).unwrap();
    assert!(!written.contains("counts"), "{written}");
    let names = CELLS.map(str::to_owned).into_iter();
    sample.load.counts = names.zip(1..).collect();
    let written = serde_json::to_value(&sample).unwrap();
    let [encrypted, decrypted, named] = CELLS;
    assert_eq!(
        written["counts"],
        serde_json::json!({ encrypted: 1, decrypted: 2, named: 3 })
    );
    let read: Sample = serde_json::from_value(written).unwrap();
    assert_eq!(read.load.counts_of(CELLS), [1, 2, 3]);
}

fn run_folder() -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("run");
    RunFolder::create(&folder).unwrap();
    fs::write(folder.join("run.json"), HEAD).unwrap();
    (temporary, folder)
}

fn append(folder: &Path, text: &str) {
    let mut samples = OpenOptions::new()
        .append(true)
        .open(folder.join("samples.jsonl"))
        .unwrap();
    samples.write_all(text.as_bytes()).unwrap();
}
