//! `ciphertax history`.

mod find;

use std::iter::zip;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ciphertax_explain::explain_folder;
use ciphertax_explain::history::{GivenRun, HistoryError, history, products};
use ciphertax_records::{History, NotInHistory, Run};
use ciphertax_report::{html, json, terminal};
use ciphertax_supervise::say;
use clap::Args;

use crate::arguments::file_ending_in;
use crate::exit::Exit;
use crate::export::{can_be_written, ending, write_text};
use crate::selection::{Pattern, each_means_one, is_asked, pattern};
use crate::show;
use crate::two_at_a_time::two_at_a_time;

const HELP: &str = "\
Every arm's cost against the baseline of its own run, run by run, with 95 % intervals; from which run on it is another, with \
what differs between the runs before and after; and what the runs on each version of the server have in common.

Changes are found by E-divisive over all figures at once. In a history in which nothing changes, one is found in 5 % of cases \
at most; it takes 8 runs to find any, and with few runs only large ones are found. A slow drift counts as a change.

Runs are put in the order in which they began. Only runs that ask the same are compared: the same workload, load, data set, \
distance and arms as the latest; what is left out is named. Versions and machines may differ, and of servers what speaks MySQL's \
protocol; runs on another database are another history.

Examples:
  ciphertax history .                                          all runs below this folder
  ciphertax history nightly/ --export history.html             with charts, as one file
  ciphertax history ciphertax-quick-2026*                      these runs
  ciphertax history nightly/ --study postgres-tls --arm tls1.3
  ciphertax history nightly/ --server PostgreSQL               of runs on several databases
  ciphertax history nightly/ --json | jq '.figures[] | select(.changes != []) | {arm, metric, changes}'

Exit status: 0 shown; 2 there is nothing to show, or wrong use, the message says why.";

/// What the command takes.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct HistoryArguments {
    /// Run folders, or folders that hold some, also some levels down
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The study, where there are runs of several
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// Runs on these servers alone, by their product, such as MariaDB; * and ? stand for any text and any letter; may be given again
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    server: Vec<Pattern>,
    /// Show these cells alone; as for --server
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    cell: Vec<Pattern>,
    /// Show these arms alone; as for --server
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    arm: Vec<Pattern>,
    /// Print the history as JSON to standard output, and nothing else there; docs/history.schema.json describes it
    #[arg(long)]
    json: bool,
    /// Write it into a file, by its ending: .html with charts, or .json; may be given again
    #[arg(long, value_name = "FILE", value_parser = file_ending_in(&["html", "json"]))]
    export: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &HistoryArguments) -> Result<Exit, String> {
    can_be_written(&arguments.export)?;
    let folders = find::runs(&arguments.folders)?;
    let (mut given, unreadable) = read(&folders);
    choose(&mut given, arguments)?;
    let mut history =
        history(given, arguments.study.as_deref()).map_err(|error| without_history(&error, &unreadable))?;
    history.left_out.splice(..0, unreadable);
    for path in &arguments.export {
        write(&history, path)?;
    }
    let exported = arguments.export.iter();
    let exported: Vec<String> = exported.map(|path| path.display().to_string()).collect();
    show::record(&history, arguments.json, |style| {
        terminal::history(&history, &exported, style)
    })?;
    Ok(Exit::Done)
}

/// Why there is no history. Runs that cannot be read are why where there are no others; else they are said apart.
fn without_history(error: &HistoryError, unreadable: &[NotInHistory]) -> String {
    match (error, unreadable) {
        (HistoryError::NoRun, [first, ..]) => format!("{error}; {}: {}", first.folder, first.reason),
        _ => {
            for run in unreadable {
                say(format_args!("{} is left out: {}", run.folder, run.reason));
            }
            error.to_string()
        }
    }
}

/// The runs with figures, and the others with what is wrong with them.
fn read(folders: &[PathBuf]) -> (Vec<GivenRun>, Vec<NotInHistory>) {
    /// How often it is said how far it is.
    const OFTEN: Duration = Duration::from_secs(2);
    let (mut given, mut unreadable) = (Vec::new(), Vec::new());
    let mut said = Instant::now();
    let mut done = 0;
    for pair in folders.chunks(2) {
        if said.elapsed() > OFTEN {
            say(format_args!("Reading runs: {done} of {}", folders.len()));
            said = Instant::now();
        }
        done += pair.len();
        for (folder, figures) in zip(pair, two_at_a_time(pair, |folder| figures(folder))) {
            let folder = folder.display().to_string();
            match figures {
                Ok(run) => given.push(GivenRun { folder, run }),
                Err(reason) => unreadable.push(NotInHistory { folder, reason }),
            }
        }
    }
    (given, unreadable)
}

/// The figures of a run, as it was last reported, or made now where it was not; without what a history does not need, for there
/// may be many.
fn figures(folder: &Path) -> Result<Run, String> {
    let reported = Run::reported_in(folder).map_err(|error| error.to_string())?;
    let mut run = match reported {
        Some(run) => run,
        None => explain_folder(folder).map_err(|error| error.to_string())?,
    };
    if run.results.estimates.is_empty() {
        return Err("it has no figures: it ended before there were blocks enough".into());
    }
    run.results.block_ratios = Vec::new();
    run.results.why = Default::default();
    run.results.churn = Vec::new();
    Ok(run)
}

/// Keeps the runs and figures that are asked for.
///
/// # Errors
/// When a name is that of no server, cell or arm of any run, or no run has a figure of both.
fn choose(given: &mut Vec<GivenRun>, arguments: &HistoryArguments) -> Result<(), String> {
    let is_meant = |given: &&GivenRun| {
        let study = &given.run.head.study.name;
        arguments.study.as_ref().is_none_or(|asked| asked == study)
    };
    let mut servers: Vec<String> = given
        .iter()
        .filter(is_meant)
        .map(|given| products(&given.run))
        .collect();
    servers.sort();
    servers.dedup();
    // Of runs that are not there something else is said.
    if servers.is_empty() {
        return Ok(());
    }
    let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
    each_means_one("server", &arguments.server, &servers)?;
    given.retain(|given| is_asked(&arguments.server, &products(&given.run)));
    let (mut cells, mut arms) = (Vec::new(), Vec::new());
    for given in given.iter().filter(is_meant) {
        let study = &given.run.head.study;
        cells.extend(study.cells.iter().map(|cell| cell.name.as_str()));
        arms.extend(study.variants().map(|arm| arm.name.as_str()));
    }
    for names in [&mut cells, &mut arms] {
        names.sort();
        names.dedup();
    }
    each_means_one("cell", &arguments.cell, &cells)?;
    each_means_one("arm", &arguments.arm, &arms)?;
    for given in given.iter_mut() {
        let estimates = &mut given.run.results.estimates;
        estimates.retain(|row| is_asked(&arguments.cell, &row.cell) && is_asked(&arguments.arm, &row.arm));
    }
    match given.iter().all(|given| given.run.results.estimates.is_empty()) {
        true => Err("no run has a figure of these arms in these cells; leave out --cell or --arm".into()),
        false => Ok(()),
    }
}

fn write(history: &History, path: &Path) -> Result<(), String> {
    let text = match ending(path) == "html" {
        true => html::render_history(history).map_err(|error| error.to_string())?,
        false => json::render(history),
    };
    write_text(path, &text)
}
