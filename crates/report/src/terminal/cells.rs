//! What follows, and what stays readable; then cell by cell what every arm costs, and the noise.

use ciphertax_base::format::{self, ABSENT};
use ciphertax_model::Metric;
use ciphertax_records::{MeasuredCell, Readability, Run};

use super::page::{Page, Tone, left, right};
use crate::storage::{self, meaning, tables};
use crate::{describe, lookup, words};

/// The baseline against itself: cells down, metrics across.
pub(super) fn noise(page: &mut Page, run: &Run) {
    if run.results.noise_floor.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(
        "Noise: the baseline measured against itself in the same blocks (A/A). A change costs if its 95 % interval excludes \
         zero, it exceeds the noise floor (first line), and it is significant in its family (CPU time; speed; counters); perhaps, if \
         only that is missing. No cost above the margin: the interval ends below twice the precision asked for, and the floor is no \
         larger. Else it cannot be told. An interval holds what varied during the run, not another hour or machine.",
        Tone::Plain,
    );
    let mut metrics: Vec<Metric> = Vec::new();
    for metric in run.cells().flat_map(|cell| lookup::headline(run, cell)) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let mut table = page.table(std::iter::once("").chain(metrics.iter().map(|metric| heading(*metric))));
    for cell in run.cells() {
        if run
            .results
            .noise_floor
            .iter()
            .any(|row| row.cell == cell.found.name)
        {
            let cells = metrics
                .iter()
                .map(|metric| right(noise_floor(run, &cell.found.name, *metric)));
            table.add_row(std::iter::once(left(&cell.found.name)).chain(cells));
        }
    }
    page.add_table(&table);
}

/// One cell: arms down, metrics across; each change with its interval and its verdict, explained where it is surprising.
pub(super) fn costs(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    page.heading(&cell.found.name);
    let mut caption = format!(
        "{}; {}",
        describe::load_in_words(cell),
        describe::blocks_in_words(cell)
    );
    if cell.found.client_bound {
        caption.push_str("; client-bound");
    }
    if let Some(words) = describe::quiet_in_words(cell) {
        caption.push_str(&format!("; {words}"));
    }
    if let Some(wanted) = describe::blocks_wanted(cell).or_else(|| describe::time_wanted(cell)) {
        caption.push_str(&format!("; {wanted}"));
    }
    page.paragraph(&caption, Tone::Plain);
    if run
        .results
        .measurements
        .iter()
        .all(|row| row.cell != cell.found.name)
    {
        page.paragraph("Nothing was measured.", Tone::Plain);
        return;
    }

    let metrics = lookup::headline(run, cell);
    let mut columns = metrics.clone();
    // What is a part of the server's CPU stands beside it, whose else it is beside both.
    let (of_server, others): (Vec<Metric>, Vec<Metric>) = lookup::measured_alone(run, &cell.found.name)
        .partition(|metric| *metric == Metric::ColumnRelayCpuPerOp);
    for (beside, metrics) in [
        (&[Metric::ClientCpuPerOp][..], others),
        (&Metric::SERVER_CPU, of_server),
    ] {
        let place = columns.iter().rposition(|metric| beside.contains(metric));
        let place = place.map_or(columns.len(), |place| place + 1);
        columns.splice(place..place, metrics);
    }
    arms_by_metrics(page, run, cell, &columns);
    let storage = lookup::of_storage(run, &cell.found.name);
    if !storage.is_empty() {
        page.paragraph(STORAGE, Tone::Plain);
        arms_by_metrics(page, run, cell, &storage);
    }
    for arm in lookup::variants_in(run, cell) {
        let rows = metrics
            .iter()
            .filter_map(|metric| run.results.estimate(&cell.found.name, &arm.name, *metric));
        for row in rows.filter(|row| words::is_surprising(row)) {
            page.paragraph(&words::explained(run, row), Tone::Plain);
        }
    }
    kinds(page, run, cell);
    if let Some(words) = describe::batches_in_words(run, cell) {
        page.paragraph(&words, Tone::Plain);
    }
    if let Some(words) = describe::new_orders_in_words(run, cell) {
        page.paragraph(&words, Tone::Plain);
    }
    memory_and_disk(page, run, cell);
}

/// What decides the cost of encryption at rest: figures down, arms across.
fn memory_and_disk(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    let cell_name = cell.found.name.as_str();
    let arms = run
        .head
        .baseline()
        .into_iter()
        .chain(lookup::variants_in(run, cell));
    let arms: Vec<&str> = arms.map(|arm| arm.name.as_str()).collect();
    let of_arms: Vec<_> = arms
        .iter()
        .map(|arm| storage::figures(run, cell_name, arm))
        .collect();
    let mut labels = storage::labels(run, cell_name, arms.iter().copied());
    // What no arm has anything of says nothing.
    labels.retain(|label| {
        let mut figures = of_arms.iter().flatten();
        figures.any(|figure| figure.label == *label && figure.value != 0.0)
    });
    if labels.is_empty() {
        return;
    }
    page.paragraph("Memory and disk:", Tone::Plain);
    let mut table = page.table(std::iter::once("").chain(arms.iter().copied()));
    for label in labels {
        let values = of_arms.iter().map(|figures| {
            let found = figures.iter().find(|figure| figure.label == label);
            right(found.map_or(ABSENT.into(), |figure| figure.text.clone()))
        });
        table.add_row(std::iter::once(left(label)).chain(values));
    }
    page.add_table(&table);
}

/// What is said above the table of storage.
const STORAGE: &str = "Whole rounds: what each server did between its slices too, by the operations of its slices. The file \
     system's CPU is that of who works for it alone: a daemon (FUSE), the thread of its journal (jbd2). The kernel's workers work \
     for everybody: theirs is what all of them took in the arm's turn (writing pages back, on fscrypt encrypting and decrypting \
     them, serving loop devices), and is in no other figure. Bytes on a file system in \
     user space are those that its daemon moved.";

/// Arms down, metrics across: the baseline by itself, the others against it where both have a metric.
fn arms_by_metrics(page: &mut Page, run: &Run, cell: MeasuredCell<'_>, columns: &[Metric]) {
    let mut table = page.table(std::iter::once("").chain(columns.iter().map(|metric| heading(*metric))));
    let by_itself = |arm: &str, metric| {
        let value = lookup::measured(run, &cell.found.name, arm, metric);
        right(value.map_or(ABSENT.into(), |(value, unit)| format::quantity(value, unit)))
    };
    if let Some(arm) = run.head.baseline() {
        let values = columns.iter().map(|metric| by_itself(&arm.name, *metric));
        table.add_row(std::iter::once(left(&arm.name)).chain(values));
    }
    for arm in lookup::variants_in(run, cell) {
        let values = columns.iter().map(|metric| {
            let estimate = run.results.estimate(&cell.found.name, &arm.name, *metric);
            match lookup::may_be_missing(*metric) && estimate.is_none() {
                true => by_itself(&arm.name, *metric),
                false => page.change(run, estimate),
            }
        });
        table.add_row(std::iter::once(left(&arm.name)).chain(values));
    }
    page.add_table(&table);
}

/// Kinds of operations down, metrics across, for each variant.
fn kinds(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    let rows = lookup::by_kind(run, &cell.found.name);
    for arm in lookup::variants_in(run, cell) {
        let of_arm = rows.iter().filter(|row| row.estimate.arm == arm.name);
        let mut kinds: Vec<&str> = of_arm.map(|row| row.kind.as_str()).collect();
        kinds.dedup();
        if kinds.is_empty() {
            continue;
        }
        let caption = format!("{}, by kind of operation: baseline, and the change", arm.name);
        page.paragraph(&caption, Tone::Plain);
        let header = Metric::COMPARED_BY_KIND
            .into_iter()
            .flat_map(|metric| [metric.label(), "change"]);
        let mut table = page.table(std::iter::once("").chain(header));
        for kind in kinds {
            let cells = Metric::COMPARED_BY_KIND.into_iter().flat_map(|metric| {
                let row = rows.iter().find(|row| {
                    row.kind == kind && row.estimate.arm == arm.name && row.estimate.metric == metric
                });
                let row = row.map(|row| &row.estimate);
                let baseline = row.map_or(ABSENT.into(), |row| format::quantity(row.baseline, &row.unit));
                [right(baseline), page.change(run, row)]
            });
            table.add_row(std::iter::once(left(kind)).chain(cells));
        }
        page.add_table(&table);
    }
}

fn noise_floor(run: &Run, cell: &str, metric: Metric) -> String {
    let Some(row) = lookup::noise(run, cell, metric) else {
        return ABSENT.into();
    };
    let floor = lookup::floor(run, cell, metric);
    format!(
        "{}\n{}\n{}",
        floor.map_or(ABSENT.into(), |floor| words::floor(floor, metric)),
        format::change(row.change),
        format::change_interval(row.interval())
    )
}

/// Headings that fit the columns of a narrow table.
pub(super) fn heading(metric: Metric) -> &'static str {
    match metric {
        Metric::ClientCpuPerOp => "client CPU/op",
        Metric::ServerCpuPerOp => "server CPU/op",
        Metric::ServerCpuRoundPerOp => "server CPU/op, whole round",
        Metric::ServerAndFileSystemCpuPerOp => "server and file system CPU/op, whole round",
        Metric::FileSystemCpuPerOp => "file system CPU/op",
        Metric::KernelWorkersCpuPerOp => "kernel workers' CPU/op, in its turn",
        Metric::StorageWrittenPerOp => "written/op",
        Metric::StorageReadPerOp => "read/op",
        Metric::TunnelCpuPerOp => "tunnel CPU/op",
        Metric::PoolerCpuPerOp => "pooler CPU/op",
        Metric::CellsPerOp => "cells/op",
        Metric::ColumnRelayCpuPerOp => "of the server's: our relay's CPU/op",
        Metric::ResponseP50 => "median response",
        Metric::ResponseP99 => "p99 response",
        other => other.label(),
    }
}

/// What follows: cost against queries per connection, and cores at a rate.
pub(super) fn consequences(page: &mut Page, run: &Run) {
    if run.results.churn.is_empty() && run.results.capacity.is_empty() {
        return;
    }
    page.heading("What follows");
    for arm in run.head.variants() {
        let churn: Vec<_> = run
            .results
            .churn
            .iter()
            .filter(|row| row.arm == arm.name)
            .collect();
        let capacity: Vec<_> = run
            .results
            .capacity
            .iter()
            .filter(|row| row.arm == arm.name)
            .collect();
        if churn.is_empty() && capacity.is_empty() {
            continue;
        }
        page.paragraph(&arm.name, Tone::Strong);
        // Where there are several such cells, a figure says which it is of.
        let of = |cell: &str, is_one: bool| {
            if is_one {
                String::new()
            } else {
                format!("{cell}: ")
            }
        };
        let is_one = churn.iter().all(|row| row.cell == churn[0].cell);
        for row in &churn {
            page.item(&format!("{}{}", of(&row.cell, is_one), words::churn(row)));
        }
        let is_one = capacity.iter().all(|row| {
            let mut alike = capacity
                .iter()
                .filter(|other| (&other.of, &other.side) == (&row.of, &row.side));
            alike.all(|other| other.cell == row.cell)
        });
        for row in &capacity {
            page.item(&format!("{}{}", of(&row.cell, is_one), words::capacity(row)));
        }
    }
}

/// Kinds of files down, arms across; nothing where no arm is about the disk.
pub(super) fn readable(page: &mut Page, run: &Run) {
    let tables = tables(run);
    if tables.is_empty() {
        return;
    }
    page.heading("What stays readable on the disk");
    page.paragraph(&meaning(run), Tone::Plain);
    for of_server in &tables {
        if let Some(server) = of_server.server {
            page.blank();
            page.paragraph(&format!("{server}:"), Tone::Plain);
        }
        let arms: Vec<String> = of_server.columns.iter().map(|arms| arms.join(", ")).collect();
        let header = std::iter::once("").chain(arms.iter().map(String::as_str));
        let mut table = page.table(header);
        for (kind, found) in &of_server.rows {
            let word = |found: &Option<Readability>| {
                right(found.map_or_else(|| ABSENT.into(), |found| found.to_string()))
            };
            table.add_row(std::iter::once(left(kind)).chain(found.iter().map(word)));
        }
        page.add_table(&table);
    }
}
