//! What the page shows, in the order it shows it.

use ciphertax_model::Metric;
use ciphertax_model::record::{Run, ServerRecord};
use serde::Serialize;

use super::arms::ArmView;
use super::connects::ConnectView;
use super::consequences::{CapacityView, ChurnView, budgets, sides};
use super::costs::CellView;
use super::figure::{ArmName, Item};
use super::method::method;
use super::published::PublishedView;
use super::ratios::RatioGroup;
use super::void::VoidView;
use crate::{format, lookup};

/// Everything the template needs.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    verdict: String,
    question: String,
    warning: Option<String>,
    summary: Vec<Item>,
    same_host: bool,
    server_cpu_seen: bool,
    cells: Vec<CellView>,
    arms: Vec<ArmView>,
    variants: Vec<ArmName>,
    connects: Vec<ConnectView>,
    ratios: Vec<RatioGroup>,
    churn: Vec<ChurnView>,
    sides: Vec<String>,
    budgets: Vec<String>,
    capacity: Vec<CapacityView>,
    findings: Vec<FindingView>,
    published: Vec<PublishedView>,
    void: VoidView,
    method: Vec<Item>,
    settings: Vec<Item>,
    command: String,
}

impl Page {
    pub(super) fn of(run: &Run) -> Self {
        Self {
            title: title(run),
            verdict: run.verdict.clone(),
            question: run.study.question.clone(),
            warning: lookup::unfinished(run),
            summary: summary(run),
            same_host: lookup::is_same_host(run),
            server_cpu_seen: run
                .measurements
                .iter()
                .any(|row| row.metric == Metric::ServerCpuPerOp),
            cells: run.cells.iter().map(|cell| CellView::of(run, cell)).collect(),
            arms: run
                .arms
                .iter()
                .enumerate()
                .map(|arm| ArmView::of(run, arm))
                .collect(),
            variants: lookup::variants(run)
                .map(|arm| ArmName::of(run, &arm.name))
                .collect(),
            connects: run
                .cells
                .iter()
                .filter_map(|cell| ConnectView::of(run, cell))
                .collect(),
            ratios: run
                .cells
                .iter()
                .filter_map(|cell| RatioGroup::of(run, cell))
                .collect(),
            churn: run.churn.iter().map(|row| ChurnView::of(run, row)).collect(),
            sides: sides(run),
            budgets: budgets(run),
            capacity: run
                .capacity
                .iter()
                .map(|row| CapacityView::of(run, row))
                .collect(),
            findings: findings(run),
            published: run
                .published
                .iter()
                .map(|row| PublishedView::of(run, row))
                .collect(),
            void: VoidView::of(run),
            method: method(run),
            settings: settings(run),
            command: run.command.clone(),
        }
    }
}

fn title(run: &Run) -> String {
    let mut products: Vec<&str> = run.servers.iter().map(|server| server.product.as_str()).collect();
    products.dedup();
    format!("{} on {} — ciphertax", run.study.name, products.join(", "))
}

/// The settings of the servers; of several, each with the server's name before it.
fn settings(run: &Run) -> Vec<Item> {
    let several = run.servers.len() > 1;
    let item = |server: &ServerRecord, (name, value): (&String, &String)| match several {
        true => Item::new(format!("{}: {name}", server.name), value),
        false => Item::new(name, value),
    };
    run.servers
        .iter()
        .flat_map(|server| server.settings.iter().map(move |setting| item(server, setting)))
        .collect()
}

/// The line under the verdict: where, when, how long.
fn summary(run: &Run) -> Vec<Item> {
    vec![
        Item::new("server", lookup::servers_in_words(run)),
        Item::new(
            "measured",
            format!(
                "{}, for {}",
                to_the_minute(&run.started),
                format::span(run.elapsed_s)
            ),
        ),
        Item::new("study", &run.study.name),
    ]
}

/// `2026-01-02T03:04:05Z` without its seconds, as people write it; any other text as it is.
fn to_the_minute(timestamp: &str) -> String {
    match timestamp.split_once('T') {
        Some((date, time)) if time.ends_with('Z') && time.is_char_boundary(5) => {
            format!("{date} {} UTC", &time[..5.min(time.len())])
        }
        _ => timestamp.into(),
    }
}

/// A finding and what it is called.
#[derive(Serialize)]
struct FindingView {
    word: &'static str,
    summary: String,
    evidence: String,
}

fn findings(run: &Run) -> Vec<FindingView> {
    run.findings
        .iter()
        .map(|finding| FindingView {
            word: lookup::severity_word(finding.severity),
            summary: finding.summary.clone(),
            evidence: finding.evidence.clone(),
        })
        .collect()
}
