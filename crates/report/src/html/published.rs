//! Figures published elsewhere, beside the measured ones.

use ciphertax_records::{Agreement, PublishedRow, Run};
use serde::Serialize;

use super::figure::ArmName;
use crate::describe;

/// One published figure.
#[derive(Serialize)]
pub(super) struct PublishedView {
    cell: String,
    arm: ArmName,
    metric: String,
    source: String,
    published: String,
    measured: String,
    /// The class that gives the word its colour.
    tone: &'static str,
    word: &'static str,
    explanation: Option<String>,
    note: Option<String>,
}

impl PublishedView {
    pub(super) fn of(run: &Run, row: &PublishedRow) -> Self {
        Self {
            cell: row.cell.clone(),
            arm: ArmName::of(run, &row.arm),
            metric: describe::published_metric(row),
            source: row.source.clone(),
            published: describe::published_figure(row),
            measured: describe::measured_change(row),
            tone: match row.agreement {
                Agreement::Agrees => "no-cost",
                Agreement::Differs => "costs",
                Agreement::CannotTell => "cannot-tell",
            },
            word: describe::agreement_word(row.agreement),
            explanation: row.explanation.clone(),
            note: row.note.clone(),
        }
    }
}
