//! What all commands share that measure a study: the target, the run folder, playing, the report and the exit code.

use std::env;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

use ciphertax_model::record::{RunStatus, Tool};
use ciphertax_model::{Secret, Study};
use ciphertax_runner::{Plan, play};
use ciphertax_wire::Target;

use crate::arguments::MeasuringArguments;
use crate::progress::Reporter;
use crate::show;
use crate::signals;

/// Holds the password of a target whose URL has none.
const PASSWORD_VARIABLE: &str = "CIPHERTAX_PASSWORD";

/// The run ended early; its partial report is kept.
const PARTIAL: u8 = 1;

/// The words of a command that say which study it measures.
pub(crate) struct Words {
    /// The sub-command and what it is about.
    pub(crate) command: Vec<String>,
    /// Options that change the study.
    pub(crate) options: Vec<String>,
}

/// Measures a study, shows the report, and says how the process ends.
///
/// # Errors
/// When nothing could be measured.
pub(crate) fn measure(
    study: Study,
    arguments: &MeasuringArguments,
    words: Words,
) -> Result<ExitCode, String> {
    let plan = plan(study, arguments, words)?;
    let stop = signals::stop_flag().map_err(|error| format!("signals cannot be watched: {error}"))?;
    let mut reporter = Reporter::start(&plan.study);
    let outcome = play(&plan, &mut reporter, &stop);
    reporter.finish();
    let run = match outcome {
        Ok(run) => run,
        Err(_) if signals::caught(&stop) && !plan.folder.exists() => return Ok(signals::exit_code()),
        Err(error) => return Err(error.to_string()),
    };
    show::everything(&run, &plan.folder, arguments.json)?;
    Ok(match &run.status {
        RunStatus::Complete => ExitCode::SUCCESS,
        RunStatus::Partial { .. } if signals::caught(&stop) => signals::exit_code(),
        RunStatus::Partial { reason } => {
            eprintln!("ciphertax: the run ended early: {reason}");
            ExitCode::from(PARTIAL)
        }
        RunStatus::Running => ExitCode::from(PARTIAL),
    })
}

fn plan(mut study: Study, arguments: &MeasuringArguments, words: Words) -> Result<Plan, String> {
    study.time_s = arguments.time.unwrap_or(study.time_s);
    let target = target(arguments)?;
    if target.is_some() {
        study = study.on_external_server();
    }
    let study = study.validated().map_err(|error| error.to_string())?;
    let seed = arguments.seed.unwrap_or_else(rand::random);
    Ok(Plan {
        command: command(words, arguments, target.as_ref(), seed),
        folder: arguments
            .out
            .clone()
            .unwrap_or_else(|| default_folder(&study.name)),
        tool: Tool {
            name: "ciphertax".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            commit: env!("CIPHERTAX_COMMIT").into(),
        },
        study,
        target,
        seed,
    })
}

/// The user's own server; `None` for private ones.
///
/// # Errors
/// When the URL is not understood.
pub(crate) fn target(arguments: &MeasuringArguments) -> Result<Option<Target>, String> {
    let password = env::var(PASSWORD_VARIABLE).ok().map(Secret::new);
    let parse = |text: &String| Target::parse(text, password).map_err(|error| error.to_string());
    arguments.target.as_ref().map(parse).transpose()
}

/// The command that repeats the run, without its password.
fn command(words: Words, arguments: &MeasuringArguments, target: Option<&Target>, seed: u64) -> String {
    let words = std::iter::once("ciphertax".to_owned())
        .chain(words.command)
        .chain(target.map(Target::url))
        .chain(option("--time", arguments.time))
        .chain(words.options)
        .chain(option("--seed", Some(seed)));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// The words of an option; none if it has no value.
pub(crate) fn option(name: &str, value: Option<impl Display>) -> impl Iterator<Item = String> {
    value
        .into_iter()
        .flat_map(move |value| [name.to_owned(), value.to_string()])
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: String) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_=.,/:@+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A study may be named as its author likes; a folder of that name must be easy to type.
fn default_folder(study: &str) -> PathBuf {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let name = study.replace(|char| !is_plain(char), "-");
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    PathBuf::from(format!("ciphertax-{name}-{now}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_change_it() {
        for (word, shown) in [
            ("time_s=60", "time_s=60"),
            ("my study.toml", "'my study.toml'"),
            ("arm.it's.name=x", r"'arm.it'\''s.name=x'"),
            ("mysql://app@h/?ssl-ca=ca.pem", "'mysql://app@h/?ssl-ca=ca.pem'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word.to_owned()), shown);
        }
    }

    #[test]
    fn a_folder_is_named_for_its_study() {
        let folder = default_folder("../my study 50%");
        let name = folder.to_str().unwrap();
        assert!(name.starts_with("ciphertax-..-my-study-50--2"), "{name}");
        assert!(!name.contains('/'));
    }
}
