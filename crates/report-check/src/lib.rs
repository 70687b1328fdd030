//! For tests alone: opens an HTML report in headless Chromium and compares what a reader sees with the record.
//!
//! It knows the record and the page, not the code that makes one from the other, so that both cannot be wrong in the
//! same way.

mod browser;
mod charts;
mod figures;
mod sliders;
mod svg;

use std::path::Path;

use ciphertax_records::Run;
use serde::Deserialize;

use browser::{Broken, Browser, Look, Tab, look_anew_if_it_breaks};

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
    for look in [Look::DESKTOP, Look::PHONE, Look::DARK, Look::PAPER, Look::STILL] {
        let mut tab = browser.open(html, look)?;
        let shown = Shown::on(&mut tab)?;
        let sliders = match look.moves_sliders() {
            true => sliders::faults(&mut tab, run)?,
            false => Vec::new(),
        };
        let saved = match look.moves_sliders() {
            true => svg::faults(&mut tab)?,
            false => Vec::new(),
        };
        let half_empty = match look.is_paper() {
            true => half_empty_pages(&tab.pdf()?, shown.height),
            false => None,
        };
        let found = shown
            .faults(run, look)
            .chain(half_empty)
            .chain(tab.console())
            .chain(tab.fetched())
            .chain(sliders)
            .chain(saved)
            .map(|fault| format!("{}: {fault}", look.name));
        faults.extend(found);
        tab.close()?;
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Broken::Faults(faults.join("\n")))
    }
}

/// Takes pictures of the report for people to look at: `desktop.png`, `phone.png`, `dark.png`, `paper.png` and `paper.pdf`, and
/// saves its charts as SVG files.
///
/// # Errors
/// Chromium cannot be started or a file cannot be written.
pub fn take_pictures(html: &Path, folder: &Path) -> Result<(), String> {
    look_anew_if_it_breaks(|| look_and_draw(html, folder))
}

fn look_and_draw(html: &Path, folder: &Path) -> Result<(), Broken> {
    let mut browser = Browser::start()?;
    for look in [Look::DESKTOP, Look::PHONE, Look::DARK] {
        let mut tab = browser.open(html, look)?;
        write(&folder.join(format!("{}.png", look.name)), &tab.screenshot()?)?;
        if look.is_desktop() && look.name == Look::DESKTOP.name {
            svg::write(&mut tab, folder)?;
        }
    }
    let mut paper = browser.open(html, Look::PAPER)?;
    write(&folder.join("paper.png"), &paper.screenshot()?)?;
    let pdf = paper.pdf()?;
    Ok(write(&folder.join("paper.pdf"), &pdf)?)
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

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

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
    fn on(tab: &mut Tab<'_>) -> Result<Self, Broken> {
        let text = tab.evaluate(include_str!("collect.js"))?;
        serde_json::from_str(&text)
            .map_err(|error| Broken::Faults(format!("what the page shows cannot be read: {error}")))
    }

    fn faults(&self, run: &Run, look: Look) -> impl Iterator<Item = String> {
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
        if self.width > f64::from(look.width) {
            faults.push(format!(
                "the page is {} px wide on a screen of {}",
                self.width, look.width
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
        faults.into_iter()
    }
}
