//! `ciphertax connect`.

use std::time::Duration;

use ciphertax_model::Transport;
use ciphertax_report::{json, terminal};
use ciphertax_runner::{ConnectPlan, connect};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::ConnectArguments;
use crate::exit::{Exit, Stop};
use crate::export::write_text;
use crate::measuring::{parse_any_target, tool, warn_if_unverified};
use crate::show;

pub(crate) fn run(arguments: &ConnectArguments) -> Result<Exit, String> {
    let target = parse_any_target(&arguments.target)?;
    let best = if target.has_tls() {
        Transport::Tls
    } else {
        Transport::Plain
    };
    let plan = ConnectPlan {
        tool: tool(),
        transport: arguments.transport.unwrap_or(best),
        target,
        library: arguments.library,
        count: arguments.count,
    };
    if plan.transport.is_encrypted() {
        warn_if_unverified(&plan.target);
    }
    let stop = Stop::watch()?;
    let bar = progress(&plan.target.to_string(), arguments.count);
    let connected = connect(&plan, stop.flag(), &mut |done| bar.set_position(done.into()));
    bar.finish_and_clear();
    let record = match (connected, stop.caught()) {
        (_, Some(exit)) => return Ok(exit),
        (Err(error), None) => return Err(error.to_string()),
        (Ok(record), None) => record,
    };
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
    let bar = ProgressBar::with_draw_target(Some(count.into()), ProgressDrawTarget::stderr());
    let done = if count > 1 { ": {pos} of {len}" } else { "" };
    if let Ok(style) = ProgressStyle::with_template(&format!("Connecting to {{msg}}{done}, {{elapsed}}")) {
        bar.set_style(style);
    }
    bar.set_message(target.to_owned());
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.tick();
    bar
}
