//! What is wrong in a study, with its place and the name that was meant.

use std::cmp::Reverse;
use std::error::Error;
use std::fmt;

/// Everything that is wrong with a study, in the order of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyError {
    study: String,
    problems: Vec<StudyProblem>,
}

/// One thing that is wrong with a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyProblem {
    /// Where.
    pub position: Position,
    /// What is wrong, and what is expected instead.
    pub message: String,
}

/// Where something is wrong with a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// In its text.
    Text {
        /// The text's name, in general its file's.
        file: String,
        /// Line, the first is 1.
        line: usize,
        /// Column in characters, the first is 1.
        column: usize,
    },
    /// In a setting `key=value` that changes the text.
    Setting(String),
    /// In the study as a whole, by its name.
    Study(String),
}

impl StudyError {
    /// `problems` of the study `study`, of which there is at least one.
    pub(crate) fn new(study: impl Into<String>, problems: Vec<StudyProblem>) -> Self {
        debug_assert!(!problems.is_empty());
        Self {
            study: study.into(),
            problems,
        }
    }

    /// What is wrong.
    pub fn problems(&self) -> &[StudyProblem] {
        &self.problems
    }
}

impl Error for StudyError {}

/// A single problem as itself; more as a heading and a line for each.
impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = &self.problems[..] {
            return problem.fmt(f);
        }
        write!(f, "{} problems in {}", self.problems.len(), self.study)?;
        self.problems
            .iter()
            .try_for_each(|problem| write!(f, "\n{problem}"))
    }
}

/// `study.toml:12:13: what is wrong`, as compilers say it.
impl fmt::Display for StudyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Setting(setting) => write!(f, "--set {setting}"),
            Self::Study(study) => f.write_str(study),
        }
    }
}

/// Names longer than this are no slip of the finger, and not worth comparing.
const LONGEST: usize = 64;

/// The known name most like `name`, if one is so like it that it was probably meant: it begins with it or holds it, or
/// differs in at most one letter of three (Damerau–Levenshtein, upper and lower case alike). Of equals, the last.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |other: &str| {
        let other = other.to_lowercase();
        match length {
            3.. if other.starts_with(&name) => 0,
            4.. if other.contains(&name) => 1,
            _ => strsim::damerau_levenshtein(&name, &other),
        }
    };
    known
        .into_iter()
        .map(|other| (distance(other), other))
        .filter(|(distance, _)| *distance <= (length / 3).max(1))
        .max_by_key(|(distance, _)| Reverse(*distance))
        .map(|(_, other)| other)
}

/// What to say of a name that none of the known ones is: the nearest, and all of them.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
    let near = near.unwrap_or_else(|| ".".to_owned());
    format!("unknown {what} {name:?}{near} Known are {}", known.join(", "))
}

/// What to say after an unknown name: the nearest known one, or all of them.
pub(crate) fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if known.is_empty() => String::new(),
        None => format!("; known are {}", list(known)),
    }
}

/// `"a", "b", "c"`
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

/// What the release before had and this one has not; the list is emptied with the next release. Commands, options,
/// keys of studies and their values by name, with what to use instead.
const REMOVED: [(&str, &str); 10] = [
    ("--verify", "give --set ycsb.verify=true"),
    ("gather_us", "it is poll_delay_us now"),
    (
        "history",
        "compare two or more runs with ciphertax compare; for a series, export each run with --export run.csv (see \
         docs/methodology-statistics.md)",
    ),
    ("gocryptfs-plaintextnames", "take gocryptfs"),
    (
        "link_by",
        "a link delays every packet now, also for an ordinary user in namespaces of their own (see docs/study-files.md)",
    ),
    (
        "pgbouncer",
        "a pooler is { program = \"pgbouncer\", pool_mode = \"session\" or \"transaction\" } now",
    ),
    ("shardingsphere_aes", "take aead_cbc_hmac"),
    (
        "speedscope",
        "take --format collapsed for CPU time, which speedscope opens too; stacks of waits are in the report alone",
    ),
    ("tidb", "give the URL of a TiDB of your own"),
    ("wireguard", "take the tunnel ssh, stunnel or haproxy"),
];

/// What to say of a name that was removed; `None` for every other one.
pub fn removed(name: &str) -> Option<String> {
    let (_, instead) = REMOVED.iter().find(|(removed, _)| *removed == name)?;
    Some(format!("{name} was removed: {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["time_s", "slice_s", "P-384", "mysql-tls-library"];

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        for (slip, meant) in [
            ("tiem_s", "time_s"),
            ("time", "time_s"),
            ("slices", "slice_s"),
            ("p-348", "P-384"),
            ("mysql-tls-libary", "mysql-tls-library"),
            ("library", "mysql-tls-library"),
            ("mysql-tls", "mysql-tls-library"),
        ] {
            assert_eq!(nearest(slip, KNOWN), Some(meant), "{slip}");
        }
    }

    #[test]
    fn another_word_finds_nothing() {
        for word in ["", "u", "duration", "P-521x9", &"time_s".repeat(1000)] {
            assert_eq!(nearest(word, KNOWN), None, "{word}");
        }
    }
}
