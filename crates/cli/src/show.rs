//! A run on the terminal and in its folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ciphertax_model::record::Run;
use ciphertax_report::{html, json, terminal};

use crate::width;

pub(crate) const REPORT: &str = "report.html";

/// Writes `report.html` and prints the run: as text, or as JSON and nothing else.
pub(crate) fn everything(run: &Run, folder: &Path, as_json: bool) -> Result<(), String> {
    let path = folder.join(REPORT);
    let page = html::render(run).map_err(|error| error.to_string())?;
    fs::write(&path, page).map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    let text = if as_json {
        eprintln!("Report: {}", path.display());
        json::render(run)
    } else {
        let style = style();
        format!(
            "{}{}",
            terminal::render(run, style),
            terminal::closing(run, &path, style)
        )
    };
    print(&text)
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
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
