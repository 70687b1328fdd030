//! `--confirm`: what bounds a run's cells is taken away in a run of its own.

use ciphertax_explain::{CONFIRMING, explain_folder};
use ciphertax_records::{Destination, write_run};
use ciphertax_runner::{Plan, Played, RunError, confirming};
use ciphertax_supervise::say;

use crate::measuring::play_with;
use crate::progress::Verbosity;
use crate::signals::Stop;

/// Plays it, and adds to what was played what came of it. Whatever goes wrong with it is said, and what was measured before stands.
pub(crate) fn confirm(plan: &Plan, played: &mut Played, stop: &Stop, verbosity: Verbosity) {
    let Some(study) = confirming(&played.run) else {
        say(format_args!(
            "ciphertax: nothing was tried: of no cell a bound is known that can be taken away; `ciphertax why` says what is known"
        ));
        return;
    };
    let arms: Vec<&str> = study.arms[1..].iter().map(|arm| arm.name.as_str()).collect();
    if verbosity != Verbosity::Quiet {
        say(format_args!("Trying what bounds the cells: {}", arms.join("; ")));
    }
    if let Err(problem) = try_out(plan, played, study, stop, verbosity) {
        say(format_args!(
            "ciphertax: what bounds the cells was not tried: {problem}"
        ));
    }
}

fn try_out(
    plan: &Plan,
    played: &mut Played,
    study: ciphertax_model::Study,
    stop: &Stop,
    verbosity: Verbosity,
) -> Result<(), String> {
    let plan = Plan {
        study: study.validated().map_err(|error| error.to_string())?,
        // It has the baseline alone.
        encdb: None,
        ..plan.clone()
    };
    let destination = Destination::New(played.folder.join(CONFIRMING));
    play_with(&plan, destination, stop, verbosity).map_err(|error: RunError| error.to_string())?;
    played.run = explain_folder(&played.folder).map_err(|error| error.to_string())?;
    write_run(&played.folder, &played.run).map_err(|error| error.to_string())
}
