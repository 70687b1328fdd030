//! A run on the terminal and in its folder.

use std::io::{self, Write};
use std::path::Path;

use ciphertax_records::{Run, write_whole};
use ciphertax_report::{html, json, terminal};
use ciphertax_supervise::say;

use crate::width;

pub(crate) const REPORT: &str = "report.html";

/// Writes `report.html` and prints the run: as text, or as JSON and nothing else. It is printed also where it cannot be
/// written.
pub(crate) fn everything(run: &Run, folder: &Path, as_json: bool) -> Result<(), String> {
    let path = folder.join(REPORT);
    let page = html::render(run).map_err(|error| error.to_string())?;
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
    written.map_err(|error| error.to_string()).and(printed)
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

fn style() -> terminal::Style {
    terminal::Style {
        width: width::columns(),
        colour: console::colors_enabled(),
    }
}
