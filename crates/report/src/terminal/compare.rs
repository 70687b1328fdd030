//! Runs beside each other, and a run held to budgets, as text.

use ciphertax_records::{Comparison, Gate, HeadDifference, HeldTo, NotComparable};
use ciphertax_stats::BoundVerdict;

use super::document;
use super::grid::{Grid, figure, name};
use super::page::{COSTS, NO_COST, Page, Style, Tone};
use crate::compare::{label, value};
use crate::gate::{answer, cut_off, limit, limit_of_speed, measured, reasons};
use crate::{ReportError, html};

/// The comparison, ending with a newline. Text from servers is stripped of control characters.
///
/// # Errors
/// As [`html::compare`].
pub fn compare(comparison: &Comparison, style: Style) -> Result<String, ReportError> {
    let mut page = Page::new(style);
    document::print(&mut page, &html::compare_for_text(comparison)?, None);
    Ok(page.text)
}

/// What differs between so many runs besides the cost.
fn differences(page: &mut Page, differences: &[HeadDifference], runs: usize) {
    page.heading("What differs besides the cost");
    if differences.is_empty() {
        page.item("Nothing that the records of the runs say.");
        return;
    }
    let labels: Vec<String> = (0..runs).map(label).collect();
    let header = std::iter::once(name("")).chain(labels.iter().map(|label| name(label)));
    let mut grid = Grid::new(header);
    for difference in differences {
        let values = (0..runs).map(|run| name(value(difference, run)));
        grid.add(std::iter::once(name(&difference.what)).chain(values));
    }
    grid.print(page);
}

/// What is not compared, and why.
fn not_compared(page: &mut Page, refused: &[NotComparable]) {
    if refused.is_empty() {
        return;
    }
    page.heading("Not compared");
    for refused in refused {
        page.item(&format!(
            "{}: {}: {}",
            label(refused.run),
            refused.what,
            refused.why
        ));
    }
}

/// The gate, ending with a newline. Text from servers is stripped of control characters.
pub fn gate(gate: &Gate, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(&answer(gate), Tone::Strong);
    for sentence in cut_off(gate) {
        page.paragraph(&sentence, Tone::Warning);
    }
    page.blank();
    match gate.baselines.as_slice() {
        [] => page.item(&gate.run),
        earlier => {
            let which = if earlier.len() > 1 {
                "earlier runs"
            } else {
                "the earlier run"
            };
            page.item(&format!("{}  {}, {which}", label(0), earlier.join(", ")));
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
    if !gate.baselines.is_empty() {
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
        let names = [&*row.arm, &*row.cell, row.metric.label()].map(name);
        let figures = [limit(row), measured(row)].map(|text| figure(&text));
        grid.add(std::iter::once(word).chain(names).chain(figures));
    }
    grid.print(page);
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
