//! `run.json` is read back as it was written.

mod fixture;

use ciphertax_records::{FormatError, Run};
use ciphertax_report::json;

#[test]
fn a_run_survives_the_way_to_json_and_back() {
    let run = fixture::run();
    assert_eq!(Run::from_json(&json::render(&run)).unwrap(), run);
}

#[test]
fn the_release_before_is_read_and_others_are_refused_by_name() {
    let run = fixture::run();
    let text = |schema| json::render(&run).replacen("ciphertax.run/3", schema, 1);
    assert_eq!(Run::from_json(&text("ciphertax.run/2")).unwrap(), run);
    let error = Run::from_json(&text("ciphertax.run/1")).unwrap_err();
    assert!(matches!(error, FormatError::Schema { .. }));
    assert_eq!(
        error.to_string(),
        "it has the format \"ciphertax.run/1\"; this version reads ciphertax.run/3 and ciphertax.run/2"
    );
}

#[test]
fn another_version_is_named_even_when_its_shape_is_unknown() {
    let error = Run::from_json(r#"{"schema": "ciphertax.run/9", "new": true}"#).unwrap_err();
    assert!(matches!(error, FormatError::Schema { .. }));
}

#[test]
fn text_that_is_no_record_is_refused() {
    for text in ["not json", r#"{"schema": "ciphertax.run/3"}"#] {
        assert!(matches!(Run::from_json(text).unwrap_err(), FormatError::Json(_)));
    }
}
