//! `ciphertax quick`.

use std::process::ExitCode;

use ciphertax_model::Study;

use crate::arguments::QuickArguments;
use crate::built_in;
use crate::measuring::{Words, measure, option};

pub(crate) fn run(arguments: &QuickArguments) -> Result<ExitCode, String> {
    let mut study = Study::from_toml(built_in::QUICK).map_err(|error| error.to_string())?;
    study.certificate = arguments.certificate.unwrap_or(study.certificate);
    let words = Words {
        command: vec!["quick".to_owned()],
        options: option("--certificate", arguments.certificate).collect(),
    };
    measure(study, &arguments.measuring, words)
}
