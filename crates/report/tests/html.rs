//! What the page is made of; `browser.rs` looks at it as a reader does.

mod fixture;

use ciphertax_model::record::{RunStatus, VoidReason};
use ciphertax_report::{html, json};

#[test]
fn hostile_text_is_escaped_in_the_page_and_in_the_embedded_record() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" onclick=\"x";
    let mut run = fixture::run();
    run.servers[0].version = hostile.into();
    run.verdict = hostile.into();
    run.command = hostile.into();
    run.status = RunStatus::Partial {
        reason: hostile.into(),
    };
    run.arms[2].name = hostile.into();
    run.arms[2].sessions[0].proofs[0].evidence = hostile.into();
    run.cells[0].name = hostile.into();
    run.void[0].reason = VoidReason::ServerDied {
        detail: hostile.into(),
    };
    run.findings[0].summary = hostile.into();
    let page = html::render(&run).unwrap();
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img"));
    assert!(!page.contains("\" onclick=\""));
    assert_eq!(
        page.matches("</script>").count(),
        4,
        "the record and three scripts"
    );
}

#[test]
fn the_embedded_record_is_the_run() {
    let mut run = fixture::run();
    run.servers[0].version = "<!--<script>".into();
    let page = html::render(&run).unwrap();
    let start = page.find(r#"id="run">"#).unwrap() + r#"id="run">"#.len();
    let end = start + page[start..].find("</script>").unwrap();
    assert_eq!(json::parse(&page[start..end]).unwrap(), run);
}

#[test]
fn the_page_names_nothing_to_load() {
    let page = html::render(&fixture::run()).unwrap();
    for loading in [
        "<script src",
        "<iframe",
        "<img",
        "@import",
        "url(",
        "<link rel=\"stylesheet",
    ] {
        let ours = page.split("<script>").next().unwrap();
        assert!(!ours.contains(loading), "{loading}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_page_tells_batches_and_response_times() {
    let page = html::render(&fixture::run_of_batches()).unwrap();
    assert!(page.contains("plain 1,001 (59.3) in 64 batches"), "{page}");
    let page = html::render(&fixture::run_in_open_loop()).unwrap();
    assert!(page.contains("2 connects at a time at most, 200 begun per second"));
    let cell = page.split("<h3>connect</h3>").nth(1).unwrap();
    let cell = cell.split("<h3>").next().unwrap();
    assert!(cell.contains("median response time") && cell.contains("p99 response time"));
    assert!(!cell.contains("throughput") && !cell.contains("latency"));
}

#[test]
fn an_unfinished_run_says_so_first() {
    let mut run = fixture::run();
    assert!(!html::render(&run).unwrap().contains("role=\"alert\""));
    run.status = RunStatus::Running;
    let page = html::render(&run).unwrap();
    assert!(page.find("role=\"alert\"").unwrap() < page.find("<h1").unwrap());
}
