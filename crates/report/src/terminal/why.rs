//! Why: in sentences, and as tables where they are asked for.

use ciphertax_base::format::{self, ABSENT};
use ciphertax_records::Run;
use ciphertax_records::why::{CategoryRow, ProfiledSide, StateRow};

use super::page::{Page, Style, Tone, left, right};
use crate::why::{
    Chosen, account_in_words, basis_in_words, bound_in_words, confirmation_in_words, costs_in_words,
    difference_in_words, difference_of, in_sentences, is_again, microseconds_more, of_chosen, side_word,
    state_in_words,
};

/// What the tables of states say.
const STATES: &str = "Where the time of an operation goes (difference from the baseline below)";
const WAIT_EVENTS: &str = "What sessions wait for, as the server says (difference from the baseline below)";

/// Lines that [`why`] prints at most.
const LINES: usize = 25;
/// Names that one line has.
const NAMES: usize = 3;

/// In the report.
pub(super) fn in_short(page: &mut Page, run: &Run) {
    let sentences = in_sentences(run);
    if sentences.is_empty() && run.head.not_explained.is_none() {
        return;
    }
    page.heading("Where the CPU time goes, and what bounds the speed");
    for sentence in sentences {
        page.item(&sentence);
    }
    if let Some(reason) = &run.head.not_explained {
        page.paragraph(reason, Tone::Plain);
    }
}

/// What explains the dearest arms, in sentences; ends with a newline. Text from servers is stripped of control characters.
pub fn why(run: &Run, chosen: Chosen<'_>, style: Style) -> String {
    let (told, untold) = of_chosen(run, chosen);
    let mut end = Page::new(style);
    if told.is_empty() && untold.is_empty() {
        end.paragraph("No arm costs or saves CPU time beyond noise.", Tone::Plain);
    }
    if !untold.is_empty() {
        let untold = some(&untold);
        end.paragraph(
            &format!("Not explained (too few samples, or a relay, which is not profiled): {untold}. Measure longer, with --time."),
            Tone::Plain,
        );
    }
    if let Some(reason) = &run.head.not_explained {
        end.paragraph(reason, Tone::Plain);
    }
    end.paragraph("Tables: --full. Flame graphs: report.html.", Tone::Plain);
    let room = LINES.saturating_sub(end.text.lines().count() + 1);
    let mut page = Page::new(style);
    for (index, sentence) in told.iter().enumerate() {
        let before = page.text.len();
        page.paragraph(sentence, Tone::Plain);
        if page.text.lines().count() > room {
            page.text.truncate(before);
            let left_out = told.len() - index;
            page.paragraph(
                &format!("{left_out} more: choose with --cell and --arm."),
                Tone::Plain,
            );
            break;
        }
    }
    page.text + &end.text
}

/// The first names, and how many more there are.
fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What profiling cost, and why the run was not looked into further.
fn costs(page: &mut Page, run: &Run, chosen: Chosen<'_>) {
    let rows = run.results.why.costs.iter();
    for words in costs_in_words(rows.filter(|row| chosen.has_cell(&row.cell))) {
        page.paragraph(&words, Tone::Plain);
    }
    if let Some(reason) = &run.head.not_explained {
        page.paragraph(reason, Tone::Plain);
    }
}

/// The same as tables.
pub fn why_in_full(run: &Run, chosen: Chosen<'_>, style: Style) -> String {
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
        page.detail(confirmation_in_words(row.confirmation));
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
    let (clear, noise): (Vec<&CategoryRow>, Vec<&CategoryRow>) =
        rows.into_iter().partition(|row| row.is_significant);
    let mut table = page.table(["", "baseline", "this arm", "difference"].into_iter());
    let mut add = |name: &str, [baseline, variant]: [f64; 2], difference: String| {
        table.add_row([
            left(name),
            right(format::microseconds(baseline)),
            right(format::microseconds(variant)),
            right(difference),
        ]);
    };
    for row in &clear {
        let difference = row.difference.map_or(String::new(), difference_in_words);
        add(&row.category, [row.baseline_us, row.variant_us], difference);
    }
    if !noise.is_empty() {
        let sum = |us: fn(&CategoryRow) -> f64| noise.iter().map(|row| us(row)).sum();
        add(
            &format!("{} within noise", noise.len()),
            [sum(|row| row.baseline_us), sum(|row| row.variant_us)],
            microseconds_more(sum(difference_of)),
        );
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
