//! What all pages have in common: their head, how figures are written, and the record that they carry.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{RELEASE, change};
use crate::ReportError;

/// Templates that those of pages use.
const PARTS: [(&str, &str); 2] = [
    ("figures.html", include_str!("../../assets/figures.html")),
    ("head.html", include_str!("../../assets/head.html")),
];

/// A kind of page.
pub(super) struct Template {
    /// It decides that values are escaped for HTML.
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) style: &'static str,
    /// The page's own policy knows it by its hash; empty for a page that has none.
    pub(super) script: &'static str,
}

impl Template {
    /// The page, with the record that it is of.
    ///
    /// # Errors
    /// Only if the template and the page do not fit each other, which is a defect of this crate.
    pub(super) fn render(
        &self,
        page: impl Serialize,
        record: &impl Serialize,
    ) -> Result<String, ReportError> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.add_filter("figures", |text: String| change::figures(&text));
        for (name, source) in PARTS {
            environment.add_template(name, source)?;
        }
        environment.add_template(self.name, self.source)?;
        let page = environment.get_template(self.name)?.render(context! {
            page => page,
            style => Value::from_safe_string(self.style.into()),
            script => Value::from_safe_string(self.script.into()),
            script_sha256 => BASE64_STANDARD.encode(Sha256::digest(self.script)),
            release => RELEASE,
            record => Value::from_safe_string(embedded(record)),
        })?;
        Ok(page)
    }
}

/// The record for a `script` element: without `<`, which JSON has in strings only, nothing in it can end the element.
fn embedded(record: &impl Serialize) -> String {
    let record = serde_json::to_string(record).expect("a record holds nothing that JSON cannot");
    record.replace('<', "\\u003c")
}
