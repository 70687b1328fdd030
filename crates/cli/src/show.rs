//! A run on the terminal and in its folder, and how wide what is printed may be.

use std::env;
use std::io::{self, Write};
use std::path::Path;

use ciphertax_records::why::Pictures;
use ciphertax_records::{Recorded, Run};
use ciphertax_report::terminal::{self, AS_WIDE_AS_NEEDED};
use ciphertax_report::{html, json};
use ciphertax_supervise::say;
use console::Term;
use serde::Serialize;

use crate::arguments::OutputArguments;
use crate::export::{self, write_text};

pub(crate) const REPORT: &str = "report.html";

/// Writes `report.html`, prints the run, and exports it. It is printed also where it cannot be written. Tells what could not be done.
pub(crate) fn everything(run: &Run, folder: &Path, output: &OutputArguments) -> Vec<String> {
    let (pictures, drawn) = match pictures(folder) {
        Ok(pictures) => (pictures, Ok(())),
        Err(problem) => (Pictures::default(), Err(problem)),
    };
    let page = html::render_with(run, &pictures).map_err(|error| error.to_string());
    let shown = match &page {
        Ok(page) => write_and_print(run, page, folder, output),
        Err(problem) => Err(problem.clone()),
    };
    let shown = shown.and(drawn.clone());
    // An exported page has all its pictures.
    let page = drawn.and(page);
    let exported = export::write_all(&output.export, run, folder, page.as_deref());
    shown.err().into_iter().chain(exported).collect()
}

/// The run in its folder, and on standard output: as text, or as JSON and nothing else, or its verdict.
fn write_and_print(run: &Run, page: &str, folder: &Path, output: &OutputArguments) -> Result<(), String> {
    let path = folder.join(REPORT);
    let written = write_text(&path, page);
    let text = if output.json {
        if !output.quiet {
            say(format_args!("Report: {}", path.display()));
        }
        json::render(run)
    } else if output.quiet {
        terminal::verdict_alone(run, style())
    } else {
        let place = terminal::Place {
            folder: &folder.to_string_lossy(),
            report: &path.to_string_lossy(),
            at_rate: output.at_rate,
        };
        match output.full {
            true => terminal::full(run, place, style()).map_err(|error| error.to_string())?,
            false => terminal::summary(run, place, style()),
        }
    };
    let printed = print(&text);
    written.and(printed)
}

/// What the page shows besides the record.
fn pictures(folder: &Path) -> Result<Pictures, String> {
    let recorded = Recorded::open(folder).map_err(|error| error.to_string())?;
    html::pictures(&recorded).map_err(|error| error.to_string())
}

/// Prints a record: as JSON and nothing else, or as text.
pub(crate) fn record(
    record: &impl Serialize,
    as_json: bool,
    text: impl FnOnce(terminal::Style) -> String,
) -> Result<(), String> {
    print(&match as_json {
        true => json::render(record),
        false => text(style()),
    })
}

pub(crate) fn print(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // Whoever closed the other end has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("standard output cannot be written: {error}")),
    }
}

pub(crate) fn style() -> terminal::Style {
    terminal::Style {
        width: columns(),
        colour: console::colors_enabled(),
    }
}

/// Narrower than this no table is readable.
const NARROWEST: usize = 60;
/// Wider than this no sentence is.
const WIDEST: usize = 120;

/// The columns of standard output: those that `COLUMNS` says, else those of the terminal; as many as needed where it is
/// none.
pub(crate) fn columns() -> usize {
    let terminal = Term::stdout()
        .size_checked()
        .map(|(_, columns)| usize::from(columns));
    chosen(env::var("COLUMNS").ok().as_deref(), terminal)
}

fn chosen(variable: Option<&str>, terminal: Option<usize>) -> usize {
    match variable
        .and_then(|text| text.parse().ok())
        .filter(|columns| *columns > 0)
    {
        Some(columns) => NARROWEST.max(columns),
        None => terminal.map_or(AS_WIDE_AS_NEEDED, |columns| columns.clamp(NARROWEST, WIDEST)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_terminal_and_what_is_no_terminal_is_as_wide_as_needed() {
        assert_eq!(chosen(Some("80"), Some(200)), 80);
        assert_eq!(chosen(Some("150"), None), 150);
        assert_eq!(chosen(Some("20"), None), NARROWEST);
        assert_eq!(chosen(None, Some(80)), 80);
        assert_eq!(chosen(None, Some(300)), WIDEST);
        assert_eq!(chosen(None, None), AS_WIDE_AS_NEEDED);
        for useless in ["", "0", "wide", "-3"] {
            assert_eq!(chosen(Some(useless), Some(80)), 80);
        }
    }
}
