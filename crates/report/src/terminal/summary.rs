//! The answer on one screen: headline, one table, what to do, what it rests on, and where the rest is.

use std::collections::BTreeMap;

use ciphertax_base::Witness;
use ciphertax_base::format::{self, rounded};
use ciphertax_model::Metric;
use ciphertax_records::{Readability, Run, Severity};
use ciphertax_stats::FEWEST_BLOCKS;

use super::page::{Page, Style, Tone};
use super::ranked::{Ranked, heading, ranked};
use crate::storage;
use crate::why::in_sentences;
use crate::{describe, lookup, words};

/// Lines of the whole, at any width from 80 columns on.
pub const LINES: usize = 30;
/// Lines of the table before which nothing but the headline, what is not decided and what it rests on goes.
const ROWS: usize = 16;
/// Lines of advice, and of doubts.
const LINES_OF_ADVICE: usize = 3;

/// What a summary is of besides the run.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The run folder.
    pub folder: &'a str,
    /// The report with charts.
    pub report: &'a str,
    /// Operations per second for which cores are given; `None` for none.
    pub at_rate: Option<f64>,
}

/// The answer, ending with a newline. Text from servers is stripped of control characters.
pub fn summary(run: &Run, place: Place<'_>, style: Style) -> String {
    let mut head = Page::new(style);
    if let Some(warning) = describe::unfinished(run) {
        head.paragraph(&warning, Tone::Warning);
    }
    head.paragraph(&run.results.verdict, Tone::Strong);
    for sentence in readable(run).into_iter().chain(at_rate(run, place.at_rate)) {
        head.paragraph(&sentence, Tone::Plain);
    }
    let ranked = ranked(run);
    let mut tail = Page::new(style);
    tail.blank();
    tail.paragraph(&trust(run), Tone::Plain);
    tail.paragraph(&format!("{}.", servers(run)), Tone::Plain);
    tail.line(&format!("Report: {}", place.report));
    tail.line(&format!(
        "More:   ciphertax report {} --full, or ciphertax why",
        place.folder
    ));
    let mut middle = Page::new(style);
    for open in undecided(run, &ranked).into_iter().chain(without_result(run)) {
        middle.paragraph(&open, Tone::Plain);
    }
    let left = |middle: &Page| LINES.saturating_sub(head.lines() + middle.lines() + tail.lines());
    let found = lookup::grouped(run);
    for (title, severity) in [("What to do", Severity::Advice), ("Doubts", Severity::Suspicion)] {
        let groups = found.iter().filter(|group| group.severity == severity);
        let first = groups.filter_map(|group| group.statements.first());
        let room = left(&middle).saturating_sub(ranked.lines(run).min(ROWS));
        few(
            &mut middle,
            title,
            first.map(|statement| statement.summary.as_str()),
            room,
        );
    }
    if let Some(dearest) = in_sentences(run).first() {
        let mut why = middle.like();
        why.blank();
        why.paragraph(&format!("Why: {dearest}"), Tone::Plain);
        if why.lines() + ranked.lines(run) <= left(&middle) {
            middle.text.push_str(&why.text);
        }
    }
    let room = left(&middle);
    ranked.table(&mut head, run, room);
    head.text + &middle.text + &tail.text
}

/// The first sentence of each, while they fit into a few lines, under their title.
fn few<'a>(page: &mut Page, title: &str, texts: impl Iterator<Item = &'a str>, room: usize) {
    /// Of the title and the blank line above it.
    const ABOVE: usize = 2;
    let room = room.saturating_sub(ABOVE).min(LINES_OF_ADVICE);
    let mut shown = page.like();
    for text in texts {
        let end = [". ", "; "].iter().filter_map(|stop| text.find(stop)).min();
        let sentence = &text[..end.unwrap_or(text.len())];
        let mut item = page.like();
        item.item(&format!("{}.", sentence.trim_end_matches('.')));
        if shown.lines() + item.lines() <= room {
            shown.text.push_str(&item.text);
        }
    }
    if shown.lines() > 0 {
        page.heading(title);
        page.text.push_str(&shown.text);
    }
}

/// Which arms are not decided, on which side, and how long it would take.
fn undecided(run: &Run, ranked: &Ranked<'_>) -> Option<String> {
    let rows = ranked.undecided(run);
    let several = run.cells().count() > 1;
    let mut named: Vec<String> = Vec::new();
    for row in &rows {
        let place = match several {
            true => format!(" in {}", row.cell),
            false => String::new(),
        };
        let name = format!("{}{place} ({})", row.arm, heading(run, row.metric));
        if !named.contains(&name) {
            named.push(name);
        }
    }
    let first = named.first()?.clone();
    let others = match named.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    // Cells take turns; those that are not precise yet take time too.
    let mut of_cells: BTreeMap<&str, f64> = BTreeMap::new();
    for row in &rows {
        let time = of_cells.entry(&row.cell).or_default();
        *time = time.max(row.more_time_s.unwrap_or(f64::INFINITY));
    }
    let seconds: f64 = of_cells.values().sum();
    Some(match seconds.is_finite() {
        true => format!(
            "Not decided: {first}{others}. At least {} more of measuring (--time) may decide.",
            format::span(seconds)
        ),
        false => format!("Not decided: {first}{others}. A quieter machine or more time (--time) may decide."),
    })
}

/// Cells with too few blocks for an interval beside others that have enough.
fn without_result(run: &Run) -> Option<String> {
    let (few, enough): (Vec<_>, Vec<_>) = run.cells().partition(|cell| cell.found.blocks < FEWEST_BLOCKS);
    let names: Vec<&str> = few.iter().map(|cell| cell.found.name.as_str()).collect();
    (!few.is_empty() && !enough.is_empty()).then(|| {
        format!(
            "No result yet: {}; an interval needs {FEWEST_BLOCKS} blocks. Give it more time (--time).",
            at_most(&names)
        )
    })
}

/// What is readable on the disk although an arm encrypts, which an answer about encryption at rest begins with.
fn readable(run: &Run) -> Option<String> {
    let encrypts = |arm: &&str| {
        let asked = run.head.study.arm(arm);
        asked.is_some_and(|asked| asked.at_rest.is_encrypted())
    };
    let mut arms: Vec<(&str, [Vec<&str>; 2])> = Vec::new();
    for table in &storage::tables(run) {
        for (at, of_column) in table.columns.iter().enumerate() {
            for arm in of_column.iter().copied().filter(encrypts) {
                let place = arms.iter().position(|(other, _)| *other == arm);
                let place = place.unwrap_or_else(|| {
                    arms.push((arm, Default::default()));
                    arms.len() - 1
                });
                for (kind, found) in &table.rows {
                    let kinds = match found[at] {
                        Some(Readability::Readable) => &mut arms[place].1[0],
                        Some(Readability::Unencrypted) => &mut arms[place].1[1],
                        Some(Readability::Encrypted) | None => continue,
                    };
                    if !kinds.contains(kind) {
                        kinds.push(kind);
                    }
                }
            }
        }
    }
    // The one that leaves least of those that leave anything: what even it leaves is no matter of settings.
    let left = |kinds: &[Vec<&str>; 2]| kinds.concat().len();
    let least = arms.iter().filter(|(_, kinds)| left(kinds) > 0);
    let (best, kinds) = least.min_by_key(|(_, kinds)| left(kinds))?;
    let is_all = arms.iter().all(|(_, other)| other == kinds);
    let told: Vec<String> = [("rows in", &kinds[0]), ("not encrypted at all", &kinds[1])]
        .into_iter()
        .filter(|(_, kinds)| !kinds.is_empty())
        .map(|(words, kinds)| format!("{words} {}", at_most(kinds)))
        .collect();
    let (whose, others) = match is_all {
        true => {
            let arms: Vec<&str> = arms.iter().map(|(arm, _)| *arm).collect();
            (arms.join(", "), "")
        }
        false => ((*best).to_owned(), " Other arms differ (--full)."),
    };
    Some(format!(
        "Still readable on the disk ({whose}): {}.{others}",
        told.join("; ")
    ))
}

/// The first names, and how many there are besides.
fn at_most(names: &[&str]) -> String {
    const NAMED: usize = 6;
    match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        others => format!("{} and {others} more", names[..NAMED].join(", ")),
    }
}

/// Cores at the rate that was asked for.
pub(super) fn at_rate(run: &Run, rate: Option<f64>) -> Vec<String> {
    let Some(rate) = rate else {
        return Vec::new();
    };
    let first = run.results.capacity.first().map(|row| &row.arm);
    let of_first = run.results.capacity.iter().filter(|row| Some(&row.arm) == first);
    let told = of_first.map(|row| {
        let mut row = row.clone();
        row.extra_cores = row.extra_cores.map(|cores| cores * rate / row.rate);
        row.rate = rate;
        format!("{}: {}.", row.arm, words::capacity(&row))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => vec!["No cell of this run tells cores at a rate.".to_owned()],
        false => told,
    }
}

/// How the arms were proved, how noisy it was, and how much was measured.
fn trust(run: &Run) -> String {
    let arms = run.head.arms_once();
    let witnesses: Vec<Vec<Witness>> = arms.map(describe::witnesses).collect();
    let common = witnesses.first().into_iter().flatten();
    let common = common.filter(|witness| witnesses.iter().all(|of_arm| of_arm.contains(witness)));
    let common: Vec<String> = common.map(ToString::to_string).collect();
    let unproved = run
        .head
        .arms_once()
        .filter_map(|arm| Some((&arm.name, describe::unproved(arm)?)));
    let unproved: String = unproved
        .take(2)
        .map(|(arm, why)| format!("; {arm} not proved by the server: {why}"))
        .collect();
    let arms = match witnesses.len() {
        1 => "The arm is".to_owned(),
        2 => "Both arms".to_owned(),
        n => format!("All {n} arms"),
    };
    let proofs = match common.as_slice() {
        _ if witnesses.iter().any(Vec::is_empty) => {
            "Not every arm is proved to be what it says (--full)".to_owned()
        }
        [] => format!("{arms} proved, by different witnesses (--full){unproved}"),
        names => format!("{arms} proved by {}{unproved}", names.join(", ")),
    };
    let floors = run.cells().filter_map(|cell| {
        let metric = lookup::of_whole_rounds(run, &cell.found.name, Metric::ServerCpuPerOp);
        let metric = if run.head.is_embedded() {
            Metric::ClientCpuPerOp
        } else {
            metric
        };
        lookup::floor(run, &cell.found.name, metric)
    });
    let floors = range(floors);
    let side = if run.head.is_embedded() {
        "the application's"
    } else {
        "server"
    };
    let noise = floors.map(|(low, high)| {
        let high = rounded::share(high);
        match rounded::share(low) {
            low if low == high => format!("; noise ±{high} of {side} CPU"),
            low => format!("; noise ±{} to {high} of {side} CPU", low.trim_end_matches(" %")),
        }
    });
    let blocks = range(run.cells().map(|cell| f64::from(cell.found.blocks)));
    let blocks = blocks.map(|(low, high)| match (format::count(low), format::count(high)) {
        (low, high) if low == high => format!("; {low} blocks"),
        (low, high) => format!("; {low} to {high} blocks a cell"),
    });
    let void = match run.results.void.len() {
        0 => String::new(),
        1 => "; 1 void slice".to_owned(),
        n => format!("; {} void slices", format::count(n as f64)),
    };
    format!(
        "{proofs}{}{}{void}.",
        noise.unwrap_or_default(),
        blocks.unwrap_or_default()
    )
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

/// The servers, and what else a reader of the figures must know of them.
fn servers(run: &Run) -> String {
    let mut products: Vec<String> = Vec::new();
    for server in &run.head.servers {
        let product = format!("{} {}", server.product, server.release());
        if !products.contains(&product) {
            products.push(product);
        }
    }
    let short = match (products.as_slice(), run.head.servers.first()) {
        ([_], Some(server)) => describe::servers_in_words(run)
            .split("; ")
            .next()
            .map(|words| words.replace(&server.version, server.release()))
            .unwrap_or_default(),
        _ => products.join(", "),
    };
    let missing = describe::cpu_unread_in_words(run)
        .chain(describe::left_out_in_words(run))
        .chain(describe::probes_in_words(run));
    let missing: Vec<String> = missing
        .map(|words| words.trim_end_matches('.').to_owned())
        .collect();
    std::iter::once(short)
        .chain(missing)
        .collect::<Vec<_>>()
        .join(". ")
}
