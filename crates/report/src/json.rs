//! Runs, comparisons, gates, connections and machines as the JSON documents that `--json` prints, and their schemas (draft 2020-12).

use ciphertax_records::{Comparison, ConnectionRecord, DoctorRecord, DryRun, Gate, Run};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;

/// A record as indented JSON, ending with a newline; [`SCHEMAS`] describe them.
///
/// # Panics
/// If it holds a map whose keys are no texts, which no record does.
pub fn render(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("a record holds nothing that JSON cannot");
    text.push('\n');
    text
}

/// The schema of one kind of document.
pub struct Schema {
    /// Its name.
    pub name: &'static str,
    /// The documents it describes, as the end of a sentence.
    pub describes: &'static str,
    text: fn() -> String,
}

/// All schemas.
pub const SCHEMAS: [Schema; 6] = [
    of::<Run>("run", "run.json, which quick, run and report print with --json"),
    of::<Comparison>("comparison", "what compare prints with --json"),
    of::<Gate>("gate", "what gate prints with --json"),
    of::<ConnectionRecord>("connection", "what connect prints with --json"),
    of::<DoctorRecord>("doctor", "what doctor prints with --json"),
    of::<DryRun>("dry-run", "what quick and run print with --dry-run --json"),
];

/// The schema of this name.
pub fn schema(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.name == name)
}

impl Schema {
    /// The schema as indented JSON, generated from the type of the documents, ending with a newline.
    pub fn text(&self) -> String {
        (self.text)()
    }
}

const fn of<T: JsonSchema>(name: &'static str, describes: &'static str) -> Schema {
    Schema {
        name,
        describes,
        text: || render(&schema_for!(T)),
    }
}
