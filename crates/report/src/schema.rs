//! The JSON schema of `run.json`, published as `docs/run.schema.json`.

use ciphertax_records::Run;

/// The JSON schema (draft 2020-12) of a run record, generated from the types, ending with a newline.
pub fn run_schema() -> String {
    let schema = schemars::schema_for!(Run);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema holds nothing that JSON cannot");
    text.push('\n');
    text
}
