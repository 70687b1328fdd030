//! `run.json` is read back as it was written.

mod fixture;

use ciphertax_report::{ReportError, json};

#[test]
fn a_run_survives_the_way_to_json_and_back() {
    let run = fixture::run();
    assert_eq!(json::parse(&json::render(&run)).unwrap(), run);
}

#[test]
fn another_version_of_the_format_is_refused_by_name() {
    let text = json::render(&fixture::run()).replacen("ciphertax.run/2", "ciphertax.run/1", 1);
    let error = json::parse(&text).unwrap_err();
    assert!(matches!(error, ReportError::Schema { .. }));
    assert_eq!(
        error.to_string(),
        "run.json has the format \"ciphertax.run/1\", this release reads \"ciphertax.run/2\": \
         use the release that wrote it"
    );
}

#[test]
fn another_version_is_named_even_when_its_shape_is_unknown() {
    let error = json::parse(r#"{"schema": "ciphertax.run/9", "new": true}"#).unwrap_err();
    assert!(matches!(error, ReportError::Schema { .. }));
}

#[test]
fn text_that_is_no_record_is_refused() {
    assert!(matches!(
        json::parse("not json").unwrap_err(),
        ReportError::Json(_)
    ));
    assert!(matches!(
        json::parse(r#"{"schema": "ciphertax.run/2"}"#).unwrap_err(),
        ReportError::Json(_)
    ));
}
