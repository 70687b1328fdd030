//! `ciphertax doctor`.

use std::path::PathBuf;

use ciphertax_report::{json, terminal};
use ciphertax_runner::doctor;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::file_ending_in;
use crate::exit::{Exit, Stop};
use crate::export::write_text;
use crate::measuring::tool;
use crate::show;

const HELP: &str = "\
Looks at the machine for some fifteen seconds, and changes nothing: what other programs and other virtual machines take, how evenly \
the CPUs work, how late timers and wake-ups are, the clocks, limits, the control group, the CPU's instructions for cryptography, how \
many handshakes and megabytes a second each TLS library does on one CPU, the profiler and links and whether this user may use them, \
and the noise of a target that does nothing, measured against itself (A/A).

✓ is as it should be, ! limits what can be measured or how precisely, ✗ makes measuring senseless; each with what it means and, after \
an arrow, what to do. Run it as the user, in the container and at the time that you will measure as, in and at.

Examples:
  ciphertax doctor
  ciphertax doctor --json | jq -r '.checks[] | select(.status != \"good\") | .name + \": \" + .remedy'
  ciphertax doctor && ciphertax quick

Exit status: 0 this machine can measure; 2 wrong use; 3 measuring here makes no sense, the message says why; 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(crate) struct DoctorArguments {
    /// Print one JSON document to standard output, and nothing else there; ciphertax schema doctor describes it
    #[arg(long)]
    json: bool,
    /// Write the document into this file too; may be given again
    #[arg(long, value_name = "FILE.json", value_parser = file_ending_in(&["json"]))]
    export: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &DoctorArguments) -> Result<Exit, String> {
    let stop = Stop::watch()?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("Looking at {msg} ({pos} of {len})") {
        bar.set_style(style);
    }
    let looked = doctor(tool(), stop.flag(), &mut |what, index, of| {
        bar.set_length(of as u64);
        bar.set_position(index as u64 + 1);
        bar.set_message(what);
    });
    bar.finish_and_clear();
    let record = match (looked, stop.caught()) {
        (_, Some(exit)) => return Ok(exit),
        (Err(error), None) => return Err(error.to_string()),
        (Ok(record), None) => record,
    };
    for path in &arguments.export {
        write_text(path, &json::render(&record))?;
    }
    show::record(&record, arguments.json, |style| terminal::doctor(&record, style))?;
    Ok(match record.can_measure {
        true => Exit::Done,
        false => Exit::CannotTell,
    })
}
