//! What a MongoDB server says of itself: a document of JSON a line.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::log::read_from;

/// The number of the message `Waiting for connections`.
const READY: u32 = 23_016;

/// How much of the end of the log is looked at for a message, and how much of it goes there: lines, and characters of
/// each.
const TAIL_BYTES: u64 = 64 << 10;
const TAIL_LINES: usize = 4;
const LONGEST_LINE: usize = 400;

/// A line of the log, as far as it is read.
#[derive(Deserialize)]
struct Line {
    /// `F`, `E`, `W`, `I` or `D` and a number.
    s: String,
    id: u32,
    msg: String,
    #[serde(default)]
    attr: Map<String, Value>,
}

/// True if there is the message by which a server says that it takes connections.
pub(super) fn is_ready(log: &str) -> bool {
    lines(log).any(|line| line.id == READY)
}

/// The last complaints, in one line; where there are none, the last messages.
pub(super) fn complaints(log: &Path) -> String {
    let length = fs::metadata(log).map_or(0, |metadata| metadata.len());
    let text = read_from(log, length.saturating_sub(TAIL_BYTES));
    let serious: Vec<String> = text.lines().filter_map(complaint).collect();
    let chosen = if serious.is_empty() {
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .map(message)
            .collect()
    } else {
        serious
    };
    match chosen.len() {
        0 => "nothing".into(),
        count => chosen[count.saturating_sub(TAIL_LINES)..].join(" | "),
    }
}

/// An error of the server, or whatever is no message of its own, such as the loader's.
fn complaint(line: &str) -> Option<String> {
    let serious = match parse(line) {
        Some(parsed) => matches!(parsed.s.as_str(), "F" | "E"),
        None => !line.trim().is_empty(),
    };
    serious.then(|| message(line))
}

/// The words of a line, and what they are about.
fn message(line: &str) -> String {
    let text = match parse(line) {
        Some(Line { msg, attr, .. }) if attr.is_empty() => msg,
        Some(Line { msg, attr, .. }) => format!("{msg}: {}", Value::Object(attr)),
        None => line.trim().to_owned(),
    };
    text.chars().take(LONGEST_LINE).collect()
}

fn lines(text: &str) -> impl Iterator<Item = Line> + '_ {
    text.lines().filter_map(parse)
}

fn parse(line: &str) -> Option<Line> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str =
        r#"{"s":"E", "id":23248, "msg":"Cannot read certificate file","attr":{"error":"ee key too small"}}"#;
    const WORD: &str =
        r#"{"s":"I", "c":"CONTROL", "id":23138, "ctx":"main","msg":"Shutting down","attr":{"exitCode":1}}"#;

    #[test]
    fn complaints_come_before_all_else() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(complaints(&log), "nothing");
        fs::write(&log, format!("{WORD}\n{WORD}\n")).unwrap();
        assert_eq!(
            complaints(&log),
            r#"Shutting down: {"exitCode":1} | Shutting down: {"exitCode":1}"#
        );
        fs::write(&log, format!("{ERROR}\n{WORD}\n")).unwrap();
        assert_eq!(
            complaints(&log),
            r#"Cannot read certificate file: {"error":"ee key too small"}"#
        );
    }

    #[test]
    fn what_the_loader_says_is_a_complaint() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let words =
            "mongod: error while loading shared libraries: libcurl.so.4: cannot open shared object file";
        fs::write(&log, words).unwrap();
        assert_eq!(complaints(&log), words);
    }
}
