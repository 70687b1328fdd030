//! The run as text for a terminal: the verdict first, then what it rests on.

mod cells;
mod compare;
mod connection;
mod connects;
mod grid;
mod page;
mod ranked;
mod summary;
mod why;

use ciphertax_base::format;
use ciphertax_records::{Check, CheckStatus, DoctorRecord, Run, Severity};

use crate::answer::{lacks_blocks, needs_blocks};
use crate::describe;
use crate::lookup::{self, Group, grouped};
use cells::{consequences, costs, noise, readable};
use connects::connect_phases;
use page::{Page, Tone};
use ranked::ranked;

pub use compare::{compare, gate};
pub use connection::connection;
pub use page::{AS_WIDE_AS_NEEDED, Style};
pub use summary::{LINES, Place, summary};
pub use why::{why, why_in_full};

/// The whole report, ending with a newline. Text from servers is stripped of control characters.
pub fn full(run: &Run, place: Place<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    verdict(&mut page, run);
    for sentence in summary::at_rate(run, place.at_rate) {
        page.paragraph(&sentence, Tone::Plain);
    }
    if lacks_blocks(run) {
        page.paragraph(&needs_blocks(), Tone::Plain);
    }
    ranked(run).table(&mut page, run, usize::MAX);
    consequences(&mut page, run);
    let (advice, causes): (Vec<_>, Vec<_>) = grouped(run)
        .into_iter()
        .partition(|group| group.severity == Severity::Advice);
    findings(&mut page, "What to do", &advice);
    for cell in run.cells() {
        connect_phases(&mut page, run, cell);
    }
    why::in_short(&mut page, run);
    findings(&mut page, "Why", &causes);
    proofs(&mut page, run);
    readable(&mut page, run);
    noise(&mut page, run);
    void_slices(&mut page, run);
    for cell in run.cells() {
        costs(&mut page, run, cell);
    }
    published(&mut page, run);
    page.blank();
    page.line(&format!("Report: {}", place.report));
    page.line(&format!("Repeat: {}", run.head.command));
    page.text
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

fn verdict(page: &mut Page, run: &Run) {
    if let Some(warning) = describe::unfinished(run) {
        page.paragraph(&warning, Tone::Warning);
        page.blank();
    }
    page.paragraph(&run.results.verdict, Tone::Strong);
    page.blank();
    page.paragraph(&format!("{}.", describe::servers_in_words(run)), Tone::Plain);
    for server in &run.head.servers {
        if let Some(link) = describe::link_in_words(server) {
            page.paragraph(&format!("{}, {link}.", server.name), Tone::Plain);
        }
    }
    let unread = describe::cpu_unread_in_words(run);
    let of_arms = describe::left_out_in_words(run).chain(describe::probes_in_words(run));
    for words in unread.chain(describe::cpu_from_in_words(run)).chain(of_arms) {
        page.paragraph(&words, Tone::Plain);
    }
    if lookup::is_same_host(run) {
        page.paragraph(
            "Both sides share the CPUs: CPU per operation is the figure to rely on.",
            Tone::Plain,
        );
    }
}

/// How the arms were proved.
fn proofs(page: &mut Page, run: &Run) {
    page.heading("Is it true?");
    for (arm, words) in describe::proofs_in_words(run) {
        page.item(&format!("{arm}: {words}"));
    }
}

fn findings(page: &mut Page, title: &str, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    page.heading(title);
    for group in groups {
        let word = describe::severity_word(group.severity);
        for statement in &group.statements {
            page.item(&format!("{word}: {}", statement.summary));
            for evidence in &statement.evidence {
                page.detail(evidence);
            }
        }
    }
}

/// Figures published elsewhere, beside the measured ones.
fn published(page: &mut Page, run: &Run) {
    if run.results.published.is_empty() {
        return;
    }
    page.heading("Published figures");
    page.paragraph(
        "Their absolute values come from other hardware, so ratios are compared: baseline to variant, fewer is negative.",
        Tone::Plain,
    );
    for row in &run.results.published {
        page.item(&format!(
            "{}, {}, {}: published {} ({}), {}: {}",
            row.cell,
            row.arm,
            describe::published_metric(row),
            describe::published_figure(row),
            row.source,
            row.measured.map_or("not measured".into(), |change| {
                format!("measured {}", format::change_with_interval(change))
            }),
            describe::agreement_word(row.agreement)
        ));
        for text in row.explanation.iter().chain(&row.note) {
            page.detail(text);
        }
    }
}

fn void_slices(page: &mut Page, run: &Run) {
    page.heading(&format!(
        "Void slices: {}",
        format::count(run.results.void.len() as f64)
    ));
    for group in describe::void_groups(run) {
        page.item(&format!(
            "{} × {}, first: {}",
            format::count(group.count as f64),
            group.kind,
            group.first
        ));
    }
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
