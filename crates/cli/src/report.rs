//! `report` and `why`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use ciphertax_explain::explain_folder;
use ciphertax_model::Profiling;
use ciphertax_records::why::{LookFiles, Looks};
use ciphertax_records::{Head, Recorded, Run, RunStatus, refuse_foreign_folder, write_run, write_whole};
use ciphertax_report::{html, terminal, why};

use crate::arguments::{ReportArguments, WhyArguments, WhyFormat};
use crate::exit::Exit;
use crate::export;
use crate::selection::chosen;
use crate::show::{self, REPORT};

pub(crate) fn report(arguments: &ReportArguments) -> Result<Exit, String> {
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

pub(crate) fn why(arguments: &WhyArguments) -> Result<Exit, String> {
    let folder = folder(&arguments.run);
    let recorded = Recorded::open(&folder).map_err(|error| error.to_string())?;
    let looks = recorded.looks().map_err(|error| error.to_string())?;
    let run = explain_folder(&folder).map_err(|error| error.to_string())?;
    let cells = run.results.cells.iter().map(|cell| cell.name.as_str());
    let cells = chosen("cell", &arguments.cell, cells.collect())?;
    let arms = run.head.arms.iter().map(|arm| arm.name.as_str());
    let arms = chosen("arm", &arguments.arm, arms.collect())?;
    let chosen = why::Chosen {
        cells: cells.as_deref(),
        arms: arms.as_deref(),
    };
    let is_there = match arguments.format {
        WhyFormat::Text | WhyFormat::Json => !run.results.why.is_empty(),
        WhyFormat::Csv => !run.results.why.categories.is_empty(),
        WhyFormat::Collapsed => looks.profiles().next().is_some(),
    };
    if !is_there {
        return Err(not_looked_into(&folder, &run.head, arguments.format));
    }
    let text = shown(&run, &looks, chosen, arguments)?;
    match &arguments.output {
        Some(path) => write_whole(path, |file| file.write_all(&text)).map_err(|error| error.to_string())?,
        None => show::print(&String::from_utf8_lossy(&text))?,
    }
    Ok(Exit::Done)
}

fn shown(
    run: &Run,
    looks: &LookFiles,
    chosen: why::Chosen<'_>,
    arguments: &WhyArguments,
) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let written = match arguments.format {
        WhyFormat::Text => {
            let style = match arguments.output {
                Some(_) => terminal::Style {
                    width: terminal::AS_WIDE_AS_NEEDED,
                    colour: false,
                },
                None => show::style(),
            };
            let shown = match arguments.full {
                true => terminal::why_in_full(run, chosen, style).map_err(|error| error.to_string())?,
                false => terminal::why(run, chosen, style),
            };
            text.write_all(shown.as_bytes())
        }
        WhyFormat::Json => text.write_all(why::json(run, chosen).as_bytes()),
        WhyFormat::Csv => text.write_all(why::csv(run, chosen).as_bytes()),
        WhyFormat::Collapsed => why::collapsed(run, looks, chosen, &mut text),
    };
    written.map_err(|error| error.to_string())?;
    Ok(text)
}

/// Why there is nothing to show, and what would change that.
fn not_looked_into(folder: &Path, head: &Head, format: WhyFormat) -> String {
    let is_of_cpu = matches!(format, WhyFormat::Csv | WhyFormat::Collapsed);
    let what = match is_of_cpu {
        true => "has no profile of CPU time",
        false => "was not profiled",
    };
    let reason = match (&head.not_explained, head.study.profile) {
        (Some(reason), _) => reason.trim_end_matches('.').to_owned(),
        (None, Profiling::Off) => "profiling was off; measure again with --profile=full".into(),
        (None, Profiling::Waits) if is_of_cpu => {
            "only waits were profiled; measure again with --profile=full".into()
        }
        (None, Profiling::Waits | Profiling::Full) => format!(
            "it was too short (profiling starts after {} blocks of a cell); measure longer, with --time",
            Profiling::BLOCKS_BEFORE
        ),
    };
    format!("the run in {} {what}: {reason}", folder.display())
}
