//! The published JSON schemas are those of the code.

use std::path::Path;

use ciphertax_report::schema::schemas;

#[test]
fn the_published_schemas_are_those_of_the_types() {
    for (file, schema) in schemas() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs")
            .join(file);
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &schema).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == schema,
            "docs/{file} differs from the types of ciphertax_records; if the change is meant, rewrite it: \
             UPDATE_SCHEMA=1 cargo test -p ciphertax-report --test schema"
        );
    }
}
