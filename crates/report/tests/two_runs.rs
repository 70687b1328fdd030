//! What a comparison and a gate look like.

use ciphertax_model::Metric;
use ciphertax_records::*;
use ciphertax_report::terminal::{self, Style};
use ciphertax_report::{compare, gate, html, json};
use ciphertax_stats::{BoundVerdict, CostVerdict, Rule};

use crate::fixture::interval;

const STYLE: Style = Style {
    width: 100,
    colour: false,
};

fn change(
    arm: &str,
    metric: Metric,
    [before, after]: [f64; 2],
    verdict: CostVerdict,
    rule: Rule,
) -> CostChange {
    let ratio = (1.0 + after) / (1.0 + before) - 1.0;
    CostChange {
        run: 1,
        cell: "oltp_point_select".into(),
        arm: arm.into(),
        metric,
        headline: metric != Metric::LatencyP95,
        before: interval(before, 0.01),
        after: interval(after, 0.01),
        unit: metric.unit().into(),
        difference_before: interval(20.0 * before, 0.2),
        difference_after: interval(20.0 * after, 0.2),
        change: interval(ratio, 0.014),
        verdict,
        rule,
        floor: Some(0.012),
        margin: 0.028,
        adjusted_p_value: 0.000_4,
    }
}

fn comparison() -> Comparison {
    let run = |name: &str, started: &str| ComparedRun {
        name: name.into(),
        started: started.into(),
        study: "quick".into(),
        cut_off: None,
    };
    let differs = |what: &str, one: &str, other: Option<&str>| HeadDifference {
        what: what.into(),
        values: vec![Some(one.into()), other.map(Into::into)],
    };
    Comparison {
        schema: COMPARISON_SCHEMA.into(),
        verdict: "The cost changed: tls1.3 in oltp_point_select is dearer, server CPU per operation +8.4 % [7.0, 9.8] (+19.9 % → \
                  +30.0 %, +3.98 µs → +6.00 µs). 3 costs are the same, 2 costs cannot be told."
            .into(),
        runs: vec![
            run("runs/10.11", "2026-01-02T03:04:05Z"),
            ComparedRun {
                cut_off: Some("stopped by SIGINT".into()),
                ..run("runs/11.8", "2026-02-02T03:04:05Z")
            },
        ],
        differences: vec![
            differs("server", "MariaDB 10.11.14", Some("MariaDB 11.8.2")),
            differs("cipher of tls1.3", "TLS_AES_256_GCM_SHA384", Some("TLS_AES_128_GCM_SHA256")),
            differs("setting innodb_log_writes", "1", None),
        ],
        not_comparable: vec![NotComparable {
            run: 1,
            what: "cell bulk_read".into(),
            why: "load.connections is 4 in runs/11.8 and 2 in runs/10.11".into(),
        }],
        changes: vec![
            change("tls1.3", Metric::ClientCpuPerOp, [0.44, 0.45], CostVerdict::Same, Rule::WithinMargin),
            change("tls1.3", Metric::ServerCpuPerOp, [0.199, 0.3], CostVerdict::Dearer, Rule::BeyondFloor),
            change("tls1.3", Metric::Throughput, [-0.13, -0.14], CostVerdict::CannotTell, Rule::WithinFloor),
            change("tls1.2", Metric::ClientCpuPerOp, [0.38, 0.38], CostVerdict::Same, Rule::WithinMargin),
            change("tls1.2", Metric::ServerCpuPerOp, [0.17, 0.12], CostVerdict::Cheaper, Rule::BeyondFloor),
            change("tls1.2", Metric::Throughput, [-0.13, -0.12], CostVerdict::CannotTell, Rule::IntervalTooWide),
            change("tls1.2", Metric::LatencyP95, [0.1, 0.2], CostVerdict::Dearer, Rule::BeyondFloor),
        ],
    }
}

fn row(arm: &str, metric: Metric, limit: f64, measured: Option<f64>, verdict: BoundVerdict) -> GateRow {
    let rule = match verdict {
        BoundVerdict::Over => Rule::BeyondFloor,
        BoundVerdict::Within => Rule::WithinMargin,
        BoundVerdict::CannotTell => Rule::IntervalTooWide,
    };
    GateRow {
        held_to: HeldTo::Budget,
        cell: "oltp_point_select".into(),
        arm: arm.into(),
        metric,
        limit,
        measured: measured.map(|value| interval(value, 0.012)),
        verdict,
        rule: measured.map(|_| rule),
        unmeasured: measured
            .is_none()
            .then(|| "the arm was left out, because the server does not offer TLSv1.1".into()),
        floor: Some(0.011),
        adjusted_p_value: 0.02,
        precision_needed: (measured.is_some() && verdict == BoundVerdict::CannotTell).then_some(0.0042),
        time_needed_s: None,
    }
}

fn held() -> Gate {
    use BoundVerdict::{CannotTell, Over, Within};
    Gate {
        schema: GATE_SCHEMA.into(),
        verdict: Over,
        run: "runs/11.8".into(),
        started: "2026-02-02T03:04:05Z".into(),
        cut_off: None,
        baselines: vec!["runs/10.11".into()],
        baseline_cut_off: Some("stopped by SIGTERM".into()),
        differences: comparison().differences,
        not_comparable: comparison().not_comparable,
        not_held: vec![NotHeld {
            cell: "oltp_point_select".into(),
            arm: "tls1.3".into(),
            metric: Metric::Throughput,
            why: "the load generator was the bottleneck in both runs, so the figure is the client's".into(),
        }],
        rows: vec![
            row("tls1.3", Metric::ServerCpuPerOp, 0.35, Some(0.41), Over),
            row("tls1.2", Metric::ServerCpuPerOp, 0.35, Some(0.29), Within),
            row("tls1.3", Metric::Throughput, -0.15, Some(-0.146), CannotTell),
            row("tls1.1", Metric::ServerCpuPerOp, 0.35, None, CannotTell),
            GateRow {
                held_to: HeldTo::EarlierRun,
                ..row("tls1.3", Metric::ClientCpuPerOp, 0.028, Some(0.001), Within)
            },
        ],
    }
}

#[test]
fn a_comparison_on_the_terminal() {
    insta::assert_snapshot!(terminal::compare(&comparison(), STYLE).unwrap());
}

#[test]
fn a_comparison_as_markdown() {
    insta::assert_snapshot!(compare::markdown(&comparison()));
}

#[test]
fn a_gate_on_the_terminal() {
    insta::assert_snapshot!(terminal::gate(&held(), STYLE));
}

#[test]
fn what_cannot_be_told_for_one_reason_is_said_once_and_the_limit_of_speed_explained() {
    let open = GateRow {
        held_to: HeldTo::EarlierRun,
        precision_needed: None,
        time_needed_s: Some(300.0),
        ..row(
            "tls1.3",
            Metric::Throughput,
            1.0 / 1.05 - 1.0,
            Some(0.0),
            BoundVerdict::CannotTell,
        )
    };
    let mut gate = held();
    gate.rows = vec![open; 18];
    let style = Style {
        width: terminal::AS_WIDE_AS_NEEDED,
        ..STYLE
    };
    let text = terminal::gate(&gate, style);
    for words in [
        "All 18: not decided, because the interval includes the limit; measure for 5 min in each run, or allow more with --margin",
        "A limit of −4.8 % of throughput is a margin of 5",
    ] {
        assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
    }
    gate.rows[3].verdict = BoundVerdict::Within;
    assert!(terminal::gate(&gate, style).contains("17 of 18: not decided"));
}

#[test]
fn tables_at_80_columns_break_no_name() {
    let style = Style { width: 80, ..STYLE };
    for text in [
        terminal::gate(&held(), style),
        terminal::compare(&comparison(), style).unwrap(),
    ] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("oltp_point_select  "), "{text}");
    }
}

#[test]
fn a_gate_as_junit() {
    insta::assert_snapshot!(gate::junit(&held()).unwrap());
}

#[test]
fn both_survive_the_way_to_json_and_back() {
    let back: Comparison = serde_json::from_str(&json::render(&comparison())).unwrap();
    assert_eq!(back, comparison());
    let back: Gate = serde_json::from_str(&json::render(&held())).unwrap();
    assert_eq!(back, held());
}

/// With `KEEP_COMPARISON=compare.html` the page stays there, to be looked at.
#[test]
fn the_page_has_every_change_and_no_script_that_runs() {
    let page = html::compare(&comparison()).unwrap();
    if let Some(kept) = std::env::var_os("KEEP_COMPARISON") {
        std::fs::write(kept, &page).unwrap();
    }
    assert_eq!(page.matches("<tr data-cell=").count(), comparison().changes.len());
    assert!(page.contains("+8.4 %") && page.contains("MariaDB 11.8.2") && page.contains("stopped by SIGINT"));
    assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
}

#[test]
fn hostile_text_stays_text_in_every_output() {
    let hostile = "</script><script>alert(1)</script>\u{1b}[31m\n# @all | x";
    let mut comparison = comparison();
    comparison.verdict = hostile.into();
    comparison.runs[0].name = hostile.into();
    comparison.runs[1].cut_off = Some(hostile.into());
    comparison.differences[0].values[0] = Some(hostile.into());
    comparison.not_comparable[0].why = hostile.into();
    comparison.changes[0].arm = hostile.into();
    let page = html::compare(&comparison).unwrap();
    assert!(!page.contains("<script>alert"));
    let markdown = compare::markdown(&comparison);
    assert!(!markdown.contains("<script>") && !markdown.contains("\n# ") && !markdown.contains("@all"));
    assert!(!terminal::compare(&comparison, STYLE).unwrap().contains('\u{1b}'));
    let mut gate = held();
    gate.rows[0].arm = hostile.into();
    gate.rows[3].unmeasured = Some(hostile.into());
    gate.run = hostile.into();
    gate.cut_off = Some(hostile.into());
    gate.not_held[0].arm = hostile.into();
    assert!(!terminal::gate(&gate, STYLE).contains('\u{1b}'));
    assert!(!gate::junit(&gate).unwrap().contains("<script>"));
}
