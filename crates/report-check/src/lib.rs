//! For tests alone: opens an HTML report in headless Chromium and compares what a reader sees with the record.
//!
//! It knows the record and the page, not the code that makes one from the other, so that both cannot be wrong in the
//! same way.

mod browser;
mod charts;
mod figures;
mod sliders;

use std::path::Path;

use ciphertax_records::{ArmRecord, ArmRole, Run};
use serde::Deserialize;

use browser::{Broken, Browser, LOOKS, Look, look_anew_if_it_breaks};

/// Opens the report on a desktop, on a phone, in dark colours, on paper and without scripts, and checks each time that
/// every figure equals the record, that every chart is drawn in full with labels that do not collide, that nothing is
/// fetched, that nothing is wider than the screen and that the console stays empty; that the page is not too long on a
/// desktop and leaves no pages half empty on paper; that its sliders give
/// the cores of the rate they show, and that every chart can be saved as an SVG file of its own.
///
/// # Errors
/// Everything found wrong, one line each; or that Chromium cannot be started, with the remedy.
pub fn check_report(html: &Path, run: &Run) -> Result<(), String> {
    look_anew_if_it_breaks(|| look_at_report(html, run))
}

fn look_at_report(html: &Path, run: &Run) -> Result<(), Broken> {
    let mut browser = Browser::start()?;
    let mut faults = Vec::new();
    for (name, look) in LOOKS {
        browser.open(html, look)?;
        let shown: Shown = browser.read(include_str!("collect.js"))?;
        let mut found = shown.faults(run, look);
        if look == Look::Paper {
            found.extend(half_empty_pages(&browser.pdf()?, shown.height));
        }
        if look.runs_scripts() {
            found.extend(sliders::faults(&mut browser, run)?);
            let saved: Vec<String> = browser.read(include_str!("svg.js"))?;
            found.extend(saved);
        }
        found.extend(browser.faults());
        faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Broken::Faults(faults.join("\n"))),
    }
}

/// Where a page cannot break, the rest of it stays empty: all of that together may be little more than a page.
fn half_empty_pages(pdf: &[u8], height: f64) -> Option<String> {
    /// The height of A4 in CSS pixels, without its margins.
    const PAGE: f64 = 1_017.0;
    const MARK: &[u8] = b"/Type /Page";
    let is_page = |at: &&[u8]| at.starts_with(MARK) && at.get(MARK.len()) != Some(&b's');
    let pages = (0..pdf.len()).map(|at| &pdf[at..]).filter(is_page).count();
    let filled = height / PAGE;
    (pages == 0 || pages as f64 > filled + 1.7).then(|| format!("{pages} pages hold what fills {filled:.1}"))
}

/// How long the page may be on a desktop before anything is unfolded.
const TALLEST: f64 = 6_000.0;

/// What the page shows, as `collect.js` reads it from the document.
#[derive(Deserialize)]
struct Shown {
    /// In CSS pixels, before anything is unfolded.
    height: f64,
    verdict: String,
    width: f64,
    record: String,
    numbers: Vec<figures::Number>,
    changes: Vec<figures::Change>,
    charts: Vec<charts::Chart>,
}

impl Shown {
    fn faults(&self, run: &Run, look: Look) -> Vec<String> {
        let mut faults = Vec::new();
        if self.verdict != run.results.verdict {
            faults.push(format!(
                "the verdict reads {:?}, not {:?}",
                self.verdict, run.results.verdict
            ));
        }
        match serde_json::from_str::<Run>(&self.record) {
            Ok(record) if record == *run => {}
            Ok(_) => faults.push("the embedded record is not the run".into()),
            Err(error) => faults.push(format!("the embedded record cannot be read: {error}")),
        }
        let width = look.size()[0];
        if self.width > f64::from(width) {
            faults.push(format!(
                "the page is {} px wide on a screen of {width}",
                self.width
            ));
        }
        if look.is_desktop() && self.height > TALLEST {
            faults.push(format!(
                "the page is {} px long, not {TALLEST} at most",
                self.height
            ));
        }
        faults.extend(figures::faults(&self.numbers, &self.changes, run));
        faults.extend(charts::faults(&self.charts, run));
        faults
    }
}

/// True for the baseline's repetition, whose connects and disks are not shown.
fn is_again(run: &Run, arm: &str) -> bool {
    let is_it = |found: &ArmRecord| found.name == arm && found.role == ArmRole::BaselineAgain;
    run.head.arms.iter().any(is_it)
}

/// The name that the record gives a metric, a side or a verdict.
fn as_json(value: impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
