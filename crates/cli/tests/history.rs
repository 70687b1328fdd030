//! Many runs over time, through the whole command: one that was measured, and copies of it whose figures are known.

use std::fs;
use std::path::Path;

use ciphertax_records::{History, Run, write_run};

use crate::common::{Sandbox, follows, record};

const STUDY: &str = r#"
name = "nightly"
question = "Did it become slower?"
server = "sqlite"
time_s = 6
slice_s = 0.1

[dataset]
tables = 1
table_size = 1000

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "encrypted"
transport = "plain"
at_rest = { sqlcipher = { kdf_iter = 20000 } }

[[cell]]
name = "points"
workload = "oltp_point_select"
load = { connections = 2 }
"#;

/// An archive of twelve runs below `nights`, by month, of which the seventh and later cost more.
fn nights(sandbox: &Sandbox) -> Run {
    fs::write(sandbox.work().join("study.toml"), STUDY).unwrap();
    sandbox
        .finish(&["run", "study.toml", "--out", "run", "--profile=off"])
        .measured();
    let measured = record(&sandbox.run());
    assert!(!measured.results.estimates.is_empty(), "too few blocks");
    for night in 0..12 {
        let mut run = measured.clone();
        let (month, day) = (1 + night / 6, 1 + night % 6);
        run.head.started = format!("2026-{month:02}-{day:02}T01:00:00Z");
        if night >= 6 {
            run.head.servers[0].version = "next".into();
        }
        for row in &mut run.results.estimates {
            let cost = if night >= 6 { 0.5 } else { 0.3 } + 0.002 * f64::from(night * 5 % 7);
            (row.change, row.low, row.high) = (cost, cost - 0.01, cost + 0.01);
        }
        write_night(&sandbox.work().join(format!("nights/{month:02}/{day:02}")), &run);
    }
    measured
}

fn write_night(folder: &Path, run: &Run) {
    fs::create_dir_all(folder).unwrap();
    write_run(folder, run).unwrap();
}

#[test]
fn an_archive_of_runs_says_what_changed_with_which_run() {
    let sandbox = Sandbox::new();
    let measured = nights(&sandbox);
    // What is no run, or damaged, is named and does not stop the rest.
    fs::create_dir_all(sandbox.work().join("nights/notes")).unwrap();
    fs::create_dir_all(sandbox.work().join("nights/broken")).unwrap();
    fs::write(
        sandbox.work().join("nights/broken/run.json"),
        "{\"schema\":\"ciphertax.run/3\"",
    )
    .unwrap();
    let finished = sandbox.finish(&[
        "history",
        "nights",
        "--export",
        "history.html",
        "--export",
        "history.json",
    ]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let text = &finished.stdout;
    for words in [
        "with the run of 2026-02-01",
        "→ SQLite next",
        "Where each version stands",
        "nights/broken: ",
        "Written: history.html",
    ] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
    let json = sandbox.finish(&["history", "nights", "--json"]).stdout;
    assert_eq!(
        json,
        fs::read_to_string(sandbox.work().join("history.json")).unwrap()
    );
    let history: History = serde_json::from_str(&json).unwrap();
    follows("history.schema.json", &serde_json::from_str(&json).unwrap());
    assert_eq!((history.runs.len(), history.left_out.len()), (12, 1));
    for figure in &history.figures {
        assert_eq!(
            figure.changes.iter().map(|change| change.run).collect::<Vec<_>>(),
            [6],
            "{}",
            figure.metric
        );
        assert_eq!(figure.versions.len(), 2);
    }
    for (arguments, words) in [
        (
            ["--cell", "points", "--arm", "encryptd"],
            "no arm is called \"encryptd\"; did you mean encrypted?",
        ),
        (
            ["--cell", "pionts", "--arm", "encrypted"],
            "no cell is called \"pionts\"; did you mean points?",
        ),
    ] {
        let finished = sandbox.finish(&[&["history", "nights"], &arguments[..]].concat());
        finished.refuses(&[words]);
    }
    let chosen = sandbox.finish(&[
        "history", "nights", "--arm", "encr*", "--cell", "points", "--json",
    ]);
    assert_eq!(chosen.stdout, json);
    let chosen = sandbox.finish(&["history", "nights", "--server", "SQL*", "--json"]);
    assert_eq!(chosen.stdout, json);
    sandbox
        .finish(&["history", "nights", "--server", "MariaDB"])
        .refuses(&["no server is called \"MariaDB\"", "there are SQLite"]);
    sandbox
        .finish(&["history", "nights", "--export", "no/where.html"])
        .refuses(&["no/where.html cannot be written: there is no folder no; make it first"]);
    let page = fs::read_to_string(sandbox.work().join("history.html")).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains("2026-02-01"));

    // A run that cannot be read is no reason to choose a study.
    let mut weekly = measured.clone();
    weekly.head.study.name = "weekly".into();
    write_night(&sandbox.work().join("nights/weekly"), &weekly);
    let several = sandbox.finish(&["history", "nights"]);
    assert_eq!(several.code, Some(2), "{several:?}");
    for beginning in [
        "nights/broken is left out: ",
        "ciphertax: there are runs of several studies: nightly (12), weekly (1); choose one with --study",
    ] {
        let is_there = several.stderr.lines().any(|line| line.starts_with(beginning));
        assert!(is_there, "{beginning}: {several:?}");
    }

    // The run that was measured, from its samples.
    let mut cut_off = measured;
    cut_off.results = Default::default();
    write_run(&sandbox.run(), &cut_off).unwrap();
    let alone = sandbox.finish(&["history", "run", "--json"]);
    let history: History = serde_json::from_str(&alone.stdout).unwrap();
    assert!(
        history.verdict.contains("too few") && !history.figures[0].points.is_empty(),
        "{history:?}"
    );
}

#[test]
fn what_is_no_history_is_refused_with_the_remedy() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.work().join("empty")).unwrap();
    sandbox
        .finish(&["history", "empty"])
        .refuses(&["there is no run in empty"]);
    sandbox
        .finish(&["history", "absent"])
        .refuses(&["absent cannot be read"]);
    fs::create_dir(sandbox.work().join("damaged")).unwrap();
    fs::write(sandbox.work().join("damaged/run.json"), "[]").unwrap();
    sandbox
        .finish(&["history", "damaged"])
        .refuses(&["no run with figures", "damaged"]);
    let finished = sandbox.finish(&["history", "empty", "--export", "history.svg"]);
    assert!(
        finished.code == Some(2) && finished.stderr.contains(".html, .json"),
        "{finished:?}"
    );
}
