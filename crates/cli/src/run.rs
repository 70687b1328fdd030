//! `run` and `quick`, a run that goes on, what is tried afterwards, and the account whose results a server encrypts.

use std::env::{self, VarError};
use std::path::Path;

use ciphertax_base::Secret;
use ciphertax_explain::{CONFIRMING, explain_folder};
use ciphertax_lab::catalogue::CATALOGUE;
use ciphertax_model::{Study, StudyText};
use ciphertax_records::{CutOff, Destination, refuse_foreign_folder, write_run};
use ciphertax_runner::{EncdbAccount, Plan, RunError, confirming};
use ciphertax_supervise::say;
use ciphertax_wire::Target;

use crate::arguments::{QuickArguments, RunArguments, ServerCpuArguments, option};
use crate::exit::{Exit, Stop};
use crate::measuring::{self, Played, Words, give_schema, measure, parse_target, play_with, target};
use crate::progress::Verbosity;
use crate::studies::{QUICK_NAME, find};

pub(crate) fn run(arguments: &RunArguments) -> Result<Exit, String> {
    if let Some(folder) = &arguments.resume {
        return resume(folder, arguments);
    }
    let name = arguments.study.as_deref().unwrap_or_default();
    let target = target(&arguments.measuring)?;
    let (file, text) = find(name, target.as_ref())?;
    let settings = settings(arguments);
    let text = StudyText::new(&file, &text)
        .scale(arguments.scale.as_deref())
        .settings(&settings);
    let mut study = text.study().map_err(|error| error.to_string())?;
    if !text.names_server() {
        of_its_kind(&mut study, target.as_ref());
    }
    study.precision.cpu = arguments.precision.unwrap_or(study.precision.cpu);
    if arguments.keep_operations {
        keep_operations(&mut study);
    }
    let encdb = encdb_account(arguments.encdb_account.as_deref(), arguments.measuring.dry_run)?;
    measure(study, &arguments.measuring, encdb, words(name, arguments))
}

/// Has every cell keep its operations. Those of a program nobody but the program knows.
fn keep_operations(study: &mut Study) {
    for cell in &mut study.cells {
        cell.keep_operations = !cell.workload.is_program();
    }
}

/// What `--set` says, and the options that are short for it.
fn settings(arguments: &RunArguments) -> Vec<String> {
    let short = [
        ("dataset.tables", arguments.tables),
        ("dataset.table_size", arguments.table_size),
        ("load.connections", arguments.threads),
    ];
    let short = short
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value?)));
    arguments.set.iter().cloned().chain(short).collect()
}

fn words(study: &str, arguments: &RunArguments) -> Words {
    Words {
        command: vec!["run".to_owned(), study.to_owned()],
        options: option("--precision", arguments.precision)
            .chain(option("--scale", &arguments.scale))
            .chain(option("--encdb-account", &arguments.encdb_account))
            .chain(arguments.keep_operations.then(|| "--keep-operations".to_owned()))
            .chain(option("--set", settings(arguments).into_iter().map(shown)))
            .collect(),
    }
}

/// A setting as the record may have it: without the command that tells a server's CPU, which may hold a key.
fn shown(setting: String) -> String {
    let value = setting.trim_start().strip_prefix("server_cpu");
    match value.is_some_and(|value| value.contains("command")) {
        true => "server_cpu.command=…".to_owned(),
        false => setting,
    }
}

pub(crate) fn quick(arguments: &QuickArguments) -> Result<Exit, String> {
    let target = target(&arguments.measuring)?;
    let (_, text) = find(QUICK_NAME, target.as_ref())?;
    let mut study = Study::from_toml(&text).map_err(|error| error.to_string())?;
    of_its_kind(&mut study, target.as_ref());
    study.certificate = arguments.certificate.unwrap_or(study.certificate);
    let words = Words {
        command: vec!["quick".to_owned()],
        options: option("--certificate", arguments.certificate).collect(),
    };
    measure(study, &arguments.measuring, None, words)
}

/// Has a study that names no server be about servers of the target's kind.
fn of_its_kind(study: &mut Study, target: Option<&Target>) {
    let Some(own) = target.map(Target::protocol) else {
        return;
    };
    let mut entries = CATALOGUE.iter();
    let entry = entries.find(|entry| entry.protocol() == Some(own));
    study.server = entry.map_or_else(|| study.server.clone(), |entry| entry.name.to_owned());
}

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
    let (study, target) = study_and_target(arguments);
    if let Some(study) = study {
        let (file, text) = find(study, None)?;
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
    let mut words = head.command.split(' ');
    let is_recorded = words.clone().any(|word| word == "--no-wrong-logins");
    let target = same_target(folder, head.target.as_deref(), target)?;
    if words.any(|word| word == "--schema") {
        give_schema(words.next(), target.as_ref())?;
    }
    let plan = Plan {
        no_wrong_logins: is_recorded || arguments.measuring.no_wrong_logins,
        study: same_command(folder, head.study, &arguments.measuring.server_cpu)?,
        target,
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
fn study_and_target(arguments: &RunArguments) -> (Option<&str>, Option<&str>) {
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

/// Plays it, and adds to what was played what came of it. Whatever goes wrong with it is said, and what was measured before stands.
pub(crate) fn confirm(plan: &Plan, played: &mut Played, stop: &Stop, verbosity: Verbosity) {
    let Some(study) = confirming(&played.run) else {
        say(format_args!(
            "ciphertax: nothing to confirm: no cell has a bottleneck that can be removed; see `ciphertax why`"
        ));
        return;
    };
    let arms: Vec<&str> = study.arms[1..].iter().map(|arm| arm.name.as_str()).collect();
    if verbosity != Verbosity::Quiet {
        say(format_args!("Confirming bottlenecks: {}", arms.join("; ")));
    }
    if let Err(problem) = try_out(plan, played, study, stop, verbosity) {
        say(format_args!(
            "ciphertax: bottlenecks were not confirmed: {problem}"
        ));
    }
}

fn try_out(
    plan: &Plan,
    played: &mut Played,
    study: Study,
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

const PASSWORD_VARIABLE: &str = "CIPHERTAX_ENCDB_PASSWORD";

/// The account of this name; `None` where none is named. A password is not needed where no server is asked.
///
/// # Errors
/// When the environment has no password.
pub(crate) fn encdb_account(name: Option<&str>, is_dry_run: bool) -> Result<Option<EncdbAccount>, String> {
    let Some(user) = name else { return Ok(None) };
    let password = match env::var(PASSWORD_VARIABLE) {
        Ok(password) => password,
        Err(VarError::NotPresent) if is_dry_run => String::new(),
        Err(VarError::NotPresent) => {
            return Err(format!(
                "give the password of --encdb-account {user} in the environment variable {PASSWORD_VARIABLE}; empty if it has none"
            ));
        }
        Err(VarError::NotUnicode(_)) => return Err(format!("{PASSWORD_VARIABLE} is no text")),
    };
    Ok(Some(EncdbAccount {
        user: user.to_owned(),
        password: Secret::new(password),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_is_recorded_that_may_hold_a_key() {
        for set in [
            "server_cpu.command=[\"x\", \"key\"]",
            "server_cpu = { command = [\"x\", \"key\"] }",
        ] {
            assert_eq!(shown(set.to_owned()), "server_cpu.command=…");
        }
        for set in ["server_cpu.resolution_s=1", "time_s=60", "cell.a.command.name=x"] {
            assert_eq!(shown(set.to_owned()), set);
        }
    }
}
