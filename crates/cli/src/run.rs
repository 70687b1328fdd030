//! `ciphertax run`.

use std::fs;
use std::path::Path;

use ciphertax_model::{Study, StudyText, nearest};

use crate::arguments::RunArguments;
use crate::built_in;
use crate::exit::Exit;
use crate::measuring::{Words, measure, option};
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
    study.precision.cpu = arguments.precision.unwrap_or(study.precision.cpu);
    study.ycsb.verify |= arguments.verify;
    if arguments.keep_operations {
        keep_operations(&mut study);
    }
    measure(study, &arguments.measuring, words(name, arguments))
}

/// Has every cell keep its operations. Those of a program nobody but the program knows.
fn keep_operations(study: &mut Study) {
    for cell in &mut study.cells {
        cell.keep_operations = !cell.workload.is_program();
    }
}

/// The name and the text of a study. A file is named as the user has named it.
pub(crate) fn find(study: &str) -> Result<(String, String), String> {
    if let Some(text) = built_in::text(study) {
        return Ok((format!("{study}.toml"), text.to_owned()));
    }
    if study.contains("://") {
        return Err(
            "a target is given without a study; say ciphertax run STUDY TARGET, where ciphertax studies lists the studies"
                .into(),
        );
    }
    let path = Path::new(study);
    if !path.exists() && !study.contains('/') && !study.ends_with(".toml") {
        return Err(unknown(study));
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok((study.to_owned(), text)),
        Err(error) => Err(format!("the study file {study} cannot be read: {error}")),
    }
}

/// What to say of a name that neither a study nor a file has.
pub(crate) fn unknown(study: &str) -> String {
    let names: Vec<&str> = built_in::names().collect();
    let hint = nearest(study, names.iter().copied()).map(|near| format!("; did you mean {near}?"));
    format!(
        "unknown study {study:?}{} Known are {}; for a file of your own give its path",
        hint.unwrap_or_else(|| ".".to_owned()),
        names.join(", ")
    )
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
            .chain(arguments.verify.then(|| "--verify".to_owned()))
            .chain(arguments.keep_operations.then(|| "--keep-operations".to_owned()))
            .chain(
                settings(arguments)
                    .into_iter()
                    .flat_map(|setting| option("--set", Some(setting))),
            )
            .collect(),
    }
}
