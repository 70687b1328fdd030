//! `ciphertax run --resume`: a run that was cut off goes on.

use std::path::Path;

use ciphertax_model::StudyText;
use ciphertax_records::{CutOff, Destination};
use ciphertax_runner::Plan;
use ciphertax_wire::Target;

use crate::arguments::RunArguments;
use crate::exit::Exit;
use crate::find_study::find;
use crate::measuring::{self, parse_target};

/// Goes on with the run in `folder`, whose study, target and seed are those of its record.
pub(crate) fn resume(folder: &Path, arguments: &RunArguments) -> Result<Exit, String> {
    let cut_off = CutOff::open(folder, &measuring::tool(), &ciphertax_observe::host())
        .map_err(|error| error.to_string())?;
    let head = cut_off.head().clone();
    let (study, target) = words(arguments);
    if let Some(study) = study {
        let (file, text) = find(study)?;
        let named = StudyText::new(&file, &text)
            .study()
            .map_err(|error| error.to_string())?
            .name;
        if named != head.study.name {
            return Err(format!(
                "the run in {} is of the study {}, not of {named}; leave the study out",
                folder.display(),
                head.study.name
            ));
        }
    }
    let plan = Plan {
        target: same_target(folder, head.target.as_deref(), target)?,
        seed: head.seed,
        tool: head.tool,
        command: head.command,
        study: head.study,
    };
    let destination = Destination::Resumed(Box::new(cut_off));
    measuring::play_and_show(&plan, destination, arguments.measuring.json)
}

/// The study and the target that are given; one alone is the target if it is a URL.
fn words(arguments: &RunArguments) -> (Option<&str>, Option<&str>) {
    match (arguments.study.as_deref(), arguments.measuring.target.as_deref()) {
        (Some(url), None) if url.contains("://") => (None, Some(url)),
        words => words,
    }
}

/// The recorded target, with the password that the given one or the environment has.
fn same_target(folder: &Path, recorded: Option<&str>, given: Option<&str>) -> Result<Option<Target>, String> {
    let folder = folder.display();
    let recorded = recorded.map(parse_target).transpose()?;
    let given = given.map(parse_target).transpose()?;
    match (recorded, given) {
        (Some(recorded), Some(given)) if recorded.url() != given.url() => Err(format!(
            "the run in {folder} is of {}, not of {}; leave the target out, and give its password in CIPHERTAX_PASSWORD",
            recorded.url(),
            given.url()
        )),
        (None, Some(given)) => Err(format!(
            "the run in {folder} is of private servers, not of {given}; leave the target out"
        )),
        (recorded, given) => Ok(given.or(recorded)),
    }
}
