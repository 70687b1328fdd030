//! `compare` and `gate`: of recorded runs of known cost, and of real ones.

use ciphertax_records::*;
use ciphertax_stats::{BoundVerdict, CostVerdict};
use serde_json::json;

use crate::common::*;
use crate::record;

const STUDY: &str = r#"
name = "made-up"
question = "Does it add up?"
time_s = 60
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "select", workload = "oltp_point_select", load = { connections = 8 } }]
"#;

const OPERATIONS: u64 = 1_000;

/// Leaves a run folder: the plain arm takes 20 µs of CPU on either side, the other one so much, with 3 % of noise.
fn leave_run(folder: &Path, study: &str, tls_us: f64, seed: u64) {
    let study = Study::from_toml(study).unwrap();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        1.0 + 0.03 * ((state >> 40) as f64 / (1_u64 << 24) as f64 - 0.5)
    };
    let mut left = RunFolder::create(folder).unwrap();
    for block in 0..30 {
        for (position, arm) in study.measured_arms().iter().enumerate() {
            let us = if arm.name == "tls" { tls_us } else { 20.0 };
            let slice = record::slice_id("select", block, position as u32, &arm.name);
            left.append(&record::sample(slice, OPERATIONS, [us * noise(); 2]))
                .unwrap();
        }
    }
    write_run(folder, &Run::new(record::head(study), Results::default())).unwrap();
}

/// A sandbox with the runs `before` and `same`, which cost 30 %, and `dearer`, which costs 45 %.
fn with_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, us, seed) in [("before", 26.0, 1), ("same", 26.0, 2), ("dearer", 29.0, 3)] {
        leave_run(&sandbox.work().join(name), STUDY, us, seed);
    }
    sandbox
}

#[test]
fn runs_are_compared_in_every_format() {
    let sandbox = with_runs();
    let text = sandbox.finish(&["compare", "before", "same", "dearer/run.json"]);
    assert_eq!(text.code, Some(0), "{text:?}");
    text.shows("A: before, … B: same, … C: dearer, … is dearer … the same ± … ratio of ratios");
    let json = sandbox.finish(&["compare", "before", "dearer", "--json"]);
    follows("comparison", &serde_json::from_str(&json.stdout).unwrap());
    let comparison: Comparison = serde_json::from_str(&json.stdout).unwrap();
    assert!(
        comparison
            .changes
            .iter()
            .any(|change| change.headline && change.verdict == CostVerdict::Dearer)
    );
    for (file, beginning) in [("a.html", "<!DOCTYPE html>"), ("a.md", "### "), ("a.json", "{")] {
        let finished = sandbox.finish(&["compare", "before", "dearer/", "--export", file]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.shows("is dearer");
        let text = fs::read_to_string(sandbox.work().join(file)).unwrap();
        assert!(text.trim_start().starts_with(beginning), "{file}: {text}");
    }
    let refused = sandbox.finish(&["compare", "before", "dearer", "--export", "a.pdf"]);
    let is_refused = refused.code == Some(2) && refused.stderr.contains(".md, .html, .json");
    assert!(is_refused, "{refused:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let sandbox = with_runs();
    leave_run(
        &sandbox.work().join("other"),
        &STUDY.replace("= 8", "= 4"),
        26.0,
        4,
    );
    sandbox
        .finish(&["compare", "before", "other"])
        .refuses("nothing can be compared with before … cell select … load.connections is 4");
    sandbox
        .finish(&["compare", "before", "nowhere"])
        .refuses("nowhere is not a run folder");
    for (arguments, words) in [
        (&["compare", "before"][..], "RUN"),
        (
            &["compare", "before", "same", "--margin", "2"],
            "give a percentage",
        ),
    ] {
        let finished = sandbox.finish(arguments);
        finished.fails(2, words);
    }
}

/// Changes the record of a run.
fn edit(folder: &Path, edit: impl FnOnce(&mut Value)) {
    let path = folder.join("run.json");
    let mut run = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    edit(&mut run);
    fs::write(&path, run.to_string()).unwrap();
}

#[test]
fn a_run_is_not_held_to_itself_and_runs_in_the_wrong_order_are_said_to_be() {
    let sandbox = with_runs();
    for arguments in [
        &["compare", "before", "same", "./before"][..],
        &["gate", "before", "--baseline", "before/run.json"],
    ] {
        sandbox
            .finish(arguments)
            .refuses("is the same run as one before it");
    }
    edit(&sandbox.work().join("same"), |run| {
        run["started"] = "2025-12-24T03:04:05Z".into();
    });
    let words = "same began 2025-12-24T03:04:05Z, before before";
    for (arguments, is_warned) in [
        (["compare", "before", "same"].to_vec(), true),
        (["compare", "same", "before"].to_vec(), false),
        (["gate", "same", "--baseline", "before"].to_vec(), true),
    ] {
        let finished = sandbox.finish(&arguments);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert_eq!(finished.stderr.contains(words), is_warned, "{finished:?}");
    }
}

#[test]
fn what_is_said_of_a_run_that_was_cut_off_does_not_end_with_0() {
    let sandbox = with_runs();
    edit(&sandbox.work().join("same"), |run| {
        run["status"] = json!({ "state": "partial", "reason": "stopped by SIGINT" });
    });
    for (arguments, code, words) in [
        (
            ["same", "--baseline", "before"],
            4,
            "The run was cut off: stopped by SIGINT.",
        ),
        (
            ["before", "--baseline", "same"],
            4,
            "The earlier run was cut off: stopped by SIGINT.",
        ),
        (["dearer", "--baseline", "same"], 1, "The earlier run was cut off"),
    ] {
        let finished = sandbox.finish(&[&["gate"], &arguments[..]].concat());
        assert_eq!(finished.code, Some(code), "{finished:?}");
        finished.shows(words);
    }
    for (runs, code) in [(["before", "same"], 4), (["before", "dearer"], 0)] {
        let finished = sandbox.finish(&[&["compare"], &runs[..]].concat());
        assert_eq!(finished.code, Some(code), "{finished:?}");
    }
}

#[test]
fn what_a_message_names_cannot_rule_the_terminal() {
    let sandbox = with_runs();
    let finished = sandbox.finish(&["compare", "before", "no\u{1b}[2Jwhere"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    let is_harmless = finished.stderr.contains("is not a run folder") && !finished.stderr.contains('\u{1b}');
    assert!(is_harmless, "{finished:?}");
}

#[test]
fn a_gate_ends_with_0_within_1_over_and_3_where_it_cannot_tell() {
    let sandbox = with_runs();
    for (arguments, code, words) in [
        (&["--budget", "tls: server_cpu_per_op <= 35%"][..], 0, "Within"),
        (&["--budget", "tls: server_cpu_per_op <= 25%"], 1, "Over"),
        (&["--budget", "select/tls: throughput >= -20%"], 1, "Over"),
        (
            &["--budget", "tls: server_cpu_per_op <= 30%"],
            3,
            "the interval includes the limit",
        ),
        (
            &[
                "--budget",
                "tls: server_cpu_per_op <= 30%",
                "--budget",
                "*: client_cpu_per_op <= 9%",
            ],
            1,
            "1 of 2 costs exceeded",
        ),
        (&["--baseline", "same"], 0, "Within"),
    ] {
        let finished = sandbox.finish(&[&["gate", "before"], arguments].concat());
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        finished.shows(words);
    }
    let risen = sandbox.finish(&["gate", "dearer", "--baseline", "before", "--json"]);
    assert_eq!(risen.code, Some(1), "{risen:?}");
    follows("gate", &serde_json::from_str(&risen.stdout).unwrap());
    let gate: Gate = serde_json::from_str(&risen.stdout).unwrap();
    let found = (gate.verdict, gate.baselines);
    assert_eq!(found, (BoundVerdict::Over, vec!["before".to_owned()]));
    let allowed = sandbox.finish(&["gate", "dearer", "--baseline", "before", "--margin", "20%"]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
}

#[test]
fn a_gate_holds_to_the_budgets_of_the_study_and_writes_junit() {
    let sandbox = Sandbox::new();
    let study =
        format!("{STUDY}\n[[budget]]\narm = \"tls\"\nmetric = \"server_cpu_per_op\"\nat_most = 0.2\n");
    leave_run(&sandbox.work().join("run"), &study, 26.0, 1);
    let finished = sandbox.finish(&[
        "gate",
        "run",
        "--export",
        "gate.xml",
        "--budget",
        "tls: client_cpu_per_op <= 90%",
    ]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let xml = fs::read_to_string(sandbox.work().join("gate.xml")).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{xml}");
}

#[test]
fn a_gate_without_anything_to_hold_to_or_with_a_budget_of_nothing_is_wrong_use() {
    let sandbox = with_runs();
    for [budget, words] in rows(
        r#"
        tsl: server_cpu_per_op <= 35% → did you mean "tls"
        plain: server_cpu_per_op <= 35% → is the baseline
        tls: server_cpu <= 35% → did you mean "server_cpu_per_op"
        "#,
    ) {
        sandbox
            .finish(&["gate", "before", "--budget", budget])
            .refuses(words);
    }
    for [arguments, words] in rows(
        "
        gate before → before has no budget
        gate before --baseline nowhere → nowhere is not a run folder
        gate before --baseline same --export no/where.xml → no/where.xml cannot be written: there is no folder no; make it first
        compare before same --export no/where.md → no/where.md cannot be written: there is no folder no; make it first
        ",
    ) {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        sandbox.finish(&arguments).refuses(words);
    }
}

#[test]
fn a_damaged_run_is_refused() {
    let sandbox = with_runs();
    let samples = sandbox.work().join("same/samples.jsonl");
    let text = fs::read_to_string(&samples).unwrap();
    fs::write(&samples, text.replacen("\"total_ns\":", "\"total_ns\":-", 9)).unwrap();
    let finished = sandbox.finish(&["compare", "before", "same"]);
    assert_eq!(finished.code, Some(2), "{finished:?}");
    let is_refused = finished.stderr.contains("damaged") && finished.stdout.is_empty();
    assert!(is_refused, "{finished:?}");
}

mod test_all {
    use super::*;

    /// Twice the same on a real server: nothing may be said to have changed by much, and the costs of TLS are what they are.
    #[test]
    fn two_real_runs_of_one_server_are_compared_and_held_to_budgets() {
        let sandbox = Sandbox::new();
        let study = STUDY.replace(
            "time_s = 60",
            "time_s = 12\nslice_s = 0.1\nplacement = \"together\"\nprofile = \"off\"",
        );
        let study = format!("{}\n[dataset]\ntable_size = 1000\n", study.replace("= 8", "= 2"));
        fs::write(sandbox.work().join("study.toml"), study).unwrap();
        for run in ["one", "two"] {
            sandbox.finish(&["run", "study.toml", "--out", run]).measured();
        }
        let finished = sandbox.finish(&["compare", "one", "two", "--json"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let comparison: Comparison = serde_json::from_str(&finished.stdout).unwrap();
        assert!(comparison.not_comparable.is_empty(), "{comparison:?}");
        let what: Vec<&str> = comparison
            .differences
            .iter()
            .map(|row| row.what.as_str())
            .collect();
        assert!(
            what.is_empty(),
            "nothing differs between them: {:?}",
            comparison.differences
        );
        let headlines: Vec<_> = comparison
            .changes
            .iter()
            .filter(|change| change.headline)
            .collect();
        assert_eq!(headlines.len(), 3, "{headlines:?}");
        for change in &headlines {
            let ratio = (1.0 + change.after.value) / (1.0 + change.before.value) - 1.0;
            assert!((change.change.value - ratio).abs() < 1e-6, "{change:?}");
            // The same server twice: whatever the machine does meanwhile is in both arms.
            assert!(change.change.value.ln_1p().abs() < 0.4, "{change:?}");
        }
        // Held to the other run, every cost is what the comparison says, and its verdict the status.
        let finished = sandbox.finish(&["gate", "two", "--baseline", "one", "--json"]);
        let gate: Gate = serde_json::from_str(&finished.stdout).unwrap();
        let code = match gate.verdict {
            BoundVerdict::Within => 0,
            BoundVerdict::Over => 1,
            BoundVerdict::CannotTell => 3,
        };
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert_eq!(gate.rows.len() + gate.not_held.len(), headlines.len(), "{gate:?}");
        for row in &gate.rows {
            let same = headlines.iter().find(|change| change.metric == row.metric);
            assert_eq!(row.measured, same.map(|change| change.change), "{row:?}");
        }
        for (budget, code) in [
            ("tls: server_cpu_per_op <= 900%", 0),
            ("tls: server_cpu_per_op <= -50%", 1),
        ] {
            let finished = sandbox.finish(&["gate", "two", "--budget", budget]);
            assert_eq!(finished.code, Some(code), "{budget}: {finished:?}");
        }
        sandbox.expect_nothing_left();
    }
}
