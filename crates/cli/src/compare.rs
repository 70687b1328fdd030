//! `compare` and `gate`.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use ciphertax_explain::compare::{Named, compare};
use ciphertax_explain::explain_folder;
use ciphertax_explain::gate::gate;
use ciphertax_model::Budget;
use ciphertax_records::{Comparison, Run};
use ciphertax_report::compare::markdown;
use ciphertax_report::gate::junit;
use ciphertax_report::{html, json, terminal};
use ciphertax_stats::BoundVerdict;
use ciphertax_supervise::say;

use crate::arguments::reading::{CompareArguments, GateArguments};
use crate::exit::Exit;
use crate::export::{can_be_written, ending, write_text};
use crate::report::folder;
use crate::show;

pub(crate) fn run_compare(arguments: &CompareArguments) -> Result<Exit, String> {
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
    let text = terminal::compare(&comparison, show::style()).map_err(|error| error.to_string())?;
    show::record(&comparison, arguments.json, |_| text)?;
    let is_whole = comparison.runs.iter().all(|run| run.cut_off.is_none());
    Ok(if is_whole { Exit::Done } else { Exit::Partial })
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

pub(crate) fn run_gate(arguments: &GateArguments) -> Result<Exit, String> {
    can_be_written(&arguments.export)?;
    let paths: Vec<_> = std::iter::once(&arguments.run)
        .chain(&arguments.baseline)
        .collect();
    each_once(paths.iter().copied())?;
    let runs = read(&paths)?;
    let mut named = runs.iter().map(|(name, run)| Named { name, run });
    let (named, earlier) = (named.next().ok_or("no run was given")?, named.collect::<Vec<_>>());
    let mut budgets = named.run.head.study.budgets.clone();
    for text in &arguments.budget {
        budgets.push(Budget::parse(text, &named.run.head.study)?);
    }
    let held = gate(named, &budgets, &earlier, arguments.margin)?;
    for earlier in &earlier {
        warn_of_order(earlier, &named);
    }
    for path in &arguments.export {
        let text = match ending(path) == "xml" {
            true => junit(&held).map_err(|error| error.to_string())?,
            false => json::render(&held),
        };
        write_text(path, &text)?;
    }
    show::record(&held, arguments.json, |style| terminal::gate(&held, style))?;
    Ok(match held.verdict {
        // What was not measured any more may not have stayed within.
        BoundVerdict::Within if held.cut_off.is_some() || held.baseline_cut_off.is_some() => Exit::Partial,
        BoundVerdict::Within => Exit::Done,
        BoundVerdict::Over => Exit::OverBudget,
        BoundVerdict::CannotTell => Exit::CannotTell,
    })
}

/// What `work` makes of each, in their order. Two are worked on at once and no more: a run of many hours takes seconds to read, and
/// some hundred megabytes meanwhile.
pub(crate) fn two_at_a_time<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut done = Vec::with_capacity(items.len());
    for pair in items.chunks(2) {
        match pair {
            [one, other] => thread::scope(|scope| {
                let beside = scope.spawn(|| work(other));
                done.push(work(one));
                done.push(beside.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }),
            few => done.extend(few.iter().map(&work)),
        }
    }
    done
}
