//! The page as a reader sees it, in headless Chromium; and that the check would notice if something were wrong.

mod fixture;

use ciphertax_model::Metric;
use ciphertax_records::{BlockRatios, Run, RunStatus, Side, VoidReason};
use ciphertax_report::html;
use ciphertax_report_check::check_report;
use ciphertax_stats::Verdict;

/// With `KEEP_REPORT=report.html` the page stays there, to be looked at.
#[test]
fn a_complete_run_is_shown_as_it_is() {
    let mut run = fixture::with_disks();
    run.results.storage = fixture::with_storage().results.storage;
    let page = html::render(&run).unwrap();
    if let Some(kept) = std::env::var_os("KEEP_REPORT") {
        std::fs::write(kept, &page).unwrap();
    }
    check(&page, &run).unwrap();
}

/// With `KEEP_WHY=report.html` the page stays there.
#[test]
fn a_run_that_was_looked_into_is_shown_as_it_is() {
    let (run, pictures) = fixture::why::with_why();
    let page = html::render_with(&run, &pictures).unwrap();
    if let Some(kept) = std::env::var_os("KEEP_WHY") {
        std::fs::write(kept, &page).unwrap();
    }
    check(&page, &run).unwrap();
}

#[test]
fn a_run_without_the_servers_cpu_is_shown_as_it_is() {
    let mut run = fixture::run();
    let seen = |metric: Metric| metric != Metric::ServerCpuPerOp;
    run.results.measurements.retain(|row| seen(row.metric));
    run.results.estimates.retain(|row| seen(row.metric));
    run.results.noise_floor.retain(|row| seen(row.metric));
    run.results.block_ratios.retain(|row| seen(row.metric));
    run.results.churn.retain(|row| row.side == Side::Client);
    run.results.capacity.retain(|row| row.side == Side::Client);
    run.head.status = RunStatus::Partial {
        reason: "the time was spent".into(),
    };
    check(&html::render(&run).unwrap(), &run).unwrap();
}

#[test]
fn a_run_that_measured_nothing_is_shown_as_it_is() {
    let mut run = fixture::run();
    run.head.status = RunStatus::Running;
    run.results.measurements.clear();
    run.results.estimates.clear();
    run.results.noise_floor.clear();
    run.results.connect_phases.clear();
    run.results.churn.clear();
    run.results.capacity.clear();
    run.results.findings.clear();
    run.results.void.clear();
    for row in &mut run.results.block_ratios {
        row.ratios.clear();
    }
    for arm in &mut run.head.arms {
        arm.sessions.clear();
    }
    check(&html::render(&run).unwrap(), &run).unwrap();
}

#[test]
fn blocks_far_from_all_others_fit_their_charts() {
    let mut run = fixture::run_of_many_cells();
    let largest = [
        1.1, 1.5, 2.0, 3.0, 6.0, 6.5, 11.0, 13.0, 51.0, 101.0, 120.0, 201.0,
    ];
    let cells: Vec<String> = run.cells().map(|cell| cell.found.name.clone()).collect();
    for (cell, ratio) in cells.iter().zip(largest.into_iter().cycle()) {
        let of_cell = |series: &&mut BlockRatios| series.cell == *cell;
        for series in run.results.block_ratios.iter_mut().filter(of_cell) {
            series.ratios[1] = ratio;
        }
    }
    check(&html::render(&run).unwrap(), &run).unwrap();
}

#[test]
fn long_names_and_verdicts_of_each_side_fit_the_answer() {
    let mut run = fixture::with_disks();
    for row in &mut run.results.estimates {
        let (margin, verdict) = match row.metric {
            Metric::ServerCpuPerOp => (0.025, Verdict::NoCost),
            _ => (0.03, Verdict::CannotTell),
        };
        (row.margin, row.floor, row.verdict) = (margin, Some(margin), verdict);
    }
    let renamed = serde_json::to_string(&run)
        .unwrap()
        .replace("\"tls1.3\"", "\"SCRAM-SHA-256 over TLS 1.3\"");
    let renamed = renamed.replace(
        "\"transport\":\"SCRAM-SHA-256 over TLS 1.3\"",
        "\"transport\":\"tls1.3\"",
    );
    let run: Run = serde_json::from_str(&renamed).unwrap();
    check(&html::render(&run).unwrap(), &run).unwrap();
}

#[test]
fn a_study_of_twelve_cells_and_six_arms_is_short_before_it_is_unfolded() {
    let run = fixture::run_of_many_cells();
    check(&html::render(&run).unwrap(), &run).unwrap();
}

#[test]
fn hostile_text_is_shown_as_text() {
    let hostile = "</script><script>console.warn('owned')</script><img src=http://127.0.0.1:9/x>";
    let mut run = fixture::run();
    run.results.verdict = hostile.into();
    run.head.servers[0].version = hostile.into();
    run.results.void[0].reason = VoidReason::ServerDied {
        detail: hostile.into(),
    };
    check(&html::render(&run).unwrap(), &run).unwrap();
}

#[test]
fn a_script_that_is_not_ours_does_not_run() {
    let run = fixture::run();
    let page = html::render(&run).unwrap();
    let injected = page.replacen("</body>", "<script>console.warn('owned')</script></body>", 1);
    let faults = check(&injected, &run).unwrap_err();
    assert!(faults.contains("Content Security Policy"), "{faults}");
    assert!(!faults.contains("the console says"), "{faults}");
}

#[test]
fn the_check_notices_what_is_wrong() {
    let run = fixture::run();
    // What is packed cannot be tampered with; it is of another run.
    let mut other = run.clone();
    other.results.estimates[0].low -= 0.001;
    other.results.churn.retain(|row| row.side != Side::Client);
    let page = html::render(&other).unwrap();
    let tampered = page
        .replacen("+7.8 %</data>", "+7.9 %</data>", 1)
        .replacen(
            "<h2>Why</h2>",
            "<h2>Why</h2><details><summary>more</summary></details>",
            1,
        )
        .replacen("<th scope=\"row\">connect</th>", "<th></th>", 1)
        .replacen("data-per-rate=\"", "data-per-rate=\"9", 1)
        .replacen("style=\"left:", "style=\"left:50%;--was:", 400)
        .replacen("http-equiv=\"Content-Security-Policy\"", "name=\"no-policy\"", 1)
        .replacen(
            "</body>",
            "<img src=\"http://127.0.0.1:9/x.png\"><script>console.warn('w')</script></body>",
            1,
        )
        .replacen(
            "</style>",
            "body { min-width: 2000px } footer { margin-top: 9000px !important }</style>",
            1,
        );
    let faults = check(&tampered, &run).unwrap_err();
    for fault in [
        "the embedded record is not the run",
        "the change of oltp_point_select tls1.3 client_cpu_per_op is not the record's",
        "the mark of oltp_point_select tls1.3 client_cpu_per_op is not the record's",
        "why has an empty part",
        "cells has a row without a name",
        "is shown as \"+7.9 %\"",
        "the chart churn connect client is missing",
        "the page fetches http://127.0.0.1:9/x.png",
        "the console says",
        "px long, not 2500 at most",
        "px wide on a screen of 390",
        "per second the cores of",
        "collide",
    ] {
        assert!(
            faults.contains(fault),
            "{fault:?} went unnoticed; noticed was:\n{faults}"
        );
    }
}

fn check(page: &str, run: &Run) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("report.html");
    std::fs::write(&path, page).map_err(|error| error.to_string())?;
    check_report(&path, run)
}
