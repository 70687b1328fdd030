//! The run as the JSON document that `run.json` and `--json` hold.

use ciphertax_records::{Run, SCHEMA};
use serde::Deserialize;

use crate::ReportError;

/// The run as indented JSON, ending with a newline.
pub fn render(run: &Run) -> String {
    let mut text = serde_json::to_string_pretty(run).expect("a run holds nothing that JSON cannot");
    text.push('\n');
    text
}

/// Reads a run record back.
///
/// # Errors
/// When the record has another version of the format, or is none.
pub fn parse(text: &str) -> Result<Run, ReportError> {
    let Version { schema } = serde_json::from_str(text)?;
    if schema != SCHEMA {
        return Err(ReportError::Schema {
            found: schema,
            expected: SCHEMA,
        });
    }
    Ok(serde_json::from_str(text)?)
}

/// The only part of a record that every version of the format has.
#[derive(Deserialize)]
struct Version {
    schema: String,
}
