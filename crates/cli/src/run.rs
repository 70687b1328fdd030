//! `ciphertax run`.

use ciphertax_model::{Study, StudyText};

use crate::arguments::RunArguments;
use crate::built_in::QUICK_NAME;
use crate::encdb::encdb_account;
use crate::exit::Exit;
use crate::find_study::find;
use crate::measuring::{Words, measure, option, target};
use crate::quick;
use crate::resume::resume;

pub(crate) fn run(arguments: &RunArguments) -> Result<Exit, String> {
    if let Some(folder) = &arguments.resume {
        return resume(folder, arguments);
    }
    let name = arguments.study.as_deref().unwrap_or_default();
    let (file, text) = find(name)?;
    let mut study = StudyText::new(&file, &text)
        .scale(arguments.scale.as_deref())
        .settings(&settings(arguments))
        .study()
        .map_err(|error| error.to_string())?;
    if name == QUICK_NAME
        && let Some(target) = target(&arguments.measuring)?
    {
        study = quick::of_its_kind(study, &target)?;
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
            .chain(option("--scale", arguments.scale.as_ref()))
            .chain(option("--encdb-account", arguments.encdb_account.as_ref()))
            .chain(arguments.keep_operations.then(|| "--keep-operations".to_owned()))
            .chain(
                settings(arguments)
                    .into_iter()
                    .map(shown)
                    .flat_map(|setting| option("--set", Some(setting))),
            )
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
