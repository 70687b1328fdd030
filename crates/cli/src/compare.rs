//! `ciphertax compare`.

use std::collections::HashSet;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use ciphertax_explain::compare::{Named, compare};
use ciphertax_explain::explain_folder;
use ciphertax_records::{Comparison, Run};
use ciphertax_report::compare::markdown;
use ciphertax_report::{html, json, terminal};
use ciphertax_supervise::say;

use crate::arguments::reading::CompareArguments;
use crate::exit::Exit;
use crate::export::{can_be_written, ending, write_text};
use crate::report::folder;
use crate::show;
use crate::two_at_a_time::two_at_a_time;

pub(crate) fn run(arguments: &CompareArguments) -> Result<Exit, String> {
    can_be_written(&arguments.export)?;
    each_once(&arguments.runs)?;
    let runs = read(&arguments.runs)?;
    let named: Vec<Named<'_>> = runs.iter().map(|(name, run)| Named { name, run }).collect();
    let comparison = compare(&named, arguments.margin)?;
    if let Some((first, others)) = named.split_first() {
        others.iter().for_each(|other| warn_of_order(first, other));
    }
    for path in &arguments.export {
        write(&comparison, path)?;
    }
    show::record(&comparison, arguments.json, |style| {
        terminal::compare(&comparison, style)
    })?;
    Ok(Exit::Done)
}

/// Refuses a folder that is given twice: a run is no other than itself.
pub(crate) fn each_once<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for path in paths {
        // What is not there is told when it is read.
        let Ok(folder) = folder(path).canonicalize() else {
            continue;
        };
        if !seen.insert(folder) {
            return Err(format!(
                "{} is the same run as one before it; give runs that were measured apart",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Says it where the run that stands for the earlier one is the later one by its record.
pub(crate) fn warn_of_order(earlier: &Named<'_>, later: &Named<'_>) {
    let [first, second] = [earlier, later].map(|named| &named.run.head.started);
    // Times of records are in UTC and written alike, so their texts have their order.
    if !second.is_empty() && second < first {
        say(format_args!(
            "{} began {second}, before {}, which began {first}: what is called dearer is then dearer in the older run; give the \
             older one first, or as --baseline, if that is not meant",
            later.name, earlier.name
        ));
    }
}

/// Runs by their folders, with what they are called.
pub(crate) fn read(paths: &[impl AsRef<Path> + Sync]) -> Result<Vec<(String, Run)>, String> {
    let read = two_at_a_time(paths, |path| read_one(path.as_ref()));
    read.into_iter().collect()
}

fn read_one(path: &Path) -> Result<(String, Run), String> {
    let folder = folder(path);
    announce(&folder);
    let run = explain_folder(&folder).map_err(|error| error.to_string())?;
    let name = folder.display().to_string();
    let name = match name.trim_end_matches('/') {
        "" => name,
        trimmed => trimmed.to_owned(),
    };
    Ok((name, run))
}

/// Bytes of samples whose reading takes more than two seconds.
const LONG: u64 = 32 << 20;

/// Says what is being read to whoever would have to wait for it.
fn announce(folder: &Path) {
    let samples = fs::metadata(folder.join("samples.jsonl"));
    let bytes = samples.map_or(0, |samples| samples.len());
    if bytes > LONG && io::stderr().is_terminal() {
        say(format_args!(
            "Reading {} ({} MB) …",
            folder.display(),
            bytes >> 20
        ));
    }
}

fn write(comparison: &Comparison, path: &Path) -> Result<(), String> {
    let text = match ending(path).as_str() {
        "html" => html::compare(comparison).map_err(|error| error.to_string())?,
        "md" => markdown(comparison),
        _ => json::render(comparison),
    };
    write_text(path, &text)
}
