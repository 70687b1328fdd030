//! The steps that all commands share that measure a study: the target, the run folder, playing, the report and the exit code.

use std::env;
use std::path::PathBuf;

use ciphertax_base::{SCHEMA, Secret};
use ciphertax_estimate::EstimateError;
use ciphertax_explain::explain;
use ciphertax_model::{AgentAddress, Placement, Profiling, Study};
use ciphertax_records::why::{LookLog, Looks};
use ciphertax_records::{Destination, RecordError, Run, RunStatus, Tool, write_run};
use ciphertax_runner::{
    Channel, EncdbAccount, Measured, Plan, Progress, Ranks, Role, RunError, Stage, follow, play, role,
};
use ciphertax_supervise::say;
use ciphertax_wire::tls::damaged;
use ciphertax_wire::{Protocol, Target, TargetError};

use super::arguments::{option, quoted};
use crate::arguments::{MeasuringArguments, OutputArguments};
use crate::dry_run::dry_run;
use crate::exit::{Exit, Stop};
use crate::key_password::unlock;
use crate::progress::{Reporter, Verbosity};
use crate::selection::selected;
use crate::{export, run, show};

/// Holds the password of a target whose URL has none.
const PASSWORD_VARIABLE: &str = "CIPHERTAX_PASSWORD";
/// The environment variable that holds the password by which the client's key is encrypted.
const KEY_PASSWORD_VARIABLE: &str = "CIPHERTAX_KEY_PASSWORD";

/// The words of a command that say which study it measures.
pub(crate) struct Words {
    /// The sub-command and what it is about.
    pub(crate) command: Vec<String>,
    /// Options that change the study.
    pub(crate) options: Vec<String>,
}

/// Measures a study, shows the report, and says how the process ends. `encdb` is the account whose results the target encrypts.
pub(crate) fn measure(
    study: Study,
    arguments: &MeasuringArguments,
    encdb: Option<EncdbAccount>,
    words: Words,
) -> Result<Exit, String> {
    let plan = Plan {
        encdb,
        ..plan(study, arguments, words)?
    };
    if arguments.dry_run {
        if let Some(Role::Follower(_)) = role()? {
            return Ok(Exit::Done);
        }
        return dry_run(&plan, arguments);
    }
    let destination = match &arguments.out {
        Some(folder) => Destination::New(folder.clone()),
        None => Destination::FirstFree(default_folder(&plan.study.name)),
    };
    play_and_show(&plan, destination, arguments)
}

pub(crate) fn play_and_show(
    plan: &Plan,
    destination: Destination,
    arguments: &MeasuringArguments,
) -> Result<Exit, String> {
    let mut plan = match role()? {
        None => plan.clone(),
        Some(_) if matches!(destination, Destination::Resumed(_)) => {
            return Err(
                "several load generators cannot go on with a run that one began; leave mpirun out".into(),
            );
        }
        Some(Role::Conductor(channel)) => conducting(plan, channel, arguments.confirm)?,
        Some(Role::Follower(channel)) => {
            follow(channel, plan.target.as_ref(), &plan.tool.commit)?;
            return Ok(Exit::Done);
        }
    };
    export::looked_into(&arguments.output.export, plan.study.profile)?;
    export::possible(&arguments.output.export, arguments.out.as_deref())?;
    let stop = Stop::watch()?;
    if plan.study.arms.iter().any(|arm| arm.transport.is_encrypted()) {
        plan.target.iter().for_each(warn_of_certificates);
        if let Some(exit) = unlock(plan.target.as_mut(), &stop)? {
            return Ok(exit);
        }
    }
    let plan = &plan;
    let verbosity = arguments.verbosity();
    let played = play_with(plan, destination, &stop, verbosity);
    match (played, stop.caught()) {
        (Ok(mut played), caught) => {
            if arguments.confirm && played.run.head.status == RunStatus::Complete {
                run::confirm(plan, &mut played, &stop, verbosity);
            }
            Ok(show(&played, &arguments.output, caught.or_else(|| stop.caught())))
        }
        (Err(error), Some(exit)) => {
            say(format_args!("ciphertax: {error}"));
            Ok(exit)
        }
        (Err(error), None) => Err(error.to_string()),
    }
}

/// The same study, with a load that several load generators make: each has a connection in every cell, and none is on the server's CPU.
/// What the code of either side does is looked into by no run whose client is many.
fn conducting(plan: &Plan, channel: Channel, confirm: bool) -> Result<Plan, String> {
    let agent = match plan.study.agent() {
        Some(AgentAddress::Rank(host)) => Some(host),
        Some(AgentAddress::Ssh(_)) | None => None,
    };
    let ranks = Ranks::gather(channel, &plan.tool.commit, agent.as_deref())?;
    if confirm {
        return Err("--confirm plays a study of its own afterwards, for which one load generator is enough; leave mpirun out".into());
    }
    let mut study = plan.study.clone();
    study.placement = Placement::Free;
    for load in study.cells.iter_mut().map(|cell| &mut cell.load) {
        load.connections = load.connections.max(ranks.count());
    }
    if study != plan.study {
        say(format_args!(
            "{} load generators: placement is free, and every cell has {0} connections at least",
            ranks.count()
        ));
    }
    study.profile = Profiling::Off;
    Ok(Plan {
        study,
        ranks: Some(ranks),
        ..plan.clone()
    })
}

/// A run, evaluated.
pub(crate) struct Played {
    pub(crate) run: Run,
    pub(crate) folder: PathBuf,
    /// Why the results could not be written there; what could be written is whole.
    unsaved: Option<RecordError>,
}

/// Plays a study with its progress on the terminal, and evaluates it.
pub(crate) fn play_with(
    plan: &Plan,
    destination: Destination,
    stop: &Stop,
    verbosity: Verbosity,
) -> Result<Played, RunError> {
    let mut reporter = Reporter::start(&plan.study, plan.target.as_ref(), stop.clone(), verbosity);
    let measured = play(plan, destination, &mut reporter, &stop.flag);
    let played = measured.and_then(|measured| {
        reporter.stage(&Stage::Evaluating);
        Ok(evaluated(measured)?)
    });
    reporter.finish();
    // What is left from now on is said by whoever shows it.
    stop.leaves(|left| left.made_on = None);
    played
}

fn evaluated(
    Measured {
        head,
        samples,
        folder,
    }: Measured,
) -> Result<Played, EstimateError> {
    // Looks that cannot be read back, as from a disk that is full, say nothing, and the estimates stand.
    let looks: Box<dyn Looks> = match folder.looks() {
        Ok(looks) => Box::new(looks),
        Err(_) => Box::new(LookLog::default()),
    };
    let results = explain(&head, &samples, looks.as_ref(), None)?;
    let run = Run::new(head, results);
    Ok(Played {
        unsaved: write_run(folder.path(), &run).err(),
        folder: folder.path().to_owned(),
        run,
    })
}

/// Shows what was measured, whatever of it could be written.
fn show(played: &Played, output: &OutputArguments, caught: Option<Exit>) -> Exit {
    let Played { run, folder, unsaved } = played;
    let problems = show::everything(run, folder, output);
    let goes_on = format!("`ciphertax run --resume {}` goes on with it", folder.display());
    match &run.head.status {
        RunStatus::Complete | RunStatus::Running => {}
        RunStatus::Partial { reason } => {
            say(format_args!(
                "ciphertax: the run ended early: {reason}; {goes_on}"
            ));
        }
        RunStatus::NotCleanedUp { problem } => say(format_args!("ciphertax: {problem}")),
    }
    let unsaved: Vec<String> = unsaved
        .iter()
        .map(RecordError::to_string)
        .chain(problems)
        .collect();
    if !unsaved.is_empty() {
        let problems = unsaved.join("; ");
        say(format_args!(
            "ciphertax: {problems}; what could be written is whole, and `ciphertax report {}` writes the rest when that is \
             mended",
            folder.display()
        ));
    }
    match &run.head.status {
        RunStatus::Partial { .. } => caught.unwrap_or(Exit::Partial),
        RunStatus::NotCleanedUp { .. } | RunStatus::Running => Exit::Partial,
        RunStatus::Complete if !unsaved.is_empty() => Exit::Partial,
        RunStatus::Complete if run.results.estimates.is_empty() => Exit::CannotTell,
        RunStatus::Complete => Exit::Done,
    }
}

/// This program.
pub(crate) fn tool() -> Tool {
    Tool {
        name: "ciphertax".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: env!("CIPHERTAX_COMMIT").into(),
    }
}

fn plan(mut study: Study, arguments: &MeasuringArguments, words: Words) -> Result<Plan, String> {
    study.time_s = arguments.time.unwrap_or(study.time_s);
    study.profile = arguments.profile.unwrap_or(study.profile);
    arguments.server_cpu.apply(&mut study)?;
    let target = target(arguments)?;
    give_schema(arguments.schema.as_deref(), target.as_ref())?;
    if target.is_some() {
        study = study.on_external_server();
    }
    let study = selected(study, &arguments.cell, &arguments.arm)?;
    let study = study.validated().map_err(|error| error.to_string())?;
    let seed = arguments.seed.unwrap_or_else(rand::random);
    Ok(Plan {
        command: command(words, arguments, target.as_ref(), seed),
        tool: tool(),
        study,
        target,
        encdb: None,
        ranks: None,
        no_wrong_logins: arguments.no_wrong_logins,
        seed,
    })
}

/// Has ciphertax work in this schema, where one is named.
pub(crate) fn give_schema(name: Option<&str>, target: Option<&Target>) -> Result<(), String> {
    let quote = match target {
        Some(Target::PostgreSql(_)) => '"',
        _ => '`',
    };
    name.map_or(Ok(()), |name| SCHEMA.give(name, quote))
}

/// The user's own server; `None` for private ones.
pub(crate) fn target(arguments: &MeasuringArguments) -> Result<Option<Target>, String> {
    arguments.target.as_deref().map(parse_target).transpose()
}

/// A server by its URL, with the password that the environment has for it.
pub(crate) fn parse_target(url: &str) -> Result<Target, String> {
    with_key_password(Target::parse(url, password()))
}

/// The same of one on which nothing is made.
pub(crate) fn parse_any_target(url: &str) -> Result<Target, String> {
    with_key_password(Target::parse_any(url, password()))
}

/// With the password by which the environment says that the key of its clients is encrypted, unless its URL says one.
fn with_key_password(target: Result<Target, TargetError>) -> Result<Target, String> {
    let mut target = target.map_err(|error| error.to_string())?;
    if let Some(client) = target.client_certificate_mut()
        && client.lacks_password()
    {
        let given = env::var(KEY_PASSWORD_VARIABLE).ok();
        client.password = given.filter(|given| !given.is_empty()).map(Secret::new);
    }
    Ok(target)
}

/// Says before the first login who may answer it, and which certificates of the CA file cannot be read.
pub(crate) fn warn_of_certificates(target: &Target) {
    if let Some(damaged) = target.verification().ca_file().and_then(damaged) {
        say(format_args!("Warning: {damaged}; the others are used"));
    }
    if !target.is_unverified() {
        return;
    }
    // MongoDB's logins show that the client knows the password, and never send it.
    let (risk, option) = match target.protocol() {
        Protocol::MySql => ("may learn the password", "ssl-ca"),
        Protocol::PostgreSql => ("may learn the password", "sslrootcert"),
        Protocol::MongoDb => ("is believed", "tlsCAFile"),
    };
    say(format_args!(
        "Warning: the certificate of {target} is not verified, so whoever answers there {risk}; add {option}=FILE to the URL"
    ));
}

fn password() -> Option<Secret> {
    env::var(PASSWORD_VARIABLE).ok().map(Secret::new)
}

/// The command that repeats the run, without its password.
fn command(words: Words, arguments: &MeasuringArguments, target: Option<&Target>, seed: u64) -> String {
    let words = std::iter::once("ciphertax".to_owned())
        .chain(words.command)
        .chain(target.map(Target::url))
        .chain(option("--time", arguments.time))
        .chain(option("--profile", arguments.profile))
        .chain(arguments.server_cpu.words())
        .chain(arguments.no_wrong_logins.then(|| "--no-wrong-logins".to_owned()))
        .chain(option("--schema", &arguments.schema))
        .chain(words.options)
        .chain(option("--cell", &arguments.cell))
        .chain(option("--arm", &arguments.arm))
        .chain(option("--seed", [seed]));
    words.map(quoted).collect::<Vec<_>>().join(" ")
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
            ("arm.it's.name=x", "\"arm.it's.name=x\""),
            ("cell.a`b`.name=$x", "'cell.a`b`.name=$x'"),
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
