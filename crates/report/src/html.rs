//! The run as one HTML file that opens offline: tables made here, charts drawn from the embedded record.
//!
//! Names, versions and error messages come from servers and study files, so all text is escaped by the template engine,
//! the embedded JSON holds no `<`, and the page's own policy lets no script run but the three embedded ones and
//! nothing be fetched.

mod arms;
mod connects;
mod consequences;
mod costs;
mod figure;
mod method;
mod page;
mod published;
mod ratios;
mod void;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ciphertax_model::record::Run;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::ReportError;
use page::Page;

/// The page.
///
/// # Errors
/// Only if the template and the record do not fit each other, which is a defect of this crate.
pub fn render(run: &Run) -> Result<String, ReportError> {
    let scripts = [
        Script::new(
            include_str!("../assets/d3.LICENSE"),
            include_str!("../assets/d3.min.js"),
        ),
        Script::new(
            include_str!("../assets/plot.LICENSE"),
            include_str!("../assets/plot.umd.min.js"),
        ),
        Script::new("", include_str!("../assets/report.js")),
    ];
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_template(TEMPLATE_NAME, include_str!("../assets/report.html"))?;
    let page = environment.get_template(TEMPLATE_NAME)?.render(context! {
        page => Page::of(run),
        style => Value::from_safe_string(include_str!("../assets/report.css").into()),
        record => Value::from_safe_string(embedded(run)),
        scripts,
    })?;
    Ok(page)
}

/// The name decides that values are escaped for HTML.
const TEMPLATE_NAME: &str = "report.html";

/// A script of ours, with the hash by which the page's policy knows it.
#[derive(Serialize)]
struct Script {
    licence: Value,
    text: Value,
    sha256: String,
}

impl Script {
    fn new(licence: &'static str, text: &'static str) -> Self {
        Self {
            licence: Value::from_safe_string(licence.into()),
            text: Value::from_safe_string(text.into()),
            sha256: BASE64_STANDARD.encode(Sha256::digest(text)),
        }
    }
}

/// The record for a `script` element: without `<`, which JSON has in strings only, nothing in it can end the element.
fn embedded(run: &Run) -> String {
    let record = serde_json::to_string(run).expect("a run holds nothing that JSON cannot");
    record.replace('<', "\\u003c")
}
