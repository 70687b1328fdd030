//! Causes, advice and suspicions, together where they say the same.

use ciphertax_records::{Run, Severity};
use serde::Serialize;

use crate::describe;
use crate::groups::{Group, grouped};

/// Findings that say the same.
#[derive(Serialize)]
pub(super) struct FindingGroup {
    word: &'static str,
    /// The first ones, shown as they are.
    first: Vec<StatementView>,
    /// The others, to be unfolded.
    more: Vec<StatementView>,
    /// True if the evidence is folded too: of one statement it is shown.
    unfolds: bool,
}

#[derive(Serialize)]
struct StatementView {
    summary: String,
    evidence: Vec<String>,
}

/// Statements of a group that are shown before unfolding.
const SHOWN: usize = 3;

/// What to do; and everything that casts doubt or explains, doubts first, as the page shows the first three alone.
pub(super) fn findings(run: &Run) -> (Vec<FindingGroup>, Vec<FindingGroup>) {
    let (advice, mut others) = grouped(run)
        .into_iter()
        .partition::<Vec<_>, _>(|group| group.severity == Severity::Advice);
    others.sort_by_key(|group| group.severity != Severity::Suspicion);
    let view = |groups: Vec<Group>| groups.into_iter().map(FindingGroup::of).collect();
    (view(advice), view(others))
}

impl FindingGroup {
    fn of(group: Group) -> Self {
        let mut first: Vec<StatementView> = group
            .statements
            .into_iter()
            .map(|statement| StatementView {
                summary: statement.summary,
                evidence: statement.evidence,
            })
            .collect();
        let more = if first.len() > SHOWN + 1 {
            first.split_off(SHOWN)
        } else {
            Vec::new()
        };
        Self {
            unfolds: first.len() > 1 || first.iter().any(|statement| statement.evidence.len() > 1),
            word: describe::severity_word(group.severity),
            first,
            more,
        }
    }
}
