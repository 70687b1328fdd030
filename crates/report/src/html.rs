//! The run as one HTML file that opens offline: tables and charts are made here and need no script; one script moves
//! the rates of the capacity tables, finds functions in flame graphs, and saves charts as SVG files.
//!
//! Names, versions and error messages come from servers and study files, so all text is escaped by the template engine,
//! the embedded JSON holds no `<`, and the page's own policy lets no script run but that one and nothing be fetched.

mod answer;
mod capacity;
mod change;
mod churn_chart;
mod compare;
mod connects;
mod costs;
mod figure;
mod findings;
mod forest;
mod method;
mod noise;
mod page;
mod proofs;
mod readable;
mod scale;
mod template;
mod why;

use ciphertax_estimate::{flame, looking};
use ciphertax_records::why::Pictures;
use ciphertax_records::{Recorded, Run};

use crate::ReportError;
use page::Page;
use template::Template;

pub use compare::compare;

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
    TEMPLATE.render(Page::of(run, pictures), run)
}

/// What the page shows of a run besides the record.
///
/// # Errors
/// When its samples or looks are damaged.
pub fn pictures(recorded: &Recorded) -> Result<Pictures, ReportError> {
    Ok(Pictures {
        flames: flame::flames(&recorded.head, &recorded.samples, &recorded.looks()?)?,
        courses: looking::courses(&recorded.samples)?,
    })
}

const TEMPLATE: Template = Template {
    name: "report.html",
    source: include_str!("../assets/report.html"),
    style: include_str!("../assets/report.css"),
    script: concat!(
        include_str!("../assets/report.js"),
        include_str!("../assets/flame.js"),
        include_str!("../assets/svg.js")
    ),
};

/// The release that makes pages.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Which release made a page, by its own word; `None` if it is no report of ciphertax.
pub fn release_of(page: &str) -> Option<&str> {
    let (_, release) = page.split_once(r#"<meta name="generator" content="ciphertax "#)?;
    Some(release.split_once('"')?.0)
}
