//! `ciphertax report`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use ciphertax_explain::explain_folder;
use ciphertax_records::{RunStatus, refuse_foreign_folder, write_run};
use ciphertax_report::html;

use crate::arguments::ReportArguments;
use crate::exit::Exit;
use crate::export;
use crate::show::{self, REPORT};

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, String> {
    let folder = folder(&arguments.run);
    if !arguments.trust_folder {
        refuse_foreign_folder(&folder).map_err(|error| error.to_string())?;
    }
    let mut run = explain_folder(&folder).map_err(|error| error.to_string())?;
    if run.head.status == RunStatus::Running {
        run.head.status = RunStatus::Partial {
            reason: "ciphertax was ended before the run was complete".into(),
        };
    }
    export::possible(&arguments.output.export, None)?;
    if !arguments.force {
        agreed_to_rewrite(&folder.join(REPORT))?;
    }
    write_run(&folder, &run).map_err(|error| error.to_string())?;
    match show::everything(&run, &folder, &arguments.output).as_slice() {
        [] => Ok(Exit::Done),
        problems => Err(problems.join("; ")),
    }
}

/// The run folder, also where a file in it is named; a file elsewhere is what it is.
pub(crate) fn folder(path: &Path) -> PathBuf {
    if !path.is_file() {
        return path.to_owned();
    }
    match path.parent() {
        Some(folder) if folder.join("run.json").is_file() => folder.to_owned(),
        Some(folder) if folder == Path::new("") && Path::new("run.json").is_file() => PathBuf::from("."),
        _ => path.to_owned(),
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
