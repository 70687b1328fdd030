//! Many runs of one study over time: every figure, from which run on it is another, and which version stands where.

mod conditions;
mod figures;
mod levels;
mod sentence;

use ciphertax_records::{HISTORY_SCHEMA, History, HistoryRun, NotInHistory, Run};
use ciphertax_stats::verdict::SIGNIFICANCE;
use thiserror::Error;

use crate::database;
pub use crate::database::products;

/// A run that was given, and where it lies.
#[derive(Debug, Clone)]
pub struct GivenRun {
    /// Its folder, as it is shown.
    pub folder: String,
    /// The run.
    pub run: Run,
}

/// Why runs are no history.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HistoryError {
    /// There is no run.
    #[error("there is no run with figures to show")]
    NoRun,
    /// There are runs of several studies, and none is chosen.
    #[error("there are runs of several studies: {}; choose one with --study", counted(.0))]
    SeveralStudies(Vec<(String, usize)>),
    /// The runs are of several databases.
    #[error("there are runs on several databases: {}; choose one with --server", counted(.0))]
    SeveralDatabases(Vec<(String, usize)>),
    /// There is no run of the study that was chosen.
    #[error("there is no run of the study {asked}, but of {}", counted(.there))]
    NoSuchStudy {
        /// The one that was chosen.
        asked: String,
        /// Those that there are, and how many runs of each.
        there: Vec<(String, usize)>,
    },
}

fn counted(names: &[(String, usize)]) -> String {
    let of_each = names.iter().map(|(name, runs)| format!("{name} ({runs})"));
    of_each.collect::<Vec<_>>().join(", ")
}

/// The history of these runs: of the study that is chosen by name, or of the one that there is. Their order does not matter.
///
/// # Errors
/// When there is no run, or there are runs of several studies and none of them is chosen, or on several databases.
pub fn history(given: Vec<GivenRun>, study: Option<&str>) -> Result<History, HistoryError> {
    let mut given = of_one_study(given, study)?;
    on_one_database(&given)?;
    // Times of records are in UTC and written alike, so their texts have their order.
    given.sort_by(|a, b| (&a.run.head.started, &a.folder).cmp(&(&b.run.head.started, &b.folder)));
    let mut left_out = Vec::new();
    let figures = figures::figures(&given, &mut left_out);
    let mut history = History {
        schema: HISTORY_SCHEMA.to_owned(),
        study: given
            .first()
            .map_or_else(String::new, |given| given.run.head.study.name.clone()),
        verdict: String::new(),
        runs: given.iter().map(run_of).collect(),
        left_out,
        figures,
        false_alarms: SIGNIFICANCE,
    };
    history.verdict = sentence::verdict(&history);
    Ok(history)
}

fn run_of(given: &GivenRun) -> HistoryRun {
    HistoryRun {
        folder: given.folder.clone(),
        started: given.run.head.started.clone(),
        complete: given.run.head.status.is_at_end(),
        conditions: conditions::of_run(&given.run),
    }
}

fn of_one_study(given: Vec<GivenRun>, study: Option<&str>) -> Result<Vec<GivenRun>, HistoryError> {
    let there = count(given.iter().map(|given| given.run.head.study.name.clone()));
    let chosen = match (study, there.as_slice()) {
        (_, []) => return Err(HistoryError::NoRun),
        (None, [(only, _)]) => only.clone(),
        (None, _) => return Err(HistoryError::SeveralStudies(there)),
        (Some(asked), _) if there.iter().any(|(name, _)| name == asked) => asked.to_owned(),
        (Some(asked), _) => {
            return Err(HistoryError::NoSuchStudy {
                asked: asked.to_owned(),
                there,
            });
        }
    };
    let is_chosen = |given: &GivenRun| given.run.head.study.name == chosen;
    Ok(given.into_iter().filter(is_chosen).collect())
}

/// Refuses runs that have no database in common with the first of them.
fn on_one_database(given: &[GivenRun]) -> Result<(), HistoryError> {
    let databases = given.iter().map(|given| database::of_run(&given.run));
    let mut databases = databases.filter(|databases| !databases.is_empty());
    let first = databases.next().unwrap_or_default();
    match databases.all(|other| other.iter().any(|one| first.contains(one))) {
        true => Ok(()),
        false => Err(HistoryError::SeveralDatabases(count(
            given.iter().map(|given| products(&given.run)),
        ))),
    }
}

/// Names in the order in which they first appear, and how often each does.
fn count(names: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(other, _)| *other == name) {
            Some((_, times)) => *times += 1,
            None => counted.push((name, 1)),
        }
    }
    counted
}

/// Says of a run, or of a cell of it, why it is not in the history; of every cell once.
fn leave_out(left_out: &mut Vec<NotInHistory>, folder: &str, reason: String) {
    let entry = NotInHistory {
        folder: folder.to_owned(),
        reason,
    };
    if !left_out.contains(&entry) {
        left_out.push(entry);
    }
}
