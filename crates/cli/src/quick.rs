//! `ciphertax quick`.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use ciphertax_model::record::{RunStatus, Tool};
use ciphertax_model::{Placement, Secret, Study};
use ciphertax_runner::{Plan, play};
use ciphertax_wire::Target;

use crate::arguments::QuickArguments;
use crate::progress::Reporter;
use crate::show;
use crate::signals;

const STUDY: &str = include_str!("../studies/quick.toml");
/// Holds the password of a target whose URL has none.
const PASSWORD_VARIABLE: &str = "CIPHERTAX_PASSWORD";

/// The run ended early; its partial report is kept.
const PARTIAL: u8 = 1;

pub(crate) fn run(arguments: &QuickArguments) -> Result<ExitCode, String> {
    let plan = plan(arguments)?;
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

fn plan(arguments: &QuickArguments) -> Result<Plan, String> {
    let mut study = Study::from_toml(STUDY).map_err(|error| error.to_string())?;
    study.time_s = arguments.time.unwrap_or(study.time_s);
    study.certificate = arguments.certificate.unwrap_or(study.certificate);
    let mut study = study.validated().map_err(|error| error.to_string())?;
    let password = env::var(PASSWORD_VARIABLE).ok().map(Secret::new);
    let target = arguments
        .target
        .as_deref()
        .map(|text| Target::parse(text, password))
        .transpose()
        .map_err(|error| error.to_string())?;
    if target.is_some() {
        // The threads of a server that is not ours stay where its owner has them.
        study.placement = Placement::Free;
    }
    let seed = arguments.seed.unwrap_or_else(rand::random);
    Ok(Plan {
        command: command(arguments, target.as_ref(), seed),
        folder: arguments.out.clone().unwrap_or_else(default_folder),
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

/// The command that repeats the run, without its password.
fn command(arguments: &QuickArguments, target: Option<&Target>, seed: u64) -> String {
    let mut words = vec!["ciphertax quick".to_owned()];
    words.extend(target.map(|target| format!("'{}'", target.url())));
    words.extend(arguments.time.map(|time| format!("--time {time}")));
    words.extend(arguments.certificate.map(|kind| format!("--certificate {kind}")));
    words.push(format!("--seed {seed}"));
    words.join(" ")
}

fn default_folder() -> PathBuf {
    let now = jiff::Zoned::now();
    PathBuf::from(now.strftime("ciphertax-quick-%Y%m%d-%H%M%S").to_string())
}
