//! How a cell is asked, also by a program of the user's own.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;
use crate::problem::hint;

/// How hard a database is asked: a closed loop, in which every connection sends its next request when the last was
/// answered, unless `rate` says when operations begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Connections of each arm; for workloads that make connections, connections being opened at a time.
    pub connections: u32,
    /// Load threads; `None` lets the engine choose by connections and CPUs. Together with its server the load has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// How long a load thread waits for more sockets to become ready before it answers them all, in microseconds.
    /// The same for all arms. 0 answers each as soon as it is ready.
    #[serde(default)]
    pub poll_delay_us: u32,
    /// Operations of a slice, all connections together, instead of a time: a batch, done as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Operations begun per second, all connections together, at even distances: an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
}

impl Load {
    /// How many connections there may be.
    pub const CONNECTIONS: RangeInclusive<u32> = 1..=100_000;
    /// How long a load thread may wait, in microseconds.
    pub const POLL_DELAY_US: RangeInclusive<u32> = 0..=10_000;
    /// How many operations a batch may have; never fewer than connections.
    pub const BATCH: RangeInclusive<u32> = 1..=1_000_000;
    /// How many operations may begin per second.
    pub const RATE: RangeInclusive<u32> = 1..=1_000_000;

    /// A closed loop over so many connections.
    pub const fn closed(connections: u32) -> Self {
        Self {
            connections,
            workers: None,
            poll_delay_us: 0,
            batch: None,
            rate: None,
        }
    }

    /// True where a cell says none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// When operations begin, and what ends a slice. No validated load says both `batch` and `rate`.
    pub const fn pace(&self) -> Pace {
        match (self.batch, self.rate) {
            (Some(operations), _) => Pace::Batch { operations },
            (None, Some(rate)) => Pace::Open { rate },
            (None, None) => Pace::Closed,
        }
    }
}

/// When operations begin, and what ends a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pace {
    /// A closed loop: each operation of a connection begins when the one before has ended, for the time of a slice.
    #[default]
    Closed,
    /// The same until so many operations are done.
    Batch {
        /// Operations of a slice, all connections together.
        operations: u32,
    },
    /// An open loop: operations begin at given times, whether or not those before have ended.
    Open {
        /// Operations per second, all connections together.
        rate: u32,
    },
}

/// A program that is run once a slice, and what of it counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The program and its arguments, which no shell reads. They may hold [placeholders](Placeholder).
    pub run: Vec<String>,
    /// What is an operation.
    #[serde(default)]
    pub counts: Counts,
    /// How long one run may take, in seconds; then it is killed, and its slice is void.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
}

/// What is an operation of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// A run of the program, from its start to its end: for programs that do the same work every time.
    #[default]
    Runs,
    /// A query that the server counted meanwhile: for programs that work for a given time.
    Queries,
}

/// What stands for something of the arm in an argument, as `{host}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Placeholder {
    /// The arm's name.
    Arm,
    /// Host name or address.
    Host,
    /// TCP port.
    Port,
    /// The server's Unix socket, for an arm that uses it.
    Socket,
    /// User name.
    User,
    /// The schema.
    Database,
    /// What must be seen of the server, in the words of the database's clients: `VERIFY_CA`, `verify-ca`.
    SslMode,
    /// File of the authorities that the server's certificate is verified with.
    SslCa,
    /// File of the client's own certificate.
    SslCert,
    /// File of its key.
    SslKey,
    /// The only TLS version, where the arm says one.
    TlsVersion,
    /// The only cipher suite, where the arm says one.
    Cipher,
    /// The folder of the files for this arm.
    Folder,
    /// The option file of MySQL's and MariaDB's clients in it.
    MyCnf,
    /// The configuration file of sysbench in it.
    SysbenchCnf,
}

/// A part of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text as it is.
    Text(&'a str),
    /// What is filled in for each arm.
    Placeholder(Placeholder),
}

/// Arguments are public: whoever can list processes can read them.
const SECRET: [&str; 2] = ["password", "url"];

const LONGEST_TIMEOUT_S: f64 = 86_400.0;

fn default_timeout_s() -> f64 {
    60.0
}

impl Command {
    /// What is wrong with it: the key, and a sentence with what to do instead.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.run.first().is_none_or(String::is_empty) {
            let why = "run must name a program; write it with its arguments: run = [\"sysbench\", …]";
            problems.push(("run", why.to_owned()));
        }
        if self.run.iter().any(|word| word.contains('\0')) {
            let why = "no argument of a program can hold a zero byte; leave it out";
            problems.push(("run", why.to_owned()));
        }
        let words = self.run.iter().filter_map(|word| parts(word).err());
        problems.extend(words.map(|problem| ("run", problem)));
        if !(0.1..=LONGEST_TIMEOUT_S).contains(&self.timeout_s) {
            let why = format!(
                "timeout_s is {}; it must lie between 0.1 and {LONGEST_TIMEOUT_S}",
                self.timeout_s
            );
            problems.push(("timeout_s", why));
        }
        problems
    }
}

/// The words as they were written, each apart from the next.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.run.join(" "))
    }
}

impl Placeholder {
    /// Every placeholder.
    pub const ALL: [Self; 15] = all();

    /// The name between the braces; in capitals and after `CIPHERTAX_`, that of the environment variable.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An argument taken apart. Braces around anything but a name in small letters are text, and so is `${name}`, which is a
/// shell's.
///
/// # Errors
/// Says which placeholder there is not, or must not be.
pub fn parts(argument: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut text_from = 0;
    let mut at = 0;
    while let Some(open) = argument[at..].find('{').map(|offset| at + offset) {
        at = open + 1;
        let Some(name) = name_at(&argument[at..]).filter(|_| !argument[..open].ends_with('$')) else {
            continue;
        };
        parts.push(Part::Text(&argument[text_from..open]));
        parts.push(Part::Placeholder(placeholder(name)?));
        at += name.len() + 1;
        text_from = at;
    }
    parts.push(Part::Text(&argument[text_from..]));
    parts.retain(|part| *part != Part::Text(""));
    Ok(parts)
}

/// The name up to the closing brace.
fn name_at(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('}')?;
    let is_of_name = |char: char| char.is_ascii_lowercase() || char == '_';
    (!name.is_empty() && name.chars().all(is_of_name)).then_some(name)
}

fn placeholder(name: &str) -> Result<Placeholder, String> {
    if SECRET.contains(&name) {
        return Err(format!(
            "{{{name}}} would show the password to everybody who lists processes; the program finds it in its \
             environment as CIPHERTAX_{}, in the file {{my_cnf}}, or for sysbench in {{sysbench_cnf}}",
            name.to_uppercase()
        ));
    }
    let known = Placeholder::ALL.map(Placeholder::name);
    name.parse()
        .map_err(|_| format!("there is no placeholder {{{name}}}{}", hint(name, &known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_between_text() {
        assert_eq!(
            parts("--host={host}:{port}!").unwrap(),
            [
                Part::Text("--host="),
                Part::Placeholder(Placeholder::Host),
                Part::Text(":"),
                Part::Placeholder(Placeholder::Port),
                Part::Text("!")
            ]
        );
        for text in [
            "",
            "{",
            "{}",
            "${host}",
            "{ host }",
            "{\"host\": 1}",
            "é{É}",
            "a}{",
        ] {
            let expected: &[Part<'_>] = if text.is_empty() { &[] } else { &[Part::Text(text)] };
            assert_eq!(parts(text).unwrap(), expected);
        }
    }

    #[test]
    fn every_placeholder_is_known_by_its_name() {
        for one in Placeholder::ALL {
            let argument = format!("{{{}}}", one.name());
            assert_eq!(parts(&argument).unwrap(), [Part::Placeholder(one)]);
        }
    }
}
