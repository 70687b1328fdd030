//! Why: what bounds each cell and the largest differences in the report, and all of it where it is asked for alone.

use ciphertax_base::format::{self, ABSENT};
use ciphertax_records::Run;
use ciphertax_records::why::{CategoryRow, ProfiledSide, StateRow};

use super::page::{Page, Style, Tone, left, right};
use crate::why::{
    Chosen, account_in_words, basis_in_words, bound_in_words, confirmation_word, costs_in_words,
    difference_in_words, difference_of, is_again, largest, microseconds_more, side_word, state_in_words,
};

/// What the tables of states say.
const STATES: &str = "The time of an operation by what its session did or waited for, and what that is more than the baseline's";
const WAIT_EVENTS: &str =
    "The time of an operation by what the server itself says that its session waited for";

/// Differences of a cell that the report has.
const LARGEST: usize = 5;

/// In the report: the bound of each cell, and its largest differences.
pub(super) fn in_short(page: &mut Page, run: &Run) {
    let why = &run.results.why;
    if why.is_empty() && run.head.not_explained.is_none() {
        return;
    }
    page.heading("Where the CPU time goes, and what bounds the speed");
    for cell in run.cells().map(|cell| cell.found.name.as_str()) {
        let bounds = bounds_in_a_line(run, cell);
        let largest = largest(run, cell);
        if bounds.is_empty() && largest.is_empty() {
            continue;
        }
        page.item(&match bounds.is_empty() {
            true => format!("{cell}:"),
            false => format!("{cell}: {bounds}"),
        });
        for row in largest.into_iter().take(LARGEST) {
            let difference = row
                .difference
                .map_or_else(|| microseconds_more(difference_of(row)), difference_in_words);
            page.detail(&format!(
                "{difference} {} ({}, {})",
                row.category,
                row.arm,
                side_word(row.side)
            ));
        }
    }
    costs(page, run, Chosen::default());
}

/// `bound by server CPU`, or by arm where they differ.
fn bounds_in_a_line(run: &Run, cell: &str) -> String {
    let rows = run.results.why.bounds.iter();
    let rows: Vec<_> = rows
        .filter(|row| row.cell == cell && !is_again(run, &row.arm))
        .collect();
    let words: Vec<String> = rows.iter().map(|row| bound_in_words(row)).collect();
    match words.first() {
        None => String::new(),
        Some(first) if words.iter().all(|word| word == first) => format!("bound by {first}"),
        Some(_) => {
            let each = rows.iter().zip(&words);
            let each: Vec<String> = each.map(|(row, word)| format!("{} by {word}", row.arm)).collect();
            format!("bound: {}", each.join(", "))
        }
    }
}

/// What looking cost, and why the run was not looked into further.
fn costs(page: &mut Page, run: &Run, chosen: Chosen<'_>) {
    let rows = run.results.why.costs.iter();
    for words in costs_in_words(rows.filter(|row| chosen.has_cell(&row.cell))) {
        page.paragraph(&words, Tone::Plain);
    }
    if let Some(reason) = &run.head.not_explained {
        page.paragraph(reason, Tone::Plain);
    }
}

/// All of it, ending with a newline. Text from servers is stripped of control characters.
pub fn why(run: &Run, chosen: Chosen<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    let cells = run.cells().map(|cell| cell.found.name.as_str());
    for cell in cells.filter(|cell| chosen.has_cell(cell)) {
        of_cell(&mut page, run, cell, chosen);
    }
    page.blank();
    costs(&mut page, run, chosen);
    page.text.trim_start_matches('\n').to_owned()
}

fn of_cell(page: &mut Page, run: &Run, cell: &str, chosen: Chosen<'_>) {
    page.heading(cell);
    let is_shown = |arm: &str| chosen.has_arm(arm) && (chosen.arms.is_some() || !is_again(run, arm));
    let bounds = run.results.why.bounds.iter();
    for row in bounds.filter(|row| row.cell == cell && is_shown(&row.arm)) {
        page.item(&format!("{}: bound by {}", row.arm, bound_in_words(row)));
        for text in row.evidence.iter().chain(&row.follows) {
            page.detail(text);
        }
        page.detail(&format!(
            "Tried by taking the bound away: {}.",
            confirmation_word(row.confirmation)
        ));
    }
    let arms: Vec<&str> = run.head.arms.iter().map(|arm| arm.name.as_str()).collect();
    for arm in arms.iter().filter(|arm| is_shown(arm)) {
        for side in [ProfiledSide::Server, ProfiledSide::Client] {
            categories(page, run, (cell, arm, side));
        }
    }
    let why = &run.results.why;
    states(page, &why.states, STATES, cell, &is_shown);
    states(page, &why.wait_events, WAIT_EVENTS, cell, &is_shown);
}

fn categories(page: &mut Page, run: &Run, (cell, arm, side): (&str, &str, ProfiledSide)) {
    let why = &run.results.why;
    let is_of = |row: &&CategoryRow| row.cell == cell && row.arm == arm && row.side == side;
    let rows: Vec<&CategoryRow> = why.categories.iter().filter(is_of).collect();
    if rows.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(
        &format!("{arm}: CPU time of the {} per operation", side_word(side)),
        Tone::Plain,
    );
    let header = ["", "baseline", "this arm", "difference", "noise up to", "counts"];
    let mut table = page.table(header.into_iter());
    for row in rows {
        let difference = row
            .difference
            .map_or_else(|| microseconds_more(difference_of(row)), difference_in_words);
        table.add_row([
            left(&row.category),
            right(format::microseconds(row.baseline_us)),
            right(format::microseconds(row.variant_us)),
            right(difference),
            right(row.floor_us.map_or(ABSENT.into(), format::microseconds)),
            right(if row.is_significant { "yes" } else { "no" }.into()),
        ]);
    }
    page.add_table(&table);
    let mut of_side = why.differences.iter();
    if let Some(row) = of_side.find(|row| row.cell == cell && row.arm == arm && row.side == side) {
        page.paragraph(&account_in_words(row), Tone::Plain);
        page.paragraph(&basis_in_words(row), Tone::Plain);
    }
}

/// States down, arms across.
fn states(page: &mut Page, rows: &[StateRow], title: &str, cell: &str, is_shown: &dyn Fn(&str) -> bool) {
    let rows = rows.iter();
    let rows: Vec<&StateRow> = rows
        .filter(|row| row.cell == cell && is_shown(&row.arm))
        .collect();
    let (mut arms, mut states): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for row in &rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
        let state = state_in_words(row);
        if !states.contains(&state) {
            states.push(state);
        }
    }
    if rows.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(title, Tone::Plain);
    let mut table = page.table(std::iter::once("").chain(arms.iter().copied()));
    for state in states {
        let of_arm = |arm: &&str| {
            let row = rows
                .iter()
                .find(|row| row.arm == **arm && state_in_words(row) == state);
            right(row.map_or(ABSENT.into(), |row| match row.difference {
                Some(difference) => format!(
                    "{}\n{}",
                    format::microseconds(row.us),
                    difference_in_words(difference)
                ),
                None => format::microseconds(row.us),
            }))
        };
        table.add_row(std::iter::once(left(&state)).chain(arms.iter().map(of_arm)));
    }
    page.add_table(&table);
}
