//! Many runs of one study over time, as one document.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use ciphertax_model::Metric;
use ciphertax_stats::{Interval, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::folder::{RUN, damaged};
use crate::run::{FormatError, Run, SCHEMA, check_schema};

/// The version of the format of [`History`].
pub const HISTORY_SCHEMA: &str = "ciphertax.history/1";

/// Many runs of one study: every figure over time, from which run on it is another, and which version stands where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// Version of this format.
    #[schemars(extend("const" = HISTORY_SCHEMA))]
    pub schema: String,
    /// Name of the study.
    pub study: String,
    /// What is found, in a sentence or two.
    pub verdict: String,
    /// The runs in the order they began.
    pub runs: Vec<HistoryRun>,
    /// What was given and is not part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<NotInHistory>,
    /// One for every arm in every cell and metric: those that changed first, the largest changes on top.
    pub figures: Vec<HistoryFigure>,
    /// Of histories in which nothing changes, how many have a change point at most, as a fraction.
    pub false_alarms: f64,
}

/// A run of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRun {
    /// Its folder, as it was given.
    pub folder: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Whether it came to its end.
    pub complete: bool,
    /// What may make its figures others than those of other runs: versions, machine, settings; by name.
    pub conditions: BTreeMap<String, String>,
}

impl HistoryRun {
    /// The day it began: `2026-01-02T03:04:05Z` without its time.
    pub fn day(&self) -> &str {
        self.started.split_once('T').map_or(&self.started, |(day, _)| day)
    }

    /// The time of the day at which it began, to the minute: `03:04`; empty where it does not say.
    pub fn time(&self) -> &str {
        let time = self.started.split_once('T').and_then(|(_, time)| time.get(..5));
        time.unwrap_or_default()
    }
}

impl History {
    /// When a run began, as short as tells it from the others: its day, with the time in UTC where another began on that day.
    pub fn began(&self, run: usize) -> String {
        let Some(began) = self.runs.get(run) else {
            return String::new();
        };
        let mut others = self.runs.iter().enumerate();
        match others.any(|(other, there)| other != run && there.day() == began.day()) {
            true => format!("{} {}", began.day(), began.time()),
            false => began.day().to_owned(),
        }
    }
}

/// What was given and is not part of a history, as a whole or in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotInHistory {
    /// The folder of the run, as it was given.
    pub folder: String,
    /// Why, or which cell and why.
    pub reason: String,
}

/// One metric of one arm in one cell over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryFigure {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// What is compared with the baseline.
    pub metric: Metric,
    /// Unit of `baseline` and `variant` of the points.
    pub unit: String,
    /// What every run measured, in their order. Runs that did not measure it have no point.
    pub points: Vec<HistoryPoint>,
    /// From which runs on it is another.
    pub changes: Vec<ChangePoint>,
    /// The smallest shift of the ratio to the baseline that would be found nine times in ten with so many runs that scatter as
    /// these do, as a fraction; absent where there are too few runs to find any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_shift: Option<f64>,
    /// What each version of the server measured, in the order they first appear.
    pub versions: Vec<VersionRow>,
}

/// What a run measured of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryPoint {
    /// Number of the run in the history, from 0.
    pub run: usize,
    /// Which server it was measured on, with its TLS library.
    pub version: String,
    /// What the arm costs more than the baseline, as a fraction, with the run's 95 % interval.
    pub change: Interval,
    /// The baseline's value.
    pub baseline: f64,
    /// The arm's.
    pub variant: f64,
    /// Blocks it rests on.
    pub blocks: u32,
    /// What the run itself said.
    pub verdict: Verdict,
}

/// A change of a figure from one run to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// The first run after it.
    pub run: usize,
    /// The last run before it that measured the figure.
    pub before_run: usize,
    /// The figure before it, back to the change before, over the runs: their mean, and its 95 % interval.
    pub before: Interval,
    /// The same after it, up to the next change.
    pub after: Interval,
    /// How the ratio to the baseline changed, as a fraction: 0.1 is from ×1.2 to ×1.32. With its 95 % interval, taken as if the
    /// place of the change had been known.
    pub shift: Interval,
    /// Probability of any change this clear in all figures of the history if nothing had changed.
    pub p_value: f64,
    /// In what the runs before and after it differ.
    pub differs: Vec<Differs>,
}

/// A condition that is another in two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differs {
    /// Its name.
    pub what: String,
    /// In the last run before; absent where it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// In the first run after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What the runs on one version of a server measured of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionRow {
    /// The server, with its TLS library.
    pub version: String,
    /// Runs on it that measured the figure.
    pub runs: u32,
    /// The mean of the runs, as the change of a ratio.
    pub change: f64,
    /// Its 95 % interval, from the scatter of runs on the same version; absent where too few runs share one to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

impl Run {
    /// The run in a folder with the results that it was last reported with; `None` if it has none, because it was cut off or
    /// because this release must make them anew.
    ///
    /// # Errors
    /// When the folder is not that of a run, is damaged, or was written by a release whose records this one does not read.
    pub fn reported_in(folder: &Path) -> Result<Option<Self>, RecordError> {
        let text = fs::read_to_string(folder.join(RUN)).map_err(damaged(folder, RUN))?;
        let is_damaged = |error: FormatError| damaged(folder, RUN)(io::Error::other(error));
        if check_schema(&text).map_err(is_damaged)? != SCHEMA {
            return Ok(None);
        }
        let run: Self = serde_json::from_str(&text).map_err(|error| is_damaged(error.into()))?;
        Ok(Some(run).filter(|run| !run.results.estimates.is_empty()))
    }
}
