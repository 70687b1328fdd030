//! What the page shows, in the order it shows it.

use ciphertax_model::Metric;
use ciphertax_model::record::Run;
use serde::Serialize;

use super::arms::ArmView;
use super::connects::ConnectView;
use super::consequences::{CapacityView, ChurnView, budgets, sides};
use super::costs::CellView;
use super::figure::{ArmName, Item};
use super::method::method;
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
    void: VoidView,
    method: Vec<Item>,
    settings: Vec<Item>,
    command: String,
}

impl Page {
    pub(super) fn of(run: &Run) -> Self {
        Self {
            title: format!("{} on {} — ciphertax", run.study.name, run.server.product),
            verdict: run.verdict.clone(),
            question: run.study.question.clone(),
            warning: lookup::unfinished(run),
            summary: summary(run),
            same_host: run.server.same_host,
            server_cpu_seen: run
                .measurements
                .iter()
                .any(|row| row.metric == Metric::ServerCpuPerOp),
            cells: run.cells.iter().map(|cell| CellView::of(run, cell)).collect(),
            arms: run.arms.iter().enumerate().map(ArmView::of).collect(),
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
            void: VoidView::of(run),
            method: method(run),
            settings: run
                .server
                .settings
                .iter()
                .map(|(name, value)| Item::new(name, value))
                .collect(),
            command: run.command.clone(),
        }
    }
}

/// The line under the verdict: where, when, how long.
fn summary(run: &Run) -> Vec<Item> {
    vec![
        Item::new("server", lookup::server_in_words(run)),
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
