//! The run as text for a terminal: the verdict first, then what it rests on.

mod compare;
mod connection;
mod document;
mod grid;
mod page;
mod ranked;
mod summary;
mod why;

use ciphertax_records::{Check, CheckStatus, DoctorRecord, Run};

use crate::{ReportError, describe, html};
use page::{Page, Tone};

pub use compare::{compare, gate};
pub use connection::connection;
pub use page::{AS_WIDE_AS_NEEDED, Style};
pub use summary::{LINES, Place, summary};
pub use why::{why, why_in_full};

/// The whole report, ending with a newline. Text from servers is stripped of control characters.
///
/// # Errors
/// As [`html::render`].
pub fn full(run: &Run, place: Place<'_>, style: Style) -> Result<String, ReportError> {
    let mut page = Page::new(style);
    let html = html::for_text(run, summary::at_rate(run, place.at_rate))?;
    document::print(&mut page, &html, None);
    page.gap();
    page.line(&format!("Report: {}", place.report));
    page.line(&format!("Repeat: {}", run.head.command));
    Ok(page.text)
}

/// The verdict alone, ending with a newline, after what a reader of an unfinished run must know.
pub fn verdict_alone(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    if let Some(warning) = describe::unfinished(run) {
        page.paragraph(&warning, Tone::Warning);
    }
    page.paragraph(&run.results.verdict, Tone::Plain);
    page.text
}

/// The whole of it, ending with a newline: what follows first, then every check with what it means, and what to do.
pub fn doctor(record: &DoctorRecord, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = if record.can_measure {
        Tone::Strong
    } else {
        Tone::Warning
    };
    page.paragraph(&record.summary, tone);
    page.blank();
    page.paragraph(
        &format!(
            "{}, kernel {}; looked at for {:.0} s.",
            record.host.os, record.host.kernel, record.elapsed_s
        ),
        Tone::Plain,
    );
    for check in &record.checks {
        page.blank();
        let tone = match check.status {
            CheckStatus::Good => Tone::Plain,
            CheckStatus::Limited => Tone::Strong,
            CheckStatus::Bad => Tone::Warning,
        };
        page.hanging(&headed(check), 19, tone);
        page.hanging(&format!("{:19}{}", "", check.means), 19, Tone::Plain);
        if let Some(remedy) = &check.remedy {
            page.hanging(&format!("{:19}→ {remedy}", ""), 21, Tone::Plain);
        }
    }
    page.text
}

/// `limited  timers     60 µs late, …`
fn headed(check: &Check) -> String {
    let mark = match check.status {
        CheckStatus::Good => "✓",
        CheckStatus::Limited => "!",
        CheckStatus::Bad => "✗",
    };
    format!("{mark} {:<17}{}", check.name, check.found)
}
