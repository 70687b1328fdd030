//! What a machine can measure, as text.

use ciphertax_records::{Check, CheckStatus, DoctorRecord};

use super::page::{Page, Style, Tone};

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
