//! `ciphertax servers`.

use std::fmt::Display;
use std::time::Duration;

use ciphertax_base::harmless;
use ciphertax_lab::catalogue::{AtRestCapabilities, CATALOGUE, Capabilities, Entry};
use ciphertax_lab::{Error, InstallStep, Installation, install};
use ciphertax_model::{Resumption, TlsVersion};
use ciphertax_report::json;
use ciphertax_supervise::say;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::arguments::{ServersArguments, ServersCommand};
use crate::exit::{Exit, Stop};
use crate::progress::bar;
use crate::show;

pub(crate) fn run(arguments: &ServersArguments) -> Result<Exit, String> {
    if let Some(ServersCommand::Install { servers }) = &arguments.command {
        return install_all(servers);
    }
    let servers = CATALOGUE.map(Server::of);
    let text = if arguments.json {
        json::render(&servers)
    } else {
        table(&servers)
    };
    show::print(&text).map(|()| Exit::Done)
}

/// A server of the catalogue and what this machine has of it.
#[derive(Serialize)]
struct Server {
    #[serde(flatten)]
    entry: &'static Entry,
    /// Its own word on its version; `None` if it is not installed.
    installed: Option<String>,
    program: Option<String>,
    /// What is there but not as it should be.
    problem: Option<String>,
}

impl Server {
    fn of(entry: &'static Entry) -> Self {
        if entry.is_built_in() {
            return Self {
                entry,
                installed: Some(entry.version.to_owned()),
                program: None,
                problem: None,
            };
        }
        let (installation, problem) = match Installation::of(entry) {
            Ok(installation) => (Some(installation), None),
            Err(Error::NotInstalled { .. }) => (None, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let version = installation.as_ref().map(Installation::version);
        let (installed, broken) = match version {
            Some(Ok(version)) => (Some(version), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        Self {
            entry,
            installed,
            program: installation.map(|installation| installation.program.display().to_string()),
            problem: problem.or(broken),
        }
    }
}

fn table(servers: &[Server]) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─')
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(show::columns()).unwrap_or(u16::MAX))
        .force_no_tty()
        .set_header(["name", "server", "supports"]);
    for server in servers {
        let entry = server.entry;
        let installed = match &server.installed {
            Some(_) if entry.is_built_in() => "built in".to_owned(),
            Some(version) => format!("installed: {version}"),
            None => "not installed".to_owned(),
        };
        table.add_row([
            entry.name.to_owned(),
            format!(
                "{} {}\n{}\n{installed}",
                entry.product, entry.version, entry.tls_library
            ),
            in_words(&entry.capabilities),
        ]);
    }
    // Names are there to be copied, so they are never broken.
    let longest = servers.iter().map(|server| server.entry.name.len()).max();
    if let (Some(column), Some(length)) = (table.column_mut(0), longest) {
        let padding = 2;
        let width = u16::try_from(length).unwrap_or(u16::MAX).saturating_add(padding);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
    let problems: String = servers
        .iter()
        .filter_map(|server| server.problem.as_ref())
        .map(|problem| format!("\n{problem}\n"))
        .collect();
    format!(
        "{}\n{problems}\n`ciphertax servers install NAME` fetches one that is not installed.\n",
        table.trim_fmt()
    )
}

/// What a server supports, a line for each kind of setting.
fn in_words(capabilities: &Capabilities) -> String {
    let resumed_by = |way: Resumption| {
        let versions = capabilities
            .resumption
            .iter()
            .filter(|entry| entry.by.contains(&way));
        let versions: Vec<TlsVersion> = versions.map(|entry| entry.version).collect();
        (!versions.is_empty()).then(|| format!("{} in {}", way.name(), range(&versions)))
    };
    let resumption: Vec<String> = [Resumption::SessionId, Resumption::Ticket]
        .into_iter()
        .filter_map(resumed_by)
        .collect();
    [
        ("TLS", range(capabilities.tls_versions)),
        ("keys", list(capabilities.certificates)),
        ("groups", list(capabilities.groups)),
        ("resumption", list(&resumption)),
        ("logins", list(capabilities.authentication)),
        ("at rest", at_rest_in_words(&capabilities.at_rest)),
    ]
    .map(|(name, words)| format!("{name}: {words}"))
    .join("\n")
}

/// What it encrypts on the disk by itself: `tables, redo_log by AES-CBC, AES-CTR`.
fn at_rest_in_words(at_rest: &AtRestCapabilities) -> String {
    let parts = match at_rest.sqlcipher {
        true => "sqlcipher".to_owned(),
        false => list(at_rest.parts),
    };
    match at_rest.algorithms {
        [] => parts,
        algorithms => format!("{parts} by {}", list(algorithms)),
    }
}

/// The first and the last of these versions, which have no gap between them: `1.0–1.2`.
fn range(versions: &[TlsVersion]) -> String {
    match versions {
        [] => "none".to_owned(),
        [only] => number(*only).to_owned(),
        [oldest, .., newest] => format!("{}–{}", number(*oldest), number(*newest)),
    }
}

fn number(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::V1_0 => "1.0",
        TlsVersion::V1_1 => "1.1",
        TlsVersion::V1_2 => "1.2",
        TlsVersion::V1_3 => "1.3",
    }
}

fn list(words: &[impl Display]) -> String {
    if words.is_empty() {
        return "none".to_owned();
    }
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    words.join(", ")
}

fn install_all(servers: &[&'static Entry]) -> Result<Exit, String> {
    let stop = Stop::watch()?;
    for entry in servers {
        let steps = Steps::of(entry.name);
        let outcome = install(entry, &stop.flag, &mut |step| steps.show(&step));
        steps.bar.finish_and_clear();
        match outcome {
            Ok(installation) => say(format_args!(
                "{}: installed, {}",
                entry.name,
                installation.program.display()
            )),
            Err(error @ Error::BuiltIn(_)) => say(error),
            Err(error) => return stop.caught().ok_or_else(|| error.to_string()),
        }
    }
    Ok(Exit::Done)
}

/// The steps of an installation on standard error: a spinner on a terminal, lines elsewhere.
struct Steps {
    name: &'static str,
    bar: ProgressBar,
}

impl Steps {
    fn of(name: &'static str) -> Self {
        let bar = bar(None, "{spinner} {msg} ({elapsed})");
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { name, bar }
    }

    fn show(&self, step: &InstallStep) {
        let text = harmless(&format!("{}: {step}", self.name));
        if self.bar.is_hidden() {
            say(&text);
        }
        self.bar.set_message(text);
    }
}
