//! A run held to budgets, as text.

use ciphertax_records::{Gate, HeldTo};
use ciphertax_stats::BoundVerdict;

use super::cells::heading;
use super::compare::{differences, not_compared};
use super::grid::{Grid, figure, name};
use super::page::{COSTS, NO_COST, Page, Style, Tone};
use crate::compare::label;
use crate::gate::{answer, cut_off, limit, limit_of_speed, measured, reasons};

/// The gate, ending with a newline. Text from servers is stripped of control characters.
pub fn gate(gate: &Gate, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(&answer(gate), Tone::Strong);
    for sentence in cut_off(gate) {
        page.paragraph(&sentence, Tone::Warning);
    }
    page.blank();
    match &gate.baseline {
        None => page.item(&gate.run),
        Some(earlier) => {
            page.item(&format!("{}  {earlier}, the earlier run", label(0)));
            page.item(&format!("{}  {}", label(1), gate.run));
        }
    }
    for (held_to, title) in [
        (HeldTo::Budget, "Cost against the baseline arm"),
        (
            HeldTo::EarlierRun,
            "Cost against the earlier run: B's ratio to its baseline over A's",
        ),
    ] {
        rows(&mut page, gate, held_to, title);
    }
    if !gate.not_held.is_empty() {
        page.heading("Not held to the earlier run");
    }
    for cost in &gate.not_held {
        page.item(&format!(
            "{} in {}, {}: {}",
            cost.arm, cost.cell, cost.metric, cost.why
        ));
    }
    if gate.baseline.is_some() {
        differences(&mut page, &gate.differences, 2);
        not_compared(&mut page, &gate.not_comparable);
    }
    page.text
}

fn rows(page: &mut Page, gate: &Gate, held_to: HeldTo, title: &str) {
    let rows = || gate.rows.iter().filter(|row| row.held_to == held_to);
    if rows().next().is_none() {
        return;
    }
    page.heading(title);
    let header = ["", "arm", "cell", "metric"].map(name).into_iter();
    let mut grid = Grid::new(header.chain(["limit", "measured"].map(figure)));
    for row in rows() {
        let colour = match row.verdict {
            BoundVerdict::Within => Some(NO_COST),
            BoundVerdict::Over => Some(COSTS),
            BoundVerdict::CannotTell => None,
        };
        let word = name(&row.verdict.to_string()).coloured(colour);
        let names = [&*row.arm, &*row.cell, heading(row.metric)].map(name);
        let figures = [limit(row), measured(row)].map(|text| figure(&text));
        grid.add(std::iter::once(word).chain(names).chain(figures));
    }
    page.add_table(&grid.table(page));
    if let Some(sentence) = limit_of_speed(rows()) {
        page.item(&sentence);
    }
    let all = rows().count();
    for (reason, of) in reasons(rows()) {
        let names: Vec<String> = of
            .iter()
            .map(|row| format!("{} in {}, {}", row.arm, row.cell, row.metric))
            .collect();
        page.item(&match of.len() {
            1 => format!("{}: {reason}.", names.concat()),
            count if count == all => format!("All {all}: {reason}."),
            count => format!("{count} of {all}: {reason}: {}.", names.join("; ")),
        });
    }
}
