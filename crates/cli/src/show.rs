//! A run on the terminal and in its folder.

use std::io::{self, Write};
use std::path::Path;

use ciphertax_explain::why::{course, flame};
use ciphertax_records::why::Pictures;
use ciphertax_records::{Recorded, Run, write_whole};
use ciphertax_report::{html, json, terminal};
use ciphertax_supervise::say;

use crate::width;

pub(crate) const REPORT: &str = "report.html";

/// Writes `report.html` and prints the run: as text, or as JSON and nothing else. It is printed also where it cannot be
/// written.
pub(crate) fn everything(run: &Run, folder: &Path, as_json: bool) -> Result<(), String> {
    let path = folder.join(REPORT);
    let (pictures, drawn) = match pictures(run, folder) {
        Ok(pictures) => (pictures, Ok(())),
        Err(problem) => (Pictures::default(), Err(problem)),
    };
    let page = html::render_with(run, &pictures).map_err(|error| error.to_string())?;
    let written = write_whole(&path, |file| file.write_all(page.as_bytes()));
    let text = if as_json {
        say(format_args!("Report: {}", path.display()));
        json::render(run)
    } else {
        let style = style();
        format!(
            "{}{}",
            terminal::render(run, style),
            terminal::closing(run, &path, style)
        )
    };
    let printed = print(&text);
    written.map_err(|error| error.to_string()).and(printed).and(drawn)
}

/// What the page shows besides the record.
fn pictures(run: &Run, folder: &Path) -> Result<Pictures, String> {
    let recorded = Recorded::open(folder).map_err(|error| error.to_string())?;
    let looks = recorded.looks().map_err(|error| error.to_string())?;
    let explained = |error: ciphertax_explain::ExplainError| error.to_string();
    Ok(Pictures {
        flames: flame::flames(&run.head, &recorded.samples, &looks).map_err(explained)?,
        courses: course::courses(&recorded.samples).map_err(explained)?,
    })
}

/// Writes to standard output.
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
        width: width::columns(),
        colour: console::colors_enabled(),
    }
}
