//! The run as one HTML file that opens offline: tables and charts are made here and need no script; one script moves
//! the rates of the capacity tables.
//!
//! Names, versions and error messages come from servers and study files, so all text is escaped by the template engine,
//! the embedded JSON holds no `<`, and the page's own policy lets no script run but that one and nothing be fetched.

mod answer;
mod capacity;
mod change;
mod churn;
mod churn_chart;
mod connects;
mod costs;
mod figure;
mod findings;
mod forest;
mod method;
mod noise;
mod page;
mod proofs;
mod published;
mod readable;
mod scale;
mod verdict;
mod void;
mod why;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ciphertax_records::Run;
use ciphertax_records::why::Pictures;
use minijinja::{Environment, Value, context};
use sha2::{Digest, Sha256};

use crate::ReportError;
use page::Page;

/// The page.
///
/// # Errors
/// Only if the template and the record do not fit each other, which is a defect of this crate.
pub fn render(run: &Run) -> Result<String, ReportError> {
    render_with(run, &Pictures::default())
}

/// The page with pictures of what is not in the record itself.
///
/// # Errors
/// As [`render`].
pub fn render_with(run: &Run, pictures: &Pictures) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_template(TEMPLATE_NAME, include_str!("../assets/report.html"))?;
    let page = environment.get_template(TEMPLATE_NAME)?.render(context! {
        page => Page::of(run, pictures),
        style => Value::from_safe_string(include_str!("../assets/report.css").into()),
        script => Value::from_safe_string(SCRIPT.into()),
        script_sha256 => BASE64_STANDARD.encode(Sha256::digest(SCRIPT)),
        release => RELEASE,
        record => Value::from_safe_string(embedded(run)),
    })?;
    Ok(page)
}

/// The script of the page, by whose hash the page's policy knows it.
const SCRIPT: &str = concat!(
    include_str!("../assets/report.js"),
    include_str!("../assets/flame.js")
);

/// The release that makes pages.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Which release made a page, by its own word; empty where it does not say, `None` if it is no report of ciphertax.
pub fn release_of(page: &str) -> Option<&str> {
    let (_, generator) = page.split_once(r#"<meta name="generator" content="ciphertax"#)?;
    Some(generator.split_once('"')?.0.trim())
}

/// The name decides that values are escaped for HTML.
const TEMPLATE_NAME: &str = "report.html";

/// The record for a `script` element: without `<`, which JSON has in strings only, nothing in it can end the element.
fn embedded(run: &Run) -> String {
    let record = serde_json::to_string(run).expect("a run holds nothing that JSON cannot");
    record.replace('<', "\\u003c")
}
