//! `ciphertax connect`, `ciphertax doctor` and `ciphertax clean`: commands that look at a server or a machine and measure no study.

use std::time::Duration;

use ciphertax_explain::connection::explain;
use ciphertax_model::Transport;
use ciphertax_report::{json, terminal};
use ciphertax_runner::{ConnectPlan, clean, connect, doctor, made_on};
use ciphertax_supervise::say;
use indicatif::ProgressBar;

use crate::arguments::{CleanArguments, ConnectArguments, DoctorArguments};
use crate::exit::{Exit, Stop};
use crate::export::write_text;
use crate::key_password::unlock;
use crate::measuring::{self, parse_any_target, tool, warn_of_certificates};
use crate::progress::bar;
use crate::show;

pub(crate) fn run_connect(arguments: &ConnectArguments) -> Result<Exit, String> {
    let target = parse_any_target(&arguments.target)?;
    let best = if target.has_tls() {
        Transport::Tls
    } else {
        Transport::Plain
    };
    let mut plan = ConnectPlan {
        tool: tool(),
        transport: arguments.transport.unwrap_or(best),
        target,
        library: arguments.library,
        count: arguments.count,
    };
    if plan.transport.is_encrypted() {
        warn_of_certificates(&plan.target);
    }
    let stop = Stop::watch()?;
    if let Some(exit) = unlock(Some(&mut plan.target), &stop)? {
        return Ok(exit);
    }
    let bar = progress(&plan.target.to_string(), arguments.count);
    let connected = connect(&plan, &stop.flag, &mut |done| bar.set_position(done.into()));
    bar.finish_and_clear();
    let mut record = match (connected, stop.caught()) {
        (_, Some(exit)) => return Ok(exit),
        (Err(error), None) => return Err(error.to_string()),
        (Ok(record), None) => record,
    };
    explain(&mut record);
    for path in &arguments.export {
        write_text(path, &json::render(&record))?;
    }
    show::record(&record, arguments.json, |style| {
        terminal::connection(&record, style)
    })?;
    Ok(Exit::Done)
}

/// What is shown while connections are made, where somebody looks on: from the beginning on, since a server may be silent.
fn progress(target: &str, count: u32) -> ProgressBar {
    let done = if count > 1 { ": {pos} of {len}" } else { "" };
    let bar = bar(
        Some(count.into()),
        &format!("Connecting to {{msg}}{done}, {{elapsed}}"),
    );
    bar.set_message(target.to_owned());
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.tick();
    bar
}

pub(crate) fn run_doctor(arguments: &DoctorArguments) -> Result<Exit, String> {
    let stop = Stop::watch()?;
    let bar = bar(None, "Looking at {msg} ({pos} of {len})");
    let looked = doctor(tool(), &stop.flag, &mut |what, index, of| {
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

pub(crate) fn run_clean(arguments: &CleanArguments) -> Result<Exit, String> {
    let mut target = measuring::parse_target(&arguments.target)?;
    measuring::give_schema(arguments.schema.as_deref(), Some(&target))?;
    measuring::warn_of_certificates(&target);
    let stop = Stop::watch()?;
    if let Some(exit) = unlock(Some(&mut target), &stop)? {
        return Ok(exit);
    }
    stop.leaves(|left| left.made_on = Some(target.clone()));
    let what = made_on(&target);
    let text = match clean(&target, &stop.flag) {
        Ok(true) => format!("Removed {what} from {target}\n"),
        Ok(false) => format!("Nothing to remove: {target} does not have {what}\n"),
        Err(error) => {
            let Some(exit) = stop.caught() else {
                return Err(error.to_string());
            };
            say(format_args!(
                "ciphertax: stopped; {what} may still be on {target}"
            ));
            return Ok(exit);
        }
    };
    show::print(&text).map(|()| Exit::Done)
}
