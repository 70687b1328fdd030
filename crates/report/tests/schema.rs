//! The published schema and the types say the same.

use std::path::Path;

use ciphertax_report::schema::run_schema;

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, run_schema()).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == run_schema(),
        "docs/run.schema.json differs from the types of ciphertax_records; \
         if the change is meant, rewrite it: UPDATE_SCHEMA=1 cargo test -p ciphertax-report schema"
    );
}
