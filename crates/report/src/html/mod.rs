//! The run as one HTML file that opens offline. The answer, the table of cells, advice, findings and proofs are made here and
//! need no script; the script unpacks what is folded and long, moves the rates of the capacity tables, finds functions in
//! flame graphs, and saves charts as SVG files.
//!
//! Names, versions and error messages come from servers and study files, so all text is escaped by the template engine, also
//! what is packed, the record is packed too, and the page's own policy lets no script run but that one and nothing be fetched.

mod answer;
mod capacity;
mod compare;
mod connects;
mod costs;
mod figure;
mod forest;
mod grid;
mod method;
mod noise;
mod proofs;
mod why;

use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ciphertax_base::format;
use ciphertax_estimate::{flame, looking};
use ciphertax_records::why::Pictures;
use ciphertax_records::{Agreement, Recorded, Run, ServerRecord};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::answer::{lacks_blocks, needs_blocks, sides};
use crate::{ReportError, describe, lookup, storage};
use answer::{AnswerView, FindingGroup, findings};
use capacity::{Capacity, ChurnChart, ChurnView, budget_values};
use connects::ConnectView;
use costs::{CellView, common_notes};
use figure::Item;
use grid::Grid;
use method::{PublishedView, VoidView, in_three_sentences, method};
use noise::floors_in_words;
use proofs::{ArmView, Matrix, ServerTable};
use why::WhyView;

pub use compare::compare;
pub(crate) use compare::compare_for_text;

/// The page.
///
/// # Errors
/// Only if the template and the record do not fit each other, which is a defect of this crate.
pub fn render(run: &Run) -> Result<String, ReportError> {
    render_with(run, &Pictures::default())
}

/// The page with pictures of what is not in the record itself.
///
/// # Errors
/// As [`render`].
pub fn render_with(run: &Run, pictures: &Pictures) -> Result<String, ReportError> {
    TEMPLATE.render(Page::of(run, pictures, Vec::new()), run)
}

/// The page for those who make text of it, with sentences on what an arm takes at the rate that was asked for.
///
/// # Errors
/// As [`render`].
pub(crate) fn for_text(run: &Run, at_rate: Vec<String>) -> Result<String, ReportError> {
    TEMPLATE
        .bare()
        .render(Page::of(run, &Pictures::default(), at_rate), &())
}

/// What the page shows of a run besides the record.
///
/// # Errors
/// When its samples or looks are damaged.
pub fn pictures(recorded: &Recorded) -> Result<Pictures, ReportError> {
    Ok(Pictures {
        flames: flame::flames(&recorded.head, &recorded.samples, &recorded.looks()?)?,
        courses: looking::courses(&recorded.samples)?,
    })
}

const TEMPLATE: Template = Template {
    name: "report.html",
    source: include_str!("../../assets/report.html"),
    style: include_str!("../../assets/report.css"),
    script: concat!(
        include_str!("../../assets/report.js"),
        include_str!("../../assets/flame.js"),
        include_str!("../../assets/svg.js")
    ),
    is_packed: true,
};

/// The release that makes pages.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Which release made a page, by its own word; `None` if it is no report of ciphertax.
pub fn release_of(page: &str) -> Option<&str> {
    let (_, release) = page.split_once(r#"<meta name="generator" content="ciphertax "#)?;
    Some(release.split_once('"')?.0)
}

/// Everything the template needs.
#[derive(Serialize)]
struct Page {
    title: String,
    verdict: String,
    question: String,
    warning: Option<String>,
    summary: Vec<Item>,
    at_rate: Vec<String>,
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
    /// Where there are several cells.
    grid: Option<Grid>,
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
    readable: Vec<ServerTable>,
    meaning: String,
    floors: String,
    void: VoidView,
    sentences: Vec<String>,
    method: Vec<Item>,
    settings: Vec<Item>,
    /// What is so in every cell.
    notes: Vec<String>,
    cells: Vec<CellView>,
    published: Vec<PublishedView>,
    published_in_words: String,
    command: String,
}

impl Page {
    fn of(run: &Run, pictures: &Pictures, at_rate: Vec<String>) -> Self {
        let (advice, findings) = findings(run);
        let mut cells: Vec<CellView> = run.cells().map(|cell| CellView::of(run, cell)).collect();
        Self {
            title: title(run),
            verdict: run.results.verdict.clone(),
            question: run.head.study.question.clone(),
            warning: describe::unfinished(run),
            summary: summary(run),
            at_rate,
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
            grid: Grid::of(run),
            churn_charts: ChurnChart::all(run),
            churn: run
                .results
                .churn
                .iter()
                .map(|row| ChurnView::of(run, row))
                .collect(),
            budgets: budget_values(run).into_iter().map(format::share).collect(),
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
            readable: ServerTable::all(run),
            meaning: storage::meaning(run),
            floors: floors_in_words(run),
            void: VoidView::of(run),
            sentences: in_three_sentences(run),
            method: method(run),
            settings: settings(run),
            notes: common_notes(&mut cells),
            cells,
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
    let servers = run.head.servers.iter();
    let mut products: Vec<&str> = servers.map(|server| server.product.as_str()).collect();
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

/// `3 agree, 8 differ, 2 not decided or not measured`
fn published_in_words(run: &Run) -> String {
    let words = [
        (Agreement::Agrees, "agree"),
        (Agreement::Differs, "differ"),
        (Agreement::CannotTell, "not decided or not measured"),
    ];
    let parts = words.into_iter().filter_map(|(agreement, word)| {
        let rows = run.results.published.iter();
        let count = rows.filter(|row| row.agreement == agreement).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Templates that those of pages use.
const PARTS: [(&str, &str); 2] = [
    ("figures.html", include_str!("../../assets/figures.html")),
    ("head.html", include_str!("../../assets/head.html")),
];

/// A kind of page.
struct Template {
    /// It decides that values are escaped for HTML.
    name: &'static str,
    source: &'static str,
    style: &'static str,
    /// The page's own policy knows it by its hash; empty for a page that has none.
    script: &'static str,
    /// True if what is long and folded is packed.
    is_packed: bool,
}

impl Template {
    /// The same without what a reader of text has no use for.
    fn bare(self) -> Self {
        Self {
            style: "",
            script: "",
            is_packed: false,
            ..self
        }
    }

    /// The page, with the record that it is of.
    ///
    /// # Errors
    /// Only if the template and the page do not fit each other, which is a defect of this crate.
    fn render(&self, page: impl Serialize, record: &impl Serialize) -> Result<String, ReportError> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.add_filter("figures", |text: String| figure::figures(&text));
        let is_packed = self.is_packed;
        environment.add_filter("packed", move |text: String| match is_packed {
            true => Value::from_safe_string(format!(" data-packed=\"{}\"", packed(&text))),
            false => Value::from_safe_string(String::new()),
        });
        environment.add_filter("in_place", move |text: Value| match is_packed {
            true => Value::from_safe_string(PLACEHOLDER.into()),
            false => text,
        });
        for (name, source) in PARTS {
            environment.add_template(name, source)?;
        }
        environment.add_template(self.name, self.source)?;
        let record = serde_json::to_string(record).expect("a record holds nothing that JSON cannot");
        let page = environment.get_template(self.name)?.render(context! {
            page => page,
            style => Value::from_safe_string(self.style.into()),
            script => Value::from_safe_string(self.script.into()),
            script_sha256 => BASE64_STANDARD.encode(Sha256::digest(self.script)),
            release => RELEASE,
            record => Value::from_safe_string(packed(&record)),
        })?;
        Ok(page)
    }
}

/// Stands where the page's script puts what it unpacks.
const PLACEHOLDER: &str = "<p class=\"absent\">It is packed, and only a script unpacks it.</p>";

/// A text as the page's script unpacks it: zlib in base64, which holds nothing that could end an element.
fn packed(text: &str) -> String {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    let bytes = packer.write_all(text.as_bytes()).and_then(|()| packer.finish());
    BASE64_STANDARD.encode(bytes.expect("memory takes every byte"))
}
