//! A condition, and what came of it.

/// A condition that every row of a kind meets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    pub(super) clause: &'static str,
    pub(super) says: &'static str,
    /// True if the published study asks it too.
    pub(super) in_study: bool,
    /// The values that it is about, by their names.
    pub(super) values: &'static [&'static str],
    /// What is true of them.
    pub(super) holds: &'static str,
}

/// A condition that holds, or was not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionResult {
    /// The clause of the specification that demands it: `3.3.2.1` to `3.3.2.12` for the twelve conditions, another for what they
    /// cannot see.
    pub clause: &'static str,
    /// What it says.
    pub condition: &'static str,
    /// True if the published study asks it too.
    pub in_study: bool,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a condition that is not broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds {
        /// For so many rows, or draws.
        of: u64,
    },
    /// It was not asked.
    NotAsked {
        /// Why: for example `order_line.ol_quantity holds cells`.
        because: String,
    },
}
