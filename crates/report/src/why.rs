//! The why of a run by itself: as JSON, as rows, as stacks for other programs, and its words. As text it is in
//! [`terminal`](crate::terminal).

mod sentences;

pub(crate) use sentences::{in_sentences, of_chosen};

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use ciphertax_base::counter;
use ciphertax_base::{Interval, format};
use ciphertax_records::why::{
    Bound, BoundRow, CategoryRow, Complete, Confirmation, CourseOf, DifferenceOfSide, Look, LookCost, Looks,
    ProfiledSide, StackId, StateRow, Why,
};
use ciphertax_records::{ArmRole, Run};
use csv::Writer;

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

    /// True if an arm in a cell is asked for.
    pub(crate) fn has(&self, cell: &str, arm: &str) -> bool {
        self.has_cell(cell) && self.arms.is_none_or(|chosen| chosen.contains(&arm))
    }
}

/// The part as JSON, of the shape that `why` has in `run.json`.
pub fn json(run: &Run, chosen: Chosen<'_>) -> String {
    crate::json::render(&part(&run.results.why, chosen))
}

/// What the record has of what was chosen.
pub(crate) fn part(why: &Why, chosen: Chosen<'_>) -> Why {
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
    let names = "cell,arm,side,category,baseline_us,variant_us,difference_us,low_us,high_us,floor_us,is_significant\n";
    let mut lines = Writer::from_writer(Vec::from(names));
    let rows = run.results.why.categories.iter();
    for row in rows.filter(|row| chosen.has(&row.cell, &row.arm)) {
        lines.write_record(line(row)).expect("memory can be written to");
    }
    let text = lines.into_inner().expect("memory can be written to");
    String::from_utf8(text).expect("all of it is text")
}

fn line(row: &CategoryRow) -> [String; 11] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let interval = row.difference;
    [
        row.cell.clone(),
        row.arm.clone(),
        side_word(row.side).to_owned(),
        row.category.clone(),
        number(Some(row.baseline_us)),
        number(Some(row.variant_us)),
        number(interval.map(|interval| interval.value)),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        number(row.floor_us),
        row.is_significant.to_string(),
    ]
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

/// One word, or as few as it takes, for what bounds a cell.
pub(crate) fn bound_word(bound: Bound) -> &'static str {
    match bound {
        Bound::ClientCpu => "client CPU",
        Bound::OtherPrograms => "other programs",
        Bound::ServerCpu => "server CPU",
        Bound::Spinning => "spinning",
        Bound::LogFlush => "log flush",
        Bound::Replication => "replication",
        Bound::DeviceReads => "device reads",
        Bound::Lock => "lock",
        Bound::RoundTrips => "round trips",
        Bound::Schedule => "schedule",
        Bound::Mixed => "mixed",
    }
}

/// `lock (LOCK_log)`, after "bound by"
pub(crate) fn bound_in_words(row: &BoundRow) -> String {
    let word = match row.bound {
        Bound::Mixed => "several things at once",
        bound => bound_word(bound),
    };
    match &row.of {
        Some(of) => format!("{word} ({of})"),
        None => word.to_owned(),
    }
}

/// Whether the bound was confirmed by taking it away.
pub(crate) fn confirmation_in_words(confirmation: Confirmation) -> &'static str {
    match confirmation {
        Confirmation::NotTried => "Not confirmed (use --confirm).",
        Confirmation::Confirmed => "Confirmed: without this bound the arm is faster.",
        Confirmation::Refuted => "Refuted: without this bound the arm is no faster.",
        Confirmation::CannotTell => "Not confirmed: the test was too short.",
    }
}

pub(crate) fn side_word(side: ProfiledSide) -> &'static str {
    match side {
        ProfiledSide::Server => "server",
        ProfiledSide::Client => "client",
    }
}

/// The state with what is waited for in it.
pub(crate) fn state_in_words(row: &StateRow) -> String {
    match &row.detail {
        Some(detail) => format!("{}: {detail}", row.state),
        None => row.state.clone(),
    }
}

/// `+3.21 µs`
pub(crate) fn microseconds_more(us: f64) -> String {
    format::more(us, "us")
}

/// `+3.21 µs [2.98, 3.44]`
pub(crate) fn difference_in_words(us: Interval) -> String {
    let text = format::difference(us, "us");
    format!("{} [{}, {}]", text.value, text.low, text.high)
}

/// The difference of a category without its interval: from both arms' figures where there are too few blocks for one.
pub(crate) fn difference_of(row: &CategoryRow) -> f64 {
    row.difference
        .map_or(row.variant_us - row.baseline_us, |difference| difference.value)
}

/// True for the baseline repeated.
pub(crate) fn is_again(run: &Run, arm: &str) -> bool {
    let mut arms = run.head.arms.iter();
    arms.any(|record| record.role == ArmRole::BaselineAgain && record.name == arm)
}

/// How far the categories of a side account for what was measured.
pub(crate) fn account_in_words(row: &DifferenceOfSide) -> String {
    let measured = match row.measured {
        Some(measured) => format!(
            "measured {}, in no category {}",
            difference_in_words(measured),
            microseconds_more(measured.value - row.sum_us)
        ),
        None => "too few blocks for an interval".to_owned(),
    };
    let estimated = row.estimated.map_or_else(String::new, |estimated| {
        format!("; without profiling {}", difference_in_words(estimated))
    });
    let disagree = match (row.measured, row.estimated) {
        (Some(looked), Some(other)) if looked.low > other.high || looked.high < other.low => {
            " The intervals do not overlap: profiling changed what it measured, so sizes of parts are rough."
        }
        _ => "",
    };
    format!(
        "All categories {}; {measured}{estimated}.{disagree}",
        microseconds_more(row.sum_us)
    )
}

/// What the shares of a side rest on.
pub(crate) fn basis_in_words(row: &DifferenceOfSide) -> String {
    let comprises = match row.comprises {
        Complete::Whole => "",
        Complete::KernelUnnamed => "; kernel functions have no names",
        Complete::UserOnly => "; none in the kernel",
    };
    format!(
        "{} samples in {} blocks, {} with a complete stack, {} with a category{comprises}.",
        format::count(row.samples as f64),
        row.blocks,
        format::fine_share(row.complete),
        format::fine_share(row.classified)
    )
}

/// What profiling cost the server.
pub(crate) fn costs_in_words<'a>(rows: impl Iterator<Item = &'a LookCost>) -> Vec<String> {
    let mut told = Vec::new();
    let mut unknown: BTreeMap<Look, Vec<&str>> = BTreeMap::new();
    for row in rows {
        match row.server_cpu {
            Some(change) => told.push(format!(
                "{}: {} added {} server CPU ({} blocks). Costs exclude those blocks.",
                row.cell,
                look_in_words(row.look),
                format::change_with_interval(change),
                row.blocks
            )),
            None => unknown.entry(row.look).or_default().push(&row.cell),
        }
    }
    told.extend(unknown.into_iter().map(|(look, cells)| {
        format!(
            "{}: too few blocks to measure the overhead of {}.",
            cells.join(", "),
            look_in_words(look)
        )
    }));
    told
}

fn look_in_words(look: Look) -> &'static str {
    match look {
        Look::Waits => "sampling waits",
        Look::Full => "profiling",
    }
}

/// What a course shows.
pub(crate) fn course_label(of: &CourseOf) -> String {
    match of {
        CourseOf::DeviceBusy => crate::storage::DEVICE_BUSY.to_owned(),
        CourseOf::DeviceRead => "read from the device".to_owned(),
        CourseOf::DeviceWritten => "written to the device".to_owned(),
        CourseOf::Counter(name) => match name.as_str() {
            counter::PAGES_READ => "pages read".to_owned(),
            counter::PAGES_WRITTEN => "pages written".to_owned(),
            counter::LOG_BYTES => "log written".to_owned(),
            counter::CONNECTIONS => "connections".to_owned(),
            name => name.replace('_', " "),
        },
    }
}

/// A figure of a course in its unit.
pub(crate) fn course_figure(of: &CourseOf, value: f64) -> String {
    match of {
        CourseOf::DeviceBusy => format::fine_share(value),
        CourseOf::DeviceRead | CourseOf::DeviceWritten => format!("{}/s", format::bytes(value)),
        CourseOf::Counter(name) if name == counter::LOG_BYTES => format!("{}/s", format::bytes(value)),
        CourseOf::Counter(_) => format!("{}/s", format::plain(value)),
    }
}
