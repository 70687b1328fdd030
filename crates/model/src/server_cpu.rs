//! How the CPU time of a server on another machine is read: an agent, a command.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

/// A counter of a server's CPU time that somebody else keeps, for servers on whose machine nobody can log in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuCounter {
    /// A program and its arguments that prints one number: the CPU time that the server has used so far, in seconds.
    /// The record of a run has `…` in the place of the arguments, which may hold a key.
    #[serde(default, skip_serializing_if = "CounterCommand::is_empty")]
    pub command: CounterCommand,
    /// The address of metrics as Prometheus reads them: of a node exporter, or of a process exporter; after a `#` the name of the
    /// group of processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exporter: Option<String>,
    /// How far the counter lags behind, in seconds: how often it moves, and how long after the work. `None` to find out before
    /// measuring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_s: Option<f64>,
}

impl CpuCounter {
    /// How far a counter may lag behind, in seconds.
    pub const RESOLUTION_S: RangeInclusive<f64> = 0.001..=300.0;

    /// What an exporter's address may not be; `None` if it is fine.
    pub fn wrong_exporter(&self) -> Option<&'static str> {
        let exporter = self.exporter.as_ref()?;
        let Ok(url) = Url::parse(exporter) else {
            return Some("it is no URL; give http://host:9100/metrics");
        };
        match url.scheme() {
            "http" | "https" if url.password().is_some() || !url.username().is_empty() => {
                Some("it has a login, which would be in the record of the run; put it into ~/.netrc")
            }
            "http" | "https" if url.query().is_some() => Some(
                "what follows ? may be a key, and would be in the record of the run; leave it out, or have a command ask",
            ),
            "http" | "https" => None,
            _ => Some("it must begin with http:// or https://"),
        }
    }
}

/// What stands for the arguments where they are not shown.
const HIDDEN: &str = "…";

/// A program and its arguments. These may hold a key, so that of what is printed or written to a record they are no part: there the
/// program stands alone, with `…` for them.
#[derive(Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CounterCommand(Vec<String>);

impl CounterCommand {
    /// Of these words, the first of which is the program.
    pub fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self(words.into_iter().collect())
    }

    /// The program; empty where there is none.
    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Program and arguments, for the one place that runs them.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// True without a program.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What may be shown: the program, and that it has arguments.
    fn shown(&self) -> impl Iterator<Item = &str> {
        let hidden = (self.0.len() > 1).then_some(HIDDEN);
        let program = self.0.first().map(String::as_str);
        program.into_iter().chain(hidden)
    }
}

/// The program, with `…` for its arguments.
impl fmt::Display for CounterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown().collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Debug for CounterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shown()).finish()
    }
}

impl Serialize for CounterCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.shown())
    }
}

/// The program that an agent is, where its address names no other.
const PROGRAM: &str = "ciphertax";

/// What the address of an agent begins with that is a load generator.
const RANK: &str = "rank://";

/// Where a ciphertax runs that reads the clocks of a server's processes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAddress {
    /// The system's `ssh` starts it.
    Ssh(SshAddress),
    /// It is one of several load generators, which makes no load: `rank://host`, as the host calls itself.
    Rank(String),
}

impl FromStr for AgentAddress {
    type Err = AgentAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix(RANK) {
            None => text.parse().map(Self::Ssh),
            Some(host) if is_name(host) => Ok(Self::Rank(host.to_owned())),
            Some(_) => Err(AgentAddressError::Name),
        }
    }
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(address) => address.fmt(f),
            Self::Rank(host) => write!(f, "{RANK}{host}"),
        }
    }
}

/// A ciphertax on the machine of a server, which `ssh` starts: `ssh://[user@]host[:port][/path/of/ciphertax]`.
///
/// All of it becomes words of a command line, and the path is read by a shell on the other machine. So none of it can hold
/// more than names and paths need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshAddress(Url);

impl SshAddress {
    /// Whom `ssh` logs in as; `None` for whoever its own settings say.
    pub fn user(&self) -> Option<&str> {
        Some(self.0.username()).filter(|user| !user.is_empty())
    }

    /// The machine, or what the settings of `ssh` call it; an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port of its sshd; `None` for what the settings of `ssh` say.
    pub fn port(&self) -> Option<u16> {
        self.0.port()
    }

    /// The file of ciphertax there, or its name if it is in the search path.
    pub fn program(&self) -> &str {
        match self.0.path() {
            "" | "/" => PROGRAM,
            path => path,
        }
    }

    /// What follows `ssh` when somebody logs in there by hand.
    pub fn by_hand(&self) -> String {
        let port = self.port().map_or(String::new(), |port| format!("-p {port} "));
        let user = self.user().map_or(String::new(), |user| format!("{user}@"));
        format!("ssh {port}{user}{}", self.host())
    }
}

/// Why a text is no address of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentAddressError {
    /// Not of the form.
    #[error(
        "give ssh://user@host, ssh://user@host:port or ssh://user@host/path/of/ciphertax; or rank://host for a load generator there"
    )]
    Form,
    /// With a password.
    #[error("ssh takes no password from here; leave it out, and let ssh log in by a key")]
    Password,
    /// A user or a host of other characters than names have.
    #[error("a user or a host has letters, digits and . - _ alone, and begins with none of the last two")]
    Name,
    /// A path of other characters than most paths have.
    #[error("the path of ciphertax there may have letters, digits and / . - _ + alone")]
    Path,
}

impl FromStr for SshAddress {
    type Err = AgentAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(|_| AgentAddressError::Form)?;
        if url.password().is_some() {
            return Err(AgentAddressError::Password);
        }
        if url.scheme() != "ssh" || url.query().is_some() || url.fragment().is_some() || url.port() == Some(0)
        {
            return Err(AgentAddressError::Form);
        }
        // The parser has seen that what stands in brackets is an address.
        let host = url.host_str().ok_or(AgentAddressError::Form)?;
        let user = url.username();
        if !(host.starts_with('[') || is_name(host)) || !(user.is_empty() || is_name(user)) {
            return Err(AgentAddressError::Name);
        }
        let is_of_path = |char: char| char.is_ascii_alphanumeric() || "/.-_+".contains(char);
        match url.path().chars().all(is_of_path) {
            true => Ok(Self(url)),
            false => Err(AgentAddressError::Path),
        }
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['-', '_'])
        && word
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || ".-_".contains(char))
}

impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_has_no_login_in_its_address() {
        let wrong = |exporter: &str| {
            let counter = CpuCounter {
                exporter: Some(exporter.into()),
                ..CpuCounter::default()
            };
            counter.wrong_exporter()
        };
        assert_eq!(wrong("http://db:9100/metrics"), None);
        assert_eq!(wrong("https://db/metrics#mysqld"), None);
        assert!(wrong("https://me:secret@db/metrics").unwrap().contains("netrc"));
        assert!(wrong("https://db/metrics?token=1234").unwrap().contains("record"));
        assert!(wrong("file:///etc/passwd").is_some() && wrong("db").is_some());
    }

    #[test]
    fn nothing_that_is_shown_holds_its_arguments() {
        let command: CounterCommand = serde_json::from_str(r#"["curl", "-H", "token: 1234"]"#).unwrap();
        assert_eq!(command.words().len(), 3);
        assert_eq!(command.to_string(), "curl …");
        assert_eq!(format!("{command:?}"), "[\"curl\", \"…\"]");
        assert_eq!(serde_json::to_string(&command).unwrap(), "[\"curl\",\"…\"]");
        let alone = CounterCommand::new(["db-cpu".to_owned()]);
        assert_eq!(
            (alone.to_string().as_str(), alone.program()),
            ("db-cpu", "db-cpu")
        );
        let none = CounterCommand::default();
        assert!(none.is_empty() && none.to_string().is_empty());
    }

    #[test]
    fn an_address_is_shown_as_it_was_given() {
        for (text, user, host, port, program) in [
            ("ssh://db", None, "db", None, "ciphertax"),
            ("ssh://me@db.example", Some("me"), "db.example", None, "ciphertax"),
            (
                "ssh://me@10.0.0.1:2222",
                Some("me"),
                "10.0.0.1",
                Some(2222),
                "ciphertax",
            ),
            (
                "ssh://me@[::1]:22/opt/ciphertax",
                Some("me"),
                "::1",
                Some(22),
                "/opt/ciphertax",
            ),
        ] {
            let address: SshAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            let parts = (address.user(), address.host(), address.port(), address.program());
            assert_eq!(parts, (user, host, port, program));
        }
        let address: SshAddress = "ssh://me@db:2222/opt/ciphertax".parse().unwrap();
        assert_eq!(address.by_hand(), "ssh -p 2222 me@db");
    }

    #[test]
    fn nothing_becomes_an_option_or_a_word_of_a_shell() {
        for text in [
            "",
            "db",
            "ssh://",
            "http://db",
            "mysql://me@db",
            "ssh://me:secret@db",
            "ssh://-oProxyCommand=x",
            "ssh://-o@db",
            "ssh://_@db",
            "ssh://me@-l",
            "ssh://me@db;x",
            "ssh://me@d b",
            "ssh://me@db$(x)",
            "ssh://me@%2doProxyCommand",
            "ssh://m%20e@db",
            "ssh://me@db/bin/ciphertax;x",
            "ssh://me@db/bin/$x",
            "ssh://me@db/a b",
            "ssh://me@db/`x`",
            "ssh://me@db/a\nb",
            "ssh://me@db?x=1",
            "ssh://me@db#x",
            "ssh://me@db:0",
            "ssh://me@db:99999",
            "ssh://db%0a",
            "rank://",
            "rank://-x",
            "rank://me@db",
            "rank://db:1",
            "rank://db/ciphertax",
        ] {
            // A line's end is no part of any URL and is left out by its parser.
            match text.parse::<AgentAddress>() {
                Ok(AgentAddress::Ssh(address)) if text.contains('\n') => assert_eq!(address.program(), "/ab"),
                parsed => assert!(parsed.is_err(), "{text}: {parsed:?}"),
            }
        }
    }

    #[test]
    fn a_load_generator_is_named_by_its_host() {
        let address: AgentAddress = "rank://db-1.example".parse().unwrap();
        assert_eq!(address, AgentAddress::Rank("db-1.example".into()));
        assert_eq!(address.to_string(), "rank://db-1.example");
    }
}
