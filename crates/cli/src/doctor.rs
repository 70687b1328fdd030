//! `ciphertax doctor`.

use ciphertax_report::{json, terminal};
use ciphertax_runner::doctor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::DoctorArguments;
use crate::exit::{Exit, Stop};
use crate::export::write_text;
use crate::measuring::tool;
use crate::show;

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
