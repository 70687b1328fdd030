//! Words of what says why: of bounds, differences and what looking cost.

use std::collections::BTreeMap;

use ciphertax_records::why::{
    Bound, BoundRow, CategoryRow, Complete, Confirmation, CourseOf, DifferenceOfSide, Look, LookCost,
    ProfiledSide, StateRow,
};
use ciphertax_records::{ArmRole, Run, counter};
use ciphertax_stats::{Interval, format};

/// One word, or as few as it takes, for what bounds a cell.
pub(crate) fn bound_word(bound: Bound) -> &'static str {
    match bound {
        Bound::ClientCpu => "client CPU",
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

/// Whether the bound was taken away, and what came of it.
pub(crate) fn confirmation_word(confirmation: Confirmation) -> &'static str {
    match confirmation {
        Confirmation::NotTried => "not tried",
        Confirmation::Confirmed => "confirmed",
        Confirmation::Refuted => "refuted",
        Confirmation::CannotTell => "cannot tell",
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
    format::difference(us, [us; 2], "us").value
}

/// `+3.21 µs [2.98, 3.44]`
pub(crate) fn difference_in_words(Interval { value, low, high }: Interval) -> String {
    let text = format::difference(value, [low, high], "us");
    format!("{} [{}, {}]", text.value, text.low, text.high)
}

/// The difference of a category without its interval: from both arms' figures where there are too few blocks for one.
pub(crate) fn difference_of(row: &CategoryRow) -> f64 {
    row.difference
        .map_or(row.variant_us - row.baseline_us, |difference| difference.value)
}

/// The categories of the variants in a cell that differ beyond noise, the largest difference first.
pub(crate) fn largest<'a>(run: &'a Run, cell: &str) -> Vec<&'a CategoryRow> {
    let mut rows: Vec<_> = run
        .results
        .why
        .categories
        .iter()
        .filter(|row| row.cell == cell && row.is_significant && is_variant(run, &row.arm))
        .collect();
    rows.sort_by(|one, other| difference_of(other).abs().total_cmp(&difference_of(one).abs()));
    rows
}

/// True for arms that are compared with the baseline, other than the baseline itself.
pub(crate) fn is_variant(run: &Run, arm: &str) -> bool {
    run.head.variants().any(|variant| variant.name == arm)
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
            "measured {}, not in any category {}",
            difference_in_words(measured),
            microseconds_more(measured.value - row.sum_us)
        ),
        None => "not enough blocks to tell what was measured".to_owned(),
    };
    let estimated = row.estimated.map_or_else(String::new, |estimated| {
        format!(
            "; in the slices that were not looked into {}",
            difference_in_words(estimated)
        )
    });
    format!(
        "All categories {}; {measured}{estimated}.",
        microseconds_more(row.sum_us)
    )
}

/// What the shares of a side rest on.
pub(crate) fn basis_in_words(row: &DifferenceOfSide) -> String {
    let comprises = match row.comprises {
        Complete::Whole => "",
        Complete::KernelUnnamed => "; the kernel's functions have no names here",
        Complete::UserOnly => "; time in the kernel is not among them",
    };
    format!(
        "{} samples in {} blocks, {} unwound to their end, {} with a category{comprises}.",
        format::count(row.samples as f64),
        row.blocks,
        format::fine_share(row.complete),
        format::fine_share(row.classified)
    )
}

/// What looking into slices cost the server.
pub(crate) fn costs_in_words<'a>(rows: impl Iterator<Item = &'a LookCost>) -> Vec<String> {
    let mut told = Vec::new();
    let mut unknown: BTreeMap<Look, Vec<&str>> = BTreeMap::new();
    for row in rows {
        match row.server_cpu {
            Some(change) => told.push(format!(
                "{} changed the server's CPU time per operation in {} by {} ({} blocks).",
                look_in_words(row.look),
                row.cell,
                format::change_with_interval(change),
                row.blocks
            )),
            None => unknown.entry(row.look).or_default().push(&row.cell),
        }
    }
    told.extend(unknown.into_iter().map(|(look, cells)| {
        format!(
            "Too few blocks to say what {} cost in {}.",
            look_in_words(look).to_lowercase(),
            cells.join(", ")
        )
    }));
    told
}

fn look_in_words(look: Look) -> &'static str {
    match look {
        Look::Waits => "Watching what threads wait for",
        Look::Full => "Profiling both sides and watching what threads wait for",
    }
}

/// What a course shows.
pub(crate) fn course_label(of: &CourseOf) -> String {
    match of {
        CourseOf::DeviceBusy => "device busy".to_owned(),
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
