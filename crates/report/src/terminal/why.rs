//! Why: in sentences, and with all that is beyond noise where it is asked for.

use ciphertax_base::format;
use ciphertax_records::Run;
use ciphertax_records::why::{ProfiledSide, StateRow};

use super::page::{Page, Style, Tone};
use crate::why::{
    Chosen, account_in_words, basis_in_words, bound_in_words, confirmation_in_words, costs_in_words,
    difference_in_words, in_sentences, is_again, of_chosen, side_word, state_in_words,
};

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
    not_explained(page, run);
}

/// What explains the dearest arms, in sentences; ends with a newline. Text from servers is stripped of control characters.
pub fn why(run: &Run, chosen: Chosen<'_>, style: Style) -> String {
    let (told, untold) = of_chosen(run, chosen);
    let mut end = Page::new(style);
    if told.is_empty() && untold.is_empty() {
        end.paragraph("No arm costs or saves CPU time beyond noise.", Tone::Plain);
    }
    if !untold.is_empty() {
        let names = untold[..untold.len().min(NAMES)].join(", ");
        let more = untold.len().checked_sub(NAMES + 1);
        let more = more.map_or(String::new(), |more| format!(" and {} more", more + 1));
        let reason = "too few samples, or a relay, which is not profiled";
        let text = format!("Not explained ({reason}): {names}{more}. Measure longer, with --time.");
        end.paragraph(&text, Tone::Plain);
    }
    not_explained(&mut end, run);
    end.paragraph("More: --full. Flame graphs: report.html.", Tone::Plain);
    let room = LINES.saturating_sub(end.text.lines().count() + 1);
    let mut page = Page::new(style);
    for (index, sentence) in told.iter().enumerate() {
        let before = page.text.len();
        page.paragraph(sentence, Tone::Plain);
        if page.text.lines().count() > room {
            page.text.truncate(before);
            let text = format!("{} more: choose with --cell and --arm.", told.len() - index);
            page.paragraph(&text, Tone::Plain);
            break;
        }
    }
    page.text + &end.text
}

/// Why the run was not profiled further.
fn not_explained(page: &mut Page, run: &Run) {
    if let Some(reason) = &run.head.not_explained {
        page.paragraph(reason, Tone::Plain);
    }
}

/// All of it that is beyond noise.
pub fn why_in_full(run: &Run, chosen: Chosen<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    for sentence in of_chosen(run, chosen).0 {
        page.paragraph(&sentence, Tone::Plain);
    }
    for cell in run.cells().map(|cell| cell.found.name.as_str()) {
        let is_shown = |arm: &str| match chosen.arms {
            Some(_) => chosen.has(cell, arm),
            None => chosen.has_cell(cell) && !is_again(run, arm),
        };
        for arm in run.head.arms.iter().filter(|arm| is_shown(&arm.name)) {
            page.heading(&format!("{cell}, {}", arm.name));
            of_arm(&mut page, run, cell, &arm.name);
        }
    }
    page.blank();
    let rows = run.results.why.costs.iter();
    for words in costs_in_words(rows.filter(|row| chosen.has_cell(&row.cell))) {
        page.paragraph(&words, Tone::Plain);
    }
    not_explained(&mut page, run);
    page.text.trim_start_matches('\n').to_owned()
}

fn of_arm(page: &mut Page, run: &Run, cell: &str, arm: &str) {
    let why = &run.results.why;
    if let Some(row) = why.bound(cell, arm) {
        let confirmation = confirmation_in_words(row.confirmation);
        page.item(&format!("bound by {}. {confirmation}", bound_in_words(row)));
        page.detail(&format!("{}.", row.evidence.join("; ")));
    }
    for side in [ProfiledSide::Server, ProfiledSide::Client] {
        let mut sides = why.differences.iter();
        let Some(whole) = sides.find(|row| row.cell == cell && row.arm == arm && row.side == side) else {
            continue;
        };
        page.item(&format!("CPU time of the {} per operation", side_word(side)));
        let rows = why.categories.iter();
        let rows = rows.filter(|row| row.cell == cell && row.arm == arm && row.side == side);
        for row in rows.filter(|row| row.is_significant) {
            let difference = row.difference.map_or(String::new(), difference_in_words);
            let [baseline, variant] = [row.baseline_us, row.variant_us].map(format::microseconds);
            page.detail(&format!(
                "{difference} {}: {variant} instead of {baseline}",
                row.category
            ));
        }
        page.detail(&account_in_words(whole));
        page.detail(&basis_in_words(whole));
    }
    let states = [
        ("Time of an operation", &why.states),
        (
            "Time of an operation by the server's own wait events",
            &why.wait_events,
        ),
    ];
    for (title, rows) in states {
        let of_arm = |row: &&StateRow| row.cell == cell && row.arm == arm;
        for (index, row) in rows.iter().filter(of_arm).enumerate() {
            if index == 0 {
                page.item(title);
            }
            let difference = row
                .difference
                .map_or(String::new(), |us| format!(" ({})", difference_in_words(us)));
            page.detail(&format!(
                "{} {}{difference}",
                format::microseconds(row.us),
                state_in_words(row)
            ));
        }
    }
}
