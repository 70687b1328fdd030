//! Why: in sentences, and with all that is beyond noise where it is asked for.

use ciphertax_records::Run;

use super::document;
use super::page::{Page, Style, Tone};
use crate::why::{Chosen, of_chosen, part};
use crate::{ReportError, html};

/// Lines that [`why`] prints at most.
const LINES: usize = 25;
/// Names that one line has.
const NAMES: usize = 3;

/// What explains the dearest arms, in sentences; ends with a newline. Text from servers is stripped of control characters.
pub fn why(run: &Run, chosen: Chosen<'_>, style: Style) -> String {
    let (told, untold) = of_chosen(run, chosen);
    let mut end = Page::new(style);
    if told.is_empty() && untold.is_empty() {
        end.paragraph("No arm costs or saves CPU time beyond noise.", Tone::Plain);
    }
    if !untold.is_empty() {
        let names = untold[..untold.len().min(NAMES)].join("; ");
        let more = untold.len().checked_sub(NAMES + 1);
        let more = more.map_or(String::new(), |more| format!(" and {} more", more + 1));
        let relayed = run.head.study.arms.iter().any(|arm| arm.columns.is_some());
        let reason = match relayed {
            true => "too few samples, or a relay, which is not profiled",
            false => "too few samples",
        };
        let text = format!("Not explained ({reason}): {names}{more}. Measure longer (--time).");
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

/// All of it that is beyond noise, as the report has it.
///
/// # Errors
/// As [`html::render`].
pub fn why_in_full(run: &Run, chosen: Chosen<'_>, style: Style) -> Result<String, ReportError> {
    let mut page = Page::new(style);
    let mut run = run.clone();
    run.results.why = part(&run.results.why, chosen);
    run.results.findings.clear();
    run.results.connect_phases.clear();
    document::print(&mut page, &html::for_text(&run, Vec::new())?, Some("why"));
    if page.text.is_empty() {
        page.paragraph("Nothing of this was explained.", Tone::Plain);
    }
    Ok(page.text)
}
