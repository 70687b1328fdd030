//! What each arm takes more, per query and per new connection.

use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::format::{self, ABSENT};
use comfy_table::Cell;

use super::page::{Page, Tone, harmless, right};
use crate::answer::{Answer, between, lacks_blocks, needs_blocks, query_heading, sides};
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
