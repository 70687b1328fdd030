//! `run.json` is read back as it was written.

use ciphertax_records::{FormatError, Run};
use ciphertax_report::json;

use crate::fixture;

#[test]
fn a_run_survives_the_way_to_json_and_back() {
    let run = fixture::run();
    assert_eq!(Run::from_json(&json::render(&run)).unwrap(), run);
}

#[test]
fn another_version_is_refused_by_its_name_with_the_remedy_even_when_its_shape_is_unknown() {
    let error = Run::from_json(r#"{"schema": "ciphertax.run/9", "new": true}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it has the format \"ciphertax.run/9\", and this release reads \"ciphertax.run/3\"; use the release of ciphertax that \
         wrote it"
    );
}

#[test]
fn text_that_is_no_record_is_refused() {
    for text in ["not json", r#"{"schema": "ciphertax.run/3"}"#] {
        assert!(matches!(Run::from_json(text).unwrap_err(), FormatError::Json(_)));
    }
}
