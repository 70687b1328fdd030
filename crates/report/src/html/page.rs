//! What the page shows, in the order it shows it.

use ciphertax_records::why::Pictures;
use ciphertax_records::{Agreement, Run, ServerRecord};
use ciphertax_stats::format;
use serde::Serialize;

use super::answer::AnswerView;
use super::capacity::{Capacity, ChurnView, budgets};
use super::churn_chart::ChurnChart;
use super::connects::ConnectView;
use super::costs::CellView;
use super::figure::Item;
use super::findings::{FindingGroup, findings};
use super::forest::Forest;
use super::method::{PublishedView, VoidView, in_three_sentences, method};
use super::noise::{NoiseTable, floors_in_words};
use super::proofs::{ArmView, Matrix};
use super::readable::ReadableView;
use super::why::WhyView;
use crate::answer::{lacks_blocks, needs_blocks, sides};
use crate::{describe, lookup};

/// Everything the template needs.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    verdict: String,
    question: String,
    warning: Option<String>,
    summary: Vec<Item>,
    same_host: bool,
    /// True where the database runs in its client: nothing travels, and nobody logs in.
    embedded: bool,
    /// Who pays.
    sides: Vec<&'static str>,
    /// Server CPU and arms that there are none of, and why.
    missing: Vec<String>,
    answer: Option<AnswerView>,
    /// Said once where intervals are missing.
    lacking: Option<String>,
    forest: Option<Forest>,
    churn_charts: Vec<ChurnChart>,
    churn: Vec<ChurnView>,
    budgets: Vec<String>,
    capacity: Vec<Capacity>,
    advice: Vec<FindingGroup>,
    findings: Vec<FindingGroup>,
    why: Option<WhyView>,
    connects: Vec<ConnectView>,
    matrix: Matrix,
    arms: Vec<ArmView>,
    readable: Option<ReadableView>,
    floors: String,
    noise: Option<NoiseTable>,
    void: VoidView,
    sentences: Vec<String>,
    method: Vec<Item>,
    settings: Vec<Item>,
    cells: Vec<CellView>,
    published: Vec<PublishedView>,
    published_in_words: String,
    command: String,
}

impl Page {
    pub(super) fn of(run: &Run, pictures: &Pictures) -> Self {
        let (advice, findings) = findings(run);
        Self {
            title: title(run),
            verdict: run.results.verdict.clone(),
            question: run.head.study.question.clone(),
            warning: describe::unfinished(run),
            summary: summary(run),
            same_host: lookup::is_same_host(run),
            embedded: run.head.is_embedded(),
            sides: sides(run).iter().map(|(_, side)| *side).collect(),
            missing: describe::cpu_unread_in_words(run)
                .chain(describe::cpu_from_in_words(run))
                .chain(describe::left_out_in_words(run))
                .chain(describe::probes_in_words(run))
                .collect(),
            answer: AnswerView::of(run),
            lacking: lacks_blocks(run).then(needs_blocks),
            forest: Forest::of(run),
            churn_charts: ChurnChart::all(run),
            churn: run
                .results
                .churn
                .iter()
                .map(|row| ChurnView::of(run, row))
                .collect(),
            budgets: budgets(run),
            capacity: Capacity::all(run),
            advice,
            findings,
            why: WhyView::of(run, pictures),
            connects: run
                .cells()
                .filter_map(|cell| ConnectView::of(run, cell))
                .collect(),
            matrix: Matrix::of(run),
            arms: run.head.arms.iter().map(|arm| ArmView::of(run, arm)).collect(),
            readable: ReadableView::of(run),
            floors: floors_in_words(run),
            noise: Some(NoiseTable::of(run)).filter(|table| !table.is_empty()),
            void: VoidView::of(run),
            sentences: in_three_sentences(run),
            method: method(run),
            settings: settings(run),
            cells: run.cells().map(|cell| CellView::of(run, cell)).collect(),
            published: run
                .results
                .published
                .iter()
                .map(|row| PublishedView::of(run, row))
                .collect(),
            published_in_words: published_in_words(run),
            command: run.head.command.clone(),
        }
    }
}

fn title(run: &Run) -> String {
    let mut products: Vec<&str> = run
        .head
        .servers
        .iter()
        .map(|server| server.product.as_str())
        .collect();
    products.dedup();
    format!("{} on {} — ciphertax", run.head.study.name, products.join(", "))
}

/// The settings of the servers; of several, each with the server's name before it.
fn settings(run: &Run) -> Vec<Item> {
    let several = run.head.servers.len() > 1;
    let item = |server: &ServerRecord, (name, value): (&String, &String)| match several {
        true => Item::new(format!("{}: {name}", server.name), value),
        false => Item::new(name, value),
    };
    run.head
        .servers
        .iter()
        .flat_map(|server| server.settings.iter().map(move |setting| item(server, setting)))
        .collect()
}

/// The line under the verdict: where, when, how long.
fn summary(run: &Run) -> Vec<Item> {
    vec![
        Item::new(describe::server_word(run), describe::servers_in_words(run)),
        Item::new(
            "measured",
            format!(
                "{}, for {}",
                to_the_minute(&run.head.started),
                format::span(run.results.elapsed_s)
            ),
        ),
        Item::new("study", &run.head.study.name),
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

/// `13 figures: 3 agree, 8 differ, 2 cannot tell`
fn published_in_words(run: &Run) -> String {
    let count = |agreement| {
        run.results
            .published
            .iter()
            .filter(|row| row.agreement == agreement)
            .count()
    };
    let parts: Vec<String> = [
        (count(Agreement::Agrees), "agree"),
        (count(Agreement::Differs), "differ"),
        (count(Agreement::CannotTell), "cannot tell or not measured"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    parts.join(", ")
}
