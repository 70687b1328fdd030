//! A study by what the user calls it: a built-in one's name, or a file.

use std::fs;
use std::path::Path;

use crate::built_in;

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
        Ok(text) if text.trim_start().starts_with('{') => Err(format!(
            "{study} is JSON, and a study is TOML, as ciphertax studies quick shows; to see a run again, say ciphertax report"
        )),
        Ok(text) => Ok((study.to_owned(), text)),
        Err(error) => Err(format!("the study file {study} cannot be read: {error}")),
    }
}

/// What to say of a name that neither a study nor a file has.
pub(crate) fn unknown(study: &str) -> String {
    let known: Vec<&str> = built_in::names().collect();
    let unknown = ciphertax_model::unknown("study", study, &known);
    format!("{unknown}; for a file of your own give its path")
}
