//! For tests alone: opens an HTML report in headless Chromium and compares what a reader sees with the record.
//!
//! It knows the record and the page, not the code that makes one from the other, so that both cannot be wrong in the
//! same way.

mod browser;
mod charts;
mod figures;
mod sliders;

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ciphertax_records::{ArmRecord, ArmRole, Run};
use flate2::read::ZlibDecoder;
use serde::Deserialize;

use browser::{Broken, Browser, LOOKS, Look, look_anew_if_it_breaks};

/// Opens the report on a desktop, on a phone, in dark colours, on paper and without scripts, and checks each time that
/// every figure equals the record, that every chart is drawn in full with labels that do not collide, that nothing is
/// fetched, that nothing is wider than the screen and that the console stays empty; that no part of it is empty and no
/// row without a name; that the page is not too long on a screen and leaves no pages half empty on paper; that its
/// sliders give the cores of the rate they show, and that every chart can be saved as an SVG file of its own. Without
/// scripts, what is packed is not looked at.
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

/// How long the page may be before anything is unfolded, in CSS pixels.
fn tallest(look: Look) -> f64 {
    match look {
        Look::Phone => 5_000.0,
        Look::Paper => f64::INFINITY,
        Look::Desktop | Look::Dark | Look::WithoutScripts => 2_500.0,
    }
}

/// What the page shows, as `collect.js` reads it from the document.
#[derive(Deserialize)]
struct Shown {
    /// In CSS pixels, before anything is unfolded.
    height: f64,
    verdict: String,
    width: f64,
    record: String,
    /// Parts that no script has unpacked.
    packed: usize,
    /// Parts with nothing in them, and rows with nothing in their first cell, by where they are.
    empty: Vec<String>,
    nameless: Vec<String>,
    marks: Vec<figures::Mark>,
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
        match unpacked(&self.record).and_then(|record| Ok(Run::from_json(&record)?)) {
            Ok(record) if record == *run => {}
            Ok(_) => faults.push("the embedded record is not the run".into()),
            Err(problem) => faults.push(format!("the embedded record cannot be read: {problem}")),
        }
        let is_whole = self.packed == 0;
        if !is_whole && look != Look::WithoutScripts {
            faults.push(format!("{} parts stay packed", self.packed));
        }
        faults.extend(self.empty.iter().map(|part| format!("{part} has an empty part")));
        faults.extend(
            self.nameless
                .iter()
                .map(|part| format!("{part} has a row without a name")),
        );
        let width = look.size()[0];
        if self.width > f64::from(width) {
            faults.push(format!(
                "the page is {} px wide on a screen of {width}",
                self.width
            ));
        }
        if self.height > tallest(look) {
            let (height, tallest) = (self.height, tallest(look));
            faults.push(format!("the page is {height} px long, not {tallest} at most"));
        }
        faults.extend(figures::faults(&self.numbers, &self.changes, run));
        faults.extend(self.marks.iter().filter_map(|mark| mark.fault(run)));
        faults.extend(charts::faults(&self.charts, run));
        if is_whole {
            faults.extend(figures::missing(&self.numbers, &self.changes, run));
            faults.extend(charts::missing(&self.charts, run));
        }
        faults
    }
}

/// The text of what is packed in a page: it is in zlib in base64.
pub fn unpacked(packed: &str) -> Result<String, Box<dyn std::error::Error>> {
    let packed = BASE64_STANDARD.decode(packed)?;
    Ok(std::io::read_to_string(ZlibDecoder::new(&packed[..]))?)
}

/// The page, and after it the text of all that is packed in it: its record and its folded parts.
pub fn with_packed(page: &str) -> Result<String, Box<dyn std::error::Error>> {
    let parts = page
        .split(" data-packed=\"")
        .skip(1)
        .map(|part| part.split('"').next());
    let records = page
        .split("id=\"run\">")
        .skip(1)
        .map(|part| part.split('<').next());
    let mut whole = page.to_owned();
    for packed in parts.chain(records).flatten() {
        whole += &unpacked(packed)?;
    }
    Ok(whole)
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
