//! `ciphertax why`.

use std::io::Write;
use std::path::Path;

use ciphertax_explain::explain_folder;
use ciphertax_model::Profiling;
use ciphertax_records::why::{LookFiles, Looks};
use ciphertax_records::{Head, Recorded, Run, write_whole};
use ciphertax_report::{terminal, why};

use crate::arguments::{WhyArguments, WhyFormat};
use crate::exit::Exit;
use crate::report::folder;
use crate::selection::chosen;
use crate::show;

pub(crate) fn run(arguments: &WhyArguments) -> Result<Exit, String> {
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
            text.write_all(terminal::why(run, chosen, style).as_bytes())
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
    let what = match format {
        WhyFormat::Text | WhyFormat::Json => "was not looked into",
        WhyFormat::Csv | WhyFormat::Collapsed => "has no profile of CPU time",
    };
    let reason = match (&head.not_explained, head.study.profile) {
        (Some(reason), _) => reason.trim_end_matches('.').to_owned(),
        (None, Profiling::Off) => {
            "it was measured with profile off; measure again with --profile=full".into()
        }
        (None, Profiling::Waits) if what != "was not looked into" => {
            "it was measured with profile waits alone; measure again with --profile=full".into()
        }
        (None, Profiling::Waits | Profiling::Full) => format!(
            "it was too short: the first {} blocks of a cell are not looked into; measure longer, with --time",
            Profiling::BLOCKS_BEFORE
        ),
    };
    format!("the run in {} {what}: {reason}", folder.display())
}
