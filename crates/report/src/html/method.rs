//! Versions, host, settings, slices that do not count, and figures published elsewhere.

use ciphertax_base::format;
use ciphertax_records::{Agreement, PublishedRow, Run, ServerPlacement};
use serde::Serialize;

use super::figure::{ArmName, Item};
use crate::describe;
use crate::way::way_in_words;

/// How it was measured and what the figures mean.
pub(super) fn in_three_sentences(run: &Run) -> Vec<String> {
    vec![
        format!(
            "All arms ran the same load in slices of {}, one of every arm in each block in random balanced order, so \
             that drift of the machine fell on all alike.",
            slice_lengths(run)
        ),
        "A change costs if its 95 % interval excludes zero, it exceeds the noise floor (what the baseline differs from itself, \
         measured once more in the same blocks) and it is significant in its family (CPU time; speed; counters); perhaps, if only \
         that is missing. It is no cost above the margin if the interval ends below twice the precision asked for and the floor is \
         no larger; else it cannot be told. An interval holds what varied during the run, not another hour or machine."
            .to_owned(),
        "CPU time is that of whole processes, or of the load threads; every connection was held to what its arm says, and a \
         slice that broke a rule does not count."
            .to_owned(),
    ]
}

/// How long slices were: the shortest and the longest of all cells, where they differ.
fn slice_lengths(run: &Run) -> String {
    let lengths = run.results.cells.iter().filter_map(|cell| cell.slice_s);
    let [shortest, longest] = [
        lengths.clone().min_by(f64::total_cmp),
        lengths.max_by(f64::total_cmp),
    ]
    .map(|length| (100.0 * length.unwrap_or(run.head.study.slice_seconds())).round() / 100.0);
    match shortest == longest {
        true => format!("{longest} s"),
        false => format!("{shortest} to {longest} s"),
    }
}

/// Versions, host and settings of the measurement.
pub(super) fn method(run: &Run) -> Vec<Item> {
    let (host, study) = (&run.head.host, &run.head.study);
    let mut items = vec![
        Item::new("started", &run.head.started),
        Item::new(
            "tool",
            format!(
                "{} {} ({})",
                run.head.tool.name, run.head.tool.version, run.head.tool.commit
            ),
        ),
        Item::new("host", format!("{}, kernel {}", host.os, host.kernel)),
        Item::new(
            "machine",
            format!(
                "{}, {} CPUs, {} of memory, virtualization: {}",
                host.cpu,
                host.cpus,
                format::bytes(host.memory_bytes as f64),
                host.virtualization
            ),
        ),
        Item::new(
            "precision asked for",
            format!(
                "±{} CPU per operation, ±{} throughput, in at most {}",
                format::share(study.precision.cpu),
                format::share(study.precision.throughput),
                format::span(study.time_s)
            ),
        ),
        Item::new(
            "slices",
            format!(
                "{} each, arms in random balanced order, seed {}",
                slice_lengths(run),
                run.head.seed
            ),
        ),
    ];
    items.extend(run.head.servers.iter().map(|server| {
        let mut text = format!("{} {}", server.product, server.version);
        match server.placement {
            ServerPlacement::Embedded => text.push_str(" in the load threads"),
            _ => text.push_str(&format!(" at {}", server.address)),
        }
        if !server.tls_library.is_empty() {
            text.push_str(&format!(", {}", server.tls_library));
        }
        text.push_str(&way_in_words(run, server));
        if let Some(link) = describe::link_in_words(server) {
            text.push_str(&format!("; {link}"));
        }
        Item::new(format!("{} {}", describe::server_word(run), server.name), text)
    }));
    items
}

/// Void slices shown one by one; the rest are counted and in the record.
const VOID_ROWS: usize = 100;

/// Slices that do not count: by reason, and one by one.
#[derive(Serialize)]
pub(super) struct VoidView {
    count: String,
    groups: Vec<Item>,
    rows: Vec<VoidSlice>,
    left_out: usize,
}

/// One slice that does not count.
#[derive(Serialize)]
struct VoidSlice {
    cell: String,
    block: u32,
    arm: ArmName,
    reason: String,
}

impl VoidView {
    pub(super) fn of(run: &Run) -> Self {
        Self {
            count: format::count(run.results.void.len() as f64),
            groups: describe::void_groups(run)
                .into_iter()
                .map(|group| Item::new(group.kind, format::count(group.count as f64)))
                .collect(),
            rows: run
                .results
                .void
                .iter()
                .take(VOID_ROWS)
                .map(|row| VoidSlice {
                    cell: row.cell.clone(),
                    block: row.block,
                    arm: ArmName::of(run, &row.arm),
                    reason: row.reason.to_string(),
                })
                .collect(),
            left_out: run.results.void.len().saturating_sub(VOID_ROWS),
        }
    }
}

/// One published figure.
#[derive(Serialize)]
pub(super) struct PublishedView {
    row: PublishedRow,
    arm: ArmName,
    metric: String,
    published: String,
    measured: String,
    /// The class that gives the word its colour.
    tone: &'static str,
    word: &'static str,
}

impl PublishedView {
    pub(super) fn of(run: &Run, row: &PublishedRow) -> Self {
        Self {
            arm: ArmName::of(run, &row.arm),
            metric: describe::published_metric(row),
            published: describe::published_figure(row),
            measured: describe::measured_change(row),
            tone: match row.agreement {
                Agreement::Agrees => "no-cost",
                Agreement::Differs => "costs",
                Agreement::CannotTell => "cannot-tell",
            },
            word: describe::agreement_word(row.agreement),
            row: row.clone(),
        }
    }
}
