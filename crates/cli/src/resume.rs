//! `ciphertax run --resume`: a run that was cut off goes on.

use std::path::Path;

use ciphertax_model::{Study, StudyText};
use ciphertax_records::{CutOff, Destination, refuse_foreign_folder};
use ciphertax_runner::Plan;
use ciphertax_wire::Target;

use crate::arguments::RunArguments;
use crate::encdb::encdb_account;
use crate::exit::Exit;
use crate::find_study::find;
use crate::measuring::{self, parse_target};
use crate::server_cpu::ServerCpuArguments;

/// Goes on with the run in `folder`, whose study, target and seed are those of its record.
pub(crate) fn resume(folder: &Path, arguments: &RunArguments) -> Result<Exit, String> {
    if !arguments.trust_folder {
        refuse_foreign_folder(folder).map_err(|error| error.to_string())?;
    }
    let cut_off = CutOff::open(folder, &measuring::tool(), &ciphertax_observe::host())
        .map_err(|error| error.to_string())?;
    let head = cut_off.head().clone();
    if !head.ranks.is_empty() {
        return Err(format!(
            "the load of the run in {} came from {} load generators, and such a run does not go on; begin a new one",
            folder.display(),
            head.ranks.len()
        ));
    }
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
        study: same_command(folder, head.study, &arguments.measuring.server_cpu)?,
        target: same_target(folder, head.target.as_deref(), target)?,
        encdb: encdb_account(arguments.encdb_account.as_deref(), false)?,
        ranks: None,
        seed: head.seed,
        tool: head.tool,
        command: head.command,
    };
    let destination = Destination::Resumed(Box::new(cut_off));
    measuring::play_and_show(&plan, destination, &arguments.measuring)
}

/// The recorded study, if it can be measured, with the command that tells the server's CPU: a record does not have its arguments,
/// and nobody should run what a folder says without having seen it.
fn same_command(folder: &Path, mut study: Study, given: &ServerCpuArguments) -> Result<Study, String> {
    let folder = folder.display();
    let recorded = study.server_cpu.as_mut().map(|counter| &mut counter.command);
    match (recorded.filter(|command| !command.is_empty()), given.command()?) {
        (None, None) => {}
        (Some(recorded), Some(given)) if recorded.program() == given.program() => *recorded = given,
        (Some(recorded), _) => {
            return Err(format!(
                "in the run in {folder} the command {} tells the server's CPU, and its arguments are in no record; give it again: \
                 --server-cpu-command '{recorded}'",
                recorded.program()
            ));
        }
        (None, Some(_)) => {
            return Err(format!(
                "in the run in {folder} no command tells the server's CPU; leave --server-cpu-command out"
            ));
        }
    }
    let measured = Study {
        // They may be of arms that were left out.
        budgets: Vec::new(),
        ..study.clone()
    };
    let valid = measured.validated();
    valid
        .map(|_| study)
        .map_err(|error| format!("the run in {folder} cannot go on: {error}"))
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
