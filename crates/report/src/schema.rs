//! The JSON schemas of what ciphertax prints as JSON, published in `docs`.

use ciphertax_records::{Comparison, ConnectionRecord, DoctorRecord, DryRun, Gate, Run};
use schemars::JsonSchema;

/// The names of the files in `docs`, and the JSON schemas (draft 2020-12) they hold, generated from the types, each ending with a
/// newline.
pub fn schemas() -> [(&'static str, String); 6] {
    [
        ("run.schema.json", schema_of::<Run>()),
        ("comparison.schema.json", schema_of::<Comparison>()),
        ("gate.schema.json", schema_of::<Gate>()),
        ("connection.schema.json", schema_of::<ConnectionRecord>()),
        ("doctor.schema.json", schema_of::<DoctorRecord>()),
        ("dry-run.schema.json", schema_of::<DryRun>()),
    ]
}

fn schema_of<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema holds nothing that JSON cannot");
    text.push('\n');
    text
}
