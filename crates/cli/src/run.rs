//! `ciphertax run`.

use ciphertax_model::{Study, StudyText};

use crate::arguments::RunArguments;
use crate::exit::Exit;
use crate::find_study::find;
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
