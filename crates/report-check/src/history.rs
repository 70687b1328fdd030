//! A page of many runs over time.

use std::path::Path;

use serde::Deserialize;

use crate::browser::{Broken, Browser, Look, Tab, look_anew_if_it_breaks};
use crate::{figures, svg};

/// A chart that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryChart {
    /// Cell, metric and arm.
    pub name: String,
    /// Runs on it.
    pub points: usize,
    /// Changes on it.
    pub changes: usize,
}

/// Opens the page as [`check_report`](crate::check_report) does, and checks that every chart has a mark for every run and
/// every change, that no mark is cut off and no label covers another, that nothing is fetched, nothing is wider than the
/// screen, the console stays empty, and every chart can be saved.
///
/// # Errors
/// Everything found wrong, one line each; or that Chromium cannot be started, with the remedy.
pub fn check_history(html: &Path, verdict: &str, charts: &[HistoryChart]) -> Result<(), String> {
    look_anew_if_it_breaks(|| look_at_history(html, verdict, charts))
}

fn look_at_history(html: &Path, verdict: &str, charts: &[HistoryChart]) -> Result<(), Broken> {
    let mut browser = Browser::start()?;
    let mut faults = Vec::new();
    for look in [Look::DESKTOP, Look::PHONE, Look::DARK, Look::PAPER, Look::STILL] {
        let mut tab = browser.open(html, look)?;
        let shown = Shown::on(&mut tab)?;
        let saved = match look.moves_sliders() {
            true => svg::faults(&mut tab)?,
            false => Vec::new(),
        };
        let found = shown.faults(verdict, charts, look).into_iter();
        let found = found.chain(tab.console()).chain(tab.fetched()).chain(saved);
        faults.extend(found.map(|fault| format!("{}: {fault}", look.name)));
        tab.close()?;
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Broken::Faults(faults.join("\n")))
    }
}

/// What the page shows.
#[derive(Deserialize)]
struct Shown {
    verdict: String,
    width: f64,
    numbers: Vec<figures::Number>,
    charts: Vec<crate::charts::Chart>,
}

impl Shown {
    fn on(tab: &mut Tab<'_>) -> Result<Self, Broken> {
        let text = tab.evaluate(include_str!("collect.js"))?;
        serde_json::from_str(&text)
            .map_err(|error| Broken::Faults(format!("what the page shows cannot be read: {error}")))
    }

    fn faults(&self, verdict: &str, charts: &[HistoryChart], look: Look) -> Vec<String> {
        let mut faults: Vec<String> = self
            .charts
            .iter()
            .flat_map(|chart| chart.faults_of_drawing())
            .collect();
        if self.verdict != verdict {
            faults.push(format!("the verdict reads {:?}, not {verdict:?}", self.verdict));
        }
        if self.width > f64::from(look.width) {
            faults.push(format!(
                "the page is {} px wide on a screen of {}",
                self.width, look.width
            ));
        }
        faults.extend(self.numbers.iter().filter_map(figures::Number::fault));
        for expected in charts {
            let name = format!("history {}", expected.name);
            let marks = [
                ("points", expected.points),
                ("intervals", expected.points),
                ("changes", expected.changes),
            ];
            match self.charts.iter().find(|chart| chart.name() == name) {
                None => faults.push(format!("the chart {name} is missing")),
                Some(chart) => faults.extend(chart.miscounted(&marks)),
            }
        }
        if self.charts.len() != charts.len() {
            faults.push(format!(
                "there are {} charts, not {}",
                self.charts.len(),
                charts.len()
            ));
        }
        faults
    }
}
