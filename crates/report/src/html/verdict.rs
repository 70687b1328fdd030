//! A verdict: its words, its colour and its rule.

use ciphertax_records::{EstimateRow, Run};
use ciphertax_stats::{Rule, Verdict};
use serde::Serialize;

use crate::{describe, words};

/// A verdict as a reader sees it.
#[derive(Serialize)]
pub(super) struct VerdictView {
    /// The class that gives it its colour.
    pub(super) tone: &'static str,
    pub(super) word: String,
    /// Why it is what it is.
    pub(super) rule: String,
}

impl VerdictView {
    pub(super) fn of(run: &Run, row: &EstimateRow) -> Self {
        Self {
            tone: tone(row),
            word: match row.verdict {
                Verdict::NoCost if row.rule != Rule::ClientBound => {
                    format!("no cost above {}", words::bound(row.margin, row.metric))
                }
                _ => describe::verdict_word(run, row),
            },
            rule: words::rule(row),
        }
    }
}

/// The class that gives a verdict its colour.
pub(super) fn tone(row: &EstimateRow) -> &'static str {
    match row.verdict {
        _ if row.rule == Rule::ClientBound => "cannot-tell",
        Verdict::Costs => "costs",
        Verdict::Gains => "gains",
        Verdict::NoCost => "no-cost",
        Verdict::CannotTell => "cannot-tell",
    }
}
