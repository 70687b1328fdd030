//! What says why, by itself: as JSON, as rows, and as stacks for other programs. As text it is in [`terminal`](crate::terminal).

pub(crate) mod words;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use ciphertax_records::Run;
use ciphertax_records::why::{CategoryRow, Looks, ProfiledSide, StackId, Why};

use words::side_word;

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

/// A line a stack: its functions, the outermost first, and its CPU time in microseconds. Before them come the cell and the arm,
/// where not one alone is chosen, and the side.
///
/// # Errors
/// When the looks are damaged, or nothing can be written.
///
/// As `flamegraph.pl` and `inferno` take them.
pub fn collapsed(run: &Run, looks: &dyn Looks, chosen: Chosen<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (of, stacks) in of_cpu(run, looks, chosen)? {
        let mut begin = String::new();
        for (chosen, name) in [(chosen.cells, &of.cell), (chosen.arms, &of.arm)] {
            if chosen.is_none_or(|chosen| chosen.len() != 1) {
                begin.push_str(&frame(name));
                begin.push(';');
            }
        }
        begin.push_str(side_word(of.side));
        for (stack, us) in stacks {
            let mut line = begin.clone();
            for (name, _) in looks.symbols().names(stack).rev() {
                line.push(';');
                line.push_str(&frame(name));
            }
            writeln!(out, "{line} {us:.0}")?;
        }
    }
    Ok(())
}

/// A name in which nothing ends the frame or the line.
fn frame(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            ';' => ':',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// A line of column names, then one a category; times in microseconds of an operation, empty where there is none.
pub fn csv(run: &Run, chosen: Chosen<'_>) -> String {
    let mut text = String::from(
        "cell,arm,side,category,baseline_us,variant_us,difference_us,low_us,high_us,floor_us,is_significant\n",
    );
    let rows = run.results.why.categories.iter();
    for row in rows.filter(|row| chosen.has(&row.cell, &row.arm)) {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

fn line(row: &CategoryRow) -> String {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let interval = row.difference;
    [
        field(&row.cell),
        field(&row.arm),
        side_word(row.side).to_owned(),
        field(&row.category),
        number(Some(row.baseline_us)),
        number(Some(row.variant_us)),
        number(interval.map(|interval| interval.value)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        number(row.floor_us),
        row.is_significant.to_string(),
    ]
    .join(",")
}

/// RFC 4180.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Samples of one side of one arm in one cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Of {
    cell: String,
    arm: String,
    side: ProfiledSide,
}

/// Microseconds of CPU time by stack, in slices that count and lost no sample.
fn of_cpu(
    run: &Run,
    looks: &dyn Looks,
    chosen: Chosen<'_>,
) -> io::Result<BTreeMap<Of, BTreeMap<StackId, f64>>> {
    let void = void(run);
    let mut all: BTreeMap<Of, BTreeMap<StackId, f64>> = BTreeMap::new();
    for profile in looks.profiles() {
        let profile = profile?;
        let slice = &profile.slice;
        if !chosen.has(&slice.cell, &slice.arm) || void.contains(&(&*slice.cell, slice.block, &*slice.arm)) {
            continue;
        }
        for (side, samples) in profile.sides.iter().filter(|(_, side)| side.lost == 0) {
            let of = Of {
                cell: slice.cell.clone(),
                arm: slice.arm.clone(),
                side: *side,
            };
            let sums = all.entry(of).or_default();
            for (stack, count) in &samples.stacks {
                *sums.entry(*stack).or_default() += *count as f64 * 1e6 / f64::from(samples.hz);
            }
        }
    }
    Ok(all)
}

fn void(run: &Run) -> HashSet<(&str, u32, &str)> {
    let rows = run.results.void.iter();
    rows.map(|row| (row.cell.as_str(), row.block, row.arm.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_commas_and_quotes_is_one_field() {
        assert_eq!(field("plain"), "plain");
        assert_eq!(field("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
