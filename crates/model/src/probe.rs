//! What is changed about a server while the slices of one arm run, to see whether it is what bounds them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is changed about the server while the slices of one arm run, and is again as it was between them. It says either
/// `variable` and `value`, or `cpus`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// A global variable of the server that can be set while it runs, by the server's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// What it is set to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ProbeValue>,
    /// How many CPUs the server's threads may run on, which are fewer than they have otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u16>,
}

/// What a variable is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProbeValue {
    /// A whole number.
    Whole(i64),
    /// Text, such as `OFF`.
    Text(String),
}

/// What a probe changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Perturbation<'a> {
    /// A global variable of the server.
    Variable(&'a str, &'a ProbeValue),
    /// How many CPUs its threads may run on.
    Cpus(u16),
}

impl Probe {
    /// The longest name of a variable and the longest text of a value, in characters.
    pub const LONGEST: usize = 64;

    /// The probe that sets a variable.
    pub fn variable(name: impl Into<String>, value: ProbeValue) -> Self {
        Self {
            variable: Some(name.into()),
            value: Some(value),
            cpus: None,
        }
    }

    /// The probe that leaves the server so many CPUs.
    pub fn cpus(count: u16) -> Self {
        Self {
            cpus: Some(count),
            ..Self::default()
        }
    }

    /// What it changes; `None` only where it says nothing or too much, which no validated study does.
    pub fn perturbation(&self) -> Option<Perturbation<'_>> {
        match (&self.variable, &self.value, self.cpus) {
            (Some(name), Some(value), None) => Some(Perturbation::Variable(name, value)),
            (None, None, Some(cpus)) => Some(Perturbation::Cpus(cpus)),
            _ => None,
        }
    }

    /// True for letters, digits and underscores after a letter: what is put into a statement as it is.
    pub fn is_name(text: &str) -> bool {
        let mut characters = text.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
            && text.len() <= Self::LONGEST
    }

    /// True for text that no server can read as anything but text between quotes.
    pub fn is_plain(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:/ ".contains(c);
        text.len() <= Self::LONGEST && text.chars().all(is_plain)
    }
}

/// `sync_binlog = 0`, `server on 1 CPU`: what is changed.
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.perturbation() {
            Some(Perturbation::Variable(name, value)) => write!(f, "{name} = {value}"),
            Some(Perturbation::Cpus(1)) => f.write_str("server on 1 CPU"),
            Some(Perturbation::Cpus(count)) => write!(f, "server on {count} CPUs"),
            None => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for ProbeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_says_what_it_changes() {
        let whole = Probe::variable("sync_binlog", ProbeValue::Whole(0));
        let text = Probe::variable("innodb_adaptive_hash_index", ProbeValue::Text("OFF".into()));
        for (probe, words) in [
            (whole, "sync_binlog = 0"),
            (text, "innodb_adaptive_hash_index = OFF"),
            (Probe::cpus(1), "server on 1 CPU"),
            (Probe::cpus(3), "server on 3 CPUs"),
        ] {
            assert_eq!(probe.to_string(), words);
        }
        assert_eq!(Probe::default().perturbation(), None);
    }

    #[test]
    fn what_a_statement_would_read_as_more_than_a_name_or_a_text_is_neither() {
        assert!(Probe::is_name("sync_binlog") && Probe::is_name("wiredTigerEngineRuntimeConfig"));
        for name in [
            "",
            "1x",
            "_x",
            "a b",
            "a;b",
            "a.b",
            "a`",
            "a'",
            "ä",
            "a\0",
            &"a".repeat(65),
        ] {
            assert!(!Probe::is_name(name), "{name:?}");
        }
        assert!(Probe::is_plain("index_merge=on,mrr=off") && Probe::is_plain(""));
        for text in ["'", "\\", "\"", "a\n", "a;b", "ä", "--`", &"a".repeat(65)] {
            assert!(!Probe::is_plain(text), "{text:?}");
        }
    }
}
