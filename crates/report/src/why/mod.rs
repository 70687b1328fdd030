//! What says why, by itself: as JSON, as rows, and as stacks for other programs. As text it is in [`terminal`](crate::terminal).

mod collapsed;
mod csv;
mod stacks;
pub(crate) mod words;

use ciphertax_records::Run;
use ciphertax_records::why::Why;

pub use self::collapsed::collapsed;
pub use self::csv::csv;

/// Which part is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chosen<'a> {
    /// These cells alone; all where they are absent.
    pub cells: Option<&'a [&'a str]>,
    /// These arms alone.
    pub arms: Option<&'a [&'a str]>,
}

impl Chosen<'_> {
    /// True if a cell is asked for.
    pub(crate) fn has_cell(&self, cell: &str) -> bool {
        self.cells.is_none_or(|chosen| chosen.contains(&cell))
    }

    /// True if an arm is asked for.
    pub(crate) fn has_arm(&self, arm: &str) -> bool {
        self.arms.is_none_or(|chosen| chosen.contains(&arm))
    }

    fn has(&self, cell: &str, arm: &str) -> bool {
        self.has_cell(cell) && self.has_arm(arm)
    }
}

/// The part as JSON, of the shape that `why` has in `run.json`.
pub fn json(run: &Run, chosen: Chosen<'_>) -> String {
    let mut text = serde_json::to_string_pretty(&part(&run.results.why, chosen))
        .expect("a run holds nothing that JSON cannot");
    text.push('\n');
    text
}

fn part(why: &Why, chosen: Chosen<'_>) -> Why {
    let mut part = why.clone();
    part.categories.retain(|row| chosen.has(&row.cell, &row.arm));
    part.differences.retain(|row| chosen.has(&row.cell, &row.arm));
    part.states.retain(|row| chosen.has(&row.cell, &row.arm));
    part.wait_events.retain(|row| chosen.has(&row.cell, &row.arm));
    part.bounds.retain(|row| chosen.has(&row.cell, &row.arm));
    part.costs.retain(|row| chosen.has_cell(&row.cell));
    part
}
