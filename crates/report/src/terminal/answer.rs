//! What each arm takes more, what follows, and what stays readable.

use ciphertax_records::{EstimateRow, Readability, Run};
use ciphertax_stats::format::{self, ABSENT};
use comfy_table::Cell;

use super::page::{Page, Tone, harmless, left, right};
use crate::answer::{Answer, between, lacks_blocks, needs_blocks, query_heading, sides};
use crate::readable::{meaning, tables};
use crate::{lookup, words};

/// What each arm takes more, per query and per new connection, on both sides. `answered` are the estimates of the answers.
pub(super) fn answer(page: &mut Page, run: &Run, answers: &[Answer<'_>], answered: &[&EstimateRow]) {
    if lacks_blocks(run) {
        page.blank();
        page.paragraph(&needs_blocks(), Tone::Plain);
    }
    let Some(baseline) = lookup::baseline(run).filter(|_| !answers.is_empty()) else {
        return;
    };
    let has_query = answers.iter().any(|answer| answer.query.is_some());
    let has_connection = answers.iter().any(|answer| answer.connection.is_some());
    let query = query_heading(answers).trim_start_matches("per ");
    page.heading(&format!(
        "CPU time that each arm takes more than {}",
        baseline.name
    ));
    let between = between(run, answers);
    let header = [(has_query, query), (has_connection, "connection")]
        .into_iter()
        .filter(|(has, _)| *has)
        .flat_map(|(_, what)| {
            let sides = sides(run).iter().map(|(_, side)| *side).chain(between);
            sides.map(move |side| format!("{what}: {side}"))
        });
    let header: Vec<String> = std::iter::once(String::new()).chain(header).collect();
    let mut table = page.table(header.iter().map(String::as_str));
    for answer in answers {
        let name = match answer.place.as_str() {
            "" => harmless(&answer.arm.name),
            place => format!("{}\n{}", harmless(&answer.arm.name), harmless(place)),
        };
        let cells = [(has_query, answer.query), (has_connection, answer.connection)]
            .into_iter()
            .filter(|(has, _)| *has)
            .flat_map(|(_, cell)| {
                let sides = sides(run).iter();
                let sides = sides.map(|(metric, _)| page.cost(run, answer.estimate(run, cell, *metric)));
                let sides: Vec<Cell> = sides.collect();
                let by_itself = between.map(|_| {
                    let value = answer.between(run, cell);
                    right(value.map_or(ABSENT.into(), |(value, unit)| {
                        format::difference(value, [value; 2], unit).value
                    }))
                });
                sides.into_iter().chain(by_itself)
            });
        let cells: Vec<Cell> = cells.collect();
        table.add_row(std::iter::once(Cell::new(name)).chain(cells));
    }
    page.add_table(&table);
    let cells = |what: &str, cell: fn(&Answer<'_>) -> Option<String>| {
        let mut names: Vec<String> = answers.iter().filter_map(cell).collect();
        names.dedup();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let query = cells(query, |answer| answer.query.map(|cell| cell.found.name.clone()));
    let connection = cells("connection", |answer| {
        answer.connection.map(|cell| cell.found.name.clone())
    });
    let cells: Vec<String> = query.into_iter().chain(connection).collect();
    page.paragraph(&format!("Measured in: {}.", cells.join("; ")), Tone::Plain);
    for row in answered.iter().filter(|row| words::is_surprising(row)) {
        page.paragraph(&words::explained(run, row), Tone::Plain);
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
