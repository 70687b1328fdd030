//! The run as the JSON document that `run.json` and `--json` hold.

use ciphertax_records::Run;

/// The run as indented JSON, ending with a newline.
pub fn render(run: &Run) -> String {
    let mut text = serde_json::to_string_pretty(run).expect("a run holds nothing that JSON cannot");
    text.push('\n');
    text
}
