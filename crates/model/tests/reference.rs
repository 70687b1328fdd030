//! `docs/study-files.md` says every key and every name that a study file may hold.

use std::collections::BTreeSet;
use std::path::Path;

use ciphertax_model::{
    AtRest, Authentication, Dataset, Load, Pgbench, Precision, SqlCipher, Storage, Study, Tpcc, YcsbTable,
};
use serde_json::Value;

#[test]
fn the_reference_mentions_every_key_and_every_name() {
    let reference = reference();
    let mut words = BTreeSet::new();
    collect(&schemars::schema_for!(Study).to_value(), &mut words);
    let holds = words.contains("connections") && words.contains("rsa-4096");
    assert!(holds, "{words:?}");
    let is_mentioned = |word: &&String| {
        let forms = [format!("`{word}`"), format!("`\"{word}\"`"), format!("{word} =")];
        forms.iter().any(|form| reference.contains(form))
    };
    let missing: Vec<&String> = words.iter().filter(|word| !is_mentioned(word)).collect();
    let holds = missing.is_empty();
    assert!(holds, "docs/study-files.md does not mention {missing:?}");
}

#[test]
fn the_reference_says_between_what_numbers_may_lie() {
    let reference = reference();
    let whole = |range: std::ops::RangeInclusive<u32>| (f64::from(*range.start()), f64::from(*range.end()));
    let small = |range: std::ops::RangeInclusive<u8>| (f64::from(*range.start()), f64::from(*range.end()));
    for (key, (least, most)) in [
        ("time_s", Study::TIME_S.into_inner()),
        ("slice_s", Study::SLICE_S.into_inner()),
        ("cpu", Precision::HALF_WIDTH.into_inner()),
        ("throughput", Precision::HALF_WIDTH.into_inner()),
        ("connections", whole(Load::CONNECTIONS)),
        ("poll_delay_us", whole(Load::POLL_DELAY_US)),
        ("rate", whole(Load::RATE)),
        ("tables", (1.0, Dataset::MOST_TABLES.into())),
        ("table_size", (1.0, Dataset::MOST_ROWS.into())),
        ("record_count", (1.0, Dataset::MOST_ROWS.into())),
        ("field_count", (1.0, YcsbTable::MOST_FIELDS.into())),
        ("field_length", (1.0, YcsbTable::LONGEST_FIELD.into())),
        ("batch_size", (1.0, YcsbTable::LARGEST_BATCH.into())),
        ("load_threads", (1.0, YcsbTable::MOST_LOADERS.into())),
        ("scale", (1.0, Pgbench::MOST_BRANCHES.into())),
        ("warehouses", whole(Tpcc::WAREHOUSES)),
        ("load_workers", whole(Tpcc::LOAD_WORKERS)),
        ("pacing", Tpcc::PACING.into_inner()),
        ("scram_iterations", whole(Authentication::SCRAM_ITERATIONS)),
        ("memory_mb", whole(Storage::MEMORY_MB)),
        ("sync_binlog", whole(Storage::SYNC_BINLOG)),
        ("flush_log_at_trx_commit", small(Storage::FLUSH_LOG_AT_TRX_COMMIT)),
        ("kdf_iter", whole(SqlCipher::KDF_ITER)),
        ("page_size", whole(SqlCipher::PAGE_SIZE)),
        ("encryption_threads", small(AtRest::ENCRYPTION_THREADS)),
    ] {
        let range = format!("{} – {}", grouped(least), grouped(most));
        // A key may be there in several tables.
        let mut rows = reference
            .lines()
            .filter(|line| line.starts_with(&format!("| `{key}` |")));
        assert!(rows.any(|row| row.contains(&range)), "{key}: {range}");
    }
}

/// A number with a comma between its thousands.
fn grouped(number: f64) -> String {
    let text = number.to_string();
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text.as_str(), ""), |_| text.split_at(1));
    let groups: Vec<&str> = whole
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",") + fraction
}

#[test]
fn the_reference_begins_with_a_good_study_and_has_a_scale_of_it() {
    let reference = reference();
    let study = format!(
        "{}\n{}",
        example(&reference, "name ="),
        example(&reference, "[scale.")
    );
    let text = ciphertax_model::StudyText::new("study-files.md", &study);
    assert_eq!(text.study().unwrap().cells.len(), 1);
    let published = text.scale(Some("published")).study().unwrap();
    let connections: Vec<u32> = published.cells.iter().map(|cell| cell.load.connections).collect();
    assert_eq!(connections, [64, 20]);
}

#[test]
fn the_tunnel_that_the_reference_shows_is_an_arm_at_a_distance() {
    let reference = reference();
    let tunnel = example(&reference, "link =");
    let (link, arm) = tunnel.split_once("\n\n").unwrap();
    let study = format!("{link}\n{}\n{arm}", example(&reference, "name ="));
    let study = Study::from_toml(&study).unwrap();
    assert!(study.link.is_some() && study.arms.iter().any(|arm| arm.tunnel.is_some()));
}

#[test]
fn the_pooler_that_the_reference_shows_is_an_arm() {
    let reference = reference();
    let arm = example(&reference, "[[arm]]\nname = \"pooled\"");
    let study = format!("{}\n{arm}", example(&reference, "name ="));
    let study = Study::from_toml(&study).unwrap();
    let pooler = study.arms[2].pooler.unwrap();
    let found = pooler.to_string();
    assert_eq!(found, "pgbouncer, transaction pooling, TLSv1.3 behind it");
}

#[test]
fn the_encryption_at_rest_that_the_reference_shows_is_an_arm() {
    let reference = reference();
    let arm = example(&reference, "[[arm]]\nname = \"at rest\"");
    let study = format!("{}\n{arm}", example(&reference, "name ="));
    let study = Study::from_toml(&study).unwrap();
    assert_eq!(study.arms[2].at_rest.to_string(), "tables, redo_log by AES-CTR");
}

#[test]
fn the_encrypted_file_that_the_reference_shows_is_an_arm() {
    let reference = reference();
    let arm = example(&reference, "[[arm]]\nname = \"sqlcipher\"");
    let study = format!("{}\n{arm}", example(&reference, "name ="));
    let study = Study::from_toml(&study).unwrap();
    let expected = "SQLCipher, kdf_iter = 4000, without HMAC";
    assert_eq!(study.arms[2].at_rest.to_string(), expected);
}

#[test]
fn the_encrypted_columns_that_the_reference_shows_are_an_arm() {
    let reference = reference();
    let arm = example(&reference, "[[arm]]\nname = \"half in results\"");
    let study = example(&reference, "name =").replace("oltp_point_select", "tpcc");
    let study = Study::from_toml(&format!("{study}\n{arm}")).unwrap();
    let columns = study.arms[2].columns.as_ref().unwrap();
    let expected = "sm4_gcm, base64, in results: half of the columns";
    assert_eq!(columns.to_string(), expected);
}

#[test]
fn the_programs_that_the_reference_shows_are_cells() {
    let reference = reference();
    // No program can be held to a group.
    let arms = example(&reference, "name =").replace("tls = {", "# tls = {");
    let study = format!("{arms}\n{}", example(&reference, "[[cell]]\nname = \"suite\""));
    let study = Study::from_toml(&study).unwrap();
    let commands = study.cells.iter().filter(|cell| cell.command.is_some());
    assert_eq!(commands.count(), 3);
}

/// The first example that begins with these words.
fn example<'a>(reference: &'a str, beginning: &str) -> &'a str {
    let mut examples = reference.split("```toml\n").skip(1);
    let example = examples.find(|example| example.starts_with(beginning)).unwrap();
    example.split("```").next().unwrap()
}

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study-files.md");
    std::fs::read_to_string(path).unwrap()
}

/// All keys, and all names a key can have as its value.
fn collect(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Array(schemas) => schemas.iter().for_each(|schema| collect(schema, words)),
        Value::Object(schema) => {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                words.extend(properties.keys().cloned());
            }
            let names = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
            let names = names.chain(schema.get("const")).filter_map(Value::as_str);
            words.extend(names.map(str::to_owned));
            schema.values().for_each(|schema| collect(schema, words));
        }
        _ => {}
    }
}
