//! Runs, comparisons, gates, connections and machines as the JSON documents that `--json` prints.

use serde::Serialize;

/// A record as indented JSON, ending with a newline; [`SCHEMAS`](crate::schema::SCHEMAS) describe them.
///
/// # Panics
/// If it holds a map whose keys are no texts, which no record does.
pub fn render(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("a record holds nothing that JSON cannot");
    text.push('\n');
    text
}
