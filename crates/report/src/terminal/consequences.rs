//! What follows: cost against queries per connection, and cores at a rate.

use ciphertax_records::Run;

use super::page::{Page, Tone};
use crate::{lookup, words};

pub(super) fn consequences(page: &mut Page, run: &Run) {
    if run.results.churn.is_empty() && run.results.capacity.is_empty() {
        return;
    }
    page.heading("What follows");
    for arm in lookup::variants(run) {
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
