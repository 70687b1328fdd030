//! `ciphertax report`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use ciphertax_explain::explain;
use ciphertax_records::{Recorded, Run, RunStatus, write_run};
use ciphertax_report::html;

use crate::arguments::ReportArguments;
use crate::exit::Exit;
use crate::show::{self, REPORT};

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, String> {
    let folder = folder(&arguments.run);
    let mut recorded = Recorded::open(&folder).map_err(|error| error.to_string())?;
    if recorded.head.status == RunStatus::Running {
        recorded.head.status = RunStatus::Partial {
            reason: "ciphertax was ended before the run was complete".into(),
        };
    }
    let looks = recorded.looks().map_err(|error| error.to_string())?;
    let results = explain(&recorded.head, &recorded.samples, &looks).map_err(|error| error.to_string())?;
    let run = Run::new(recorded.head, results);
    if !arguments.force {
        agreed_to_rewrite(&folder.join(REPORT))?;
    }
    write_run(&folder, &run).map_err(|error| error.to_string())?;
    show::everything(&run, &folder, arguments.json)?;
    Ok(Exit::Done)
}

/// The run folder, also where a file in it is named.
pub(crate) fn folder(path: &Path) -> PathBuf {
    if !path.is_file() {
        return path.to_owned();
    }
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A report that another release made says what that release thought of the samples; whoever has shown it around may want
/// to keep it.
fn agreed_to_rewrite(report: &Path) -> Result<(), String> {
    let Ok(page) = fs::read_to_string(report) else {
        return Ok(());
    };
    let release = html::release_of(&page);
    if release == Some(html::RELEASE) {
        return Ok(());
    }
    let maker = match release {
        Some("") => "an earlier ciphertax".to_owned(),
        Some(release) => format!("ciphertax {release}"),
        None => "something else than ciphertax".to_owned(),
    };
    let what = format!(
        "{} was made by {maker}, and this is ciphertax {}: its figures and verdicts may differ",
        report.display(),
        html::RELEASE
    );
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(format!(
            "{what}; give --force to make it again, or copy the folder first"
        ));
    }
    let mut answer = String::new();
    let mut terminal = io::stderr();
    write!(terminal, "{what}. Make it again? [y/N] ")
        .and_then(|()| terminal.flush())
        .and_then(|()| io::stdin().read_line(&mut answer))
        .map_err(|error| format!("no answer can be read: {error}"))?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(format!("{} is left as it is", report.display())),
    }
}
