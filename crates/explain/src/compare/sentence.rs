//! Whether the cost changed, in a sentence.

use ciphertax_base::format;
use ciphertax_records::{Comparison, CostChange};
use ciphertax_stats::CostVerdict;

/// The answer: the largest changes by name, of the rest how many are of which kind, and how much is not compared.
pub(super) fn verdict(comparison: &Comparison) -> String {
    let of = |verdicts: &[CostVerdict]| -> Vec<&CostChange> {
        let headlines = comparison.changes.iter().filter(|change| change.headline);
        headlines
            .filter(|change| verdicts.contains(&change.verdict))
            .collect()
    };
    let (same, open) = (
        of(&[CostVerdict::Same]).len(),
        of(&[CostVerdict::CannotTell]).len(),
    );
    let mut changed = of(&[CostVerdict::Dearer, CostVerdict::Cheaper]);
    let size = |change: &CostChange| change.change.value.ln_1p().abs();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let of_rest = [
        (
            same,
            counted(same, "cost is", "costs are") + " the same" + &within(comparison),
        ),
        (open, counted(open, "cost", "costs") + " cannot be told"),
    ];
    let of_rest = of_rest.into_iter().filter(|(count, _)| *count > 0);
    let of_rest = of_rest.map(|(_, words)| words).collect::<Vec<_>>().join(", ");
    let is_change = |change: &&CostChange| {
        !change.headline && matches!(change.verdict, CostVerdict::Dearer | CostVerdict::Cheaper)
    };
    let mut others: Vec<&CostChange> = comparison.changes.iter().filter(is_change).collect();
    others.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let (unchanged, but) = match others.as_slice() {
        [] => ("The cost", String::new()),
        others => ("CPU and speed", format!("; but {}", largest(comparison, others))),
    };
    let refused = match comparison.not_comparable.len() {
        0 => String::new(),
        refused => format!(
            "; {} not compared",
            counted(refused, "cell, arm or cost was", "cells, arms or costs were")
        ),
    };
    match (changed.as_slice(), of_rest.as_str()) {
        ([], "") => format!("The runs have no headline cost in common{refused}."),
        ([], of_rest) if open == 0 => format!("{unchanged} did not change: {of_rest}{but}{refused}."),
        ([], of_rest) => format!("No change of the cost found: {of_rest}{but}{refused}."),
        (changed, "") => format!("The cost changed: {}{refused}.", largest(comparison, changed)),
        (changed, of_rest) => format!(
            "The cost changed: {}. {of_rest}{refused}.",
            largest(comparison, changed)
        ),
    }
}

/// By how much headlines that are the same may differ: ` within ±2.8 %`, ` within ±2.8 % to ±26 %`
fn within(comparison: &Comparison) -> String {
    let headlines = comparison.changes.iter().filter(|change| change.headline);
    let same = headlines.filter(|change| change.verdict == CostVerdict::Same);
    let mut margins: Vec<f64> = same.map(|change| change.margin).collect();
    margins.sort_by(f64::total_cmp);
    let [least, most] = [margins.first(), margins.last()].map(|margin| {
        let margin = margin.copied().unwrap_or(0.0);
        format!("±{}", format::share_of(margin))
    });
    match least == most {
        true => format!(" within {least}"),
        false => format!(" within {least} to {most}"),
    }
}

/// `1 cost`, `3 costs`
fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Changes that the sentence names.
const NAMED: usize = 2;

/// The largest change of each of the arms that changed most, of those of all runs; then how many more there are.
fn largest(comparison: &Comparison, changed: &[&CostChange]) -> String {
    let mut named: Vec<&CostChange> = Vec::new();
    for change in changed {
        if named.len() < NAMED && named.iter().all(|named| named.arm != change.arm) {
            named.push(change);
        }
    }
    let more = match changed.len() - named.len() {
        0 => String::new(),
        more => format!("; and {}", counted(more, "more cost", "more costs")),
    };
    let words: Vec<String> = named.iter().map(|change| in_words(comparison, change)).collect();
    format!("{}{more}", words.join("; "))
}

/// `tls1.3 in select is dearer, server CPU per operation +5.5 % [4.9, 6.1] (+21.3 % → +28.0 %, +4.2 µs → +5.6 µs)`, of several runs
/// with the one that it is so in.
fn in_words(comparison: &Comparison, change: &CostChange) -> String {
    let run = match (comparison.runs.len(), comparison.runs.get(change.run)) {
        (3.., Some(run)) => format!(" in {}", run.name),
        _ => String::new(),
    };
    format!(
        "{} in {} is {}{run}, {} {} ({})",
        change.arm,
        change.cell,
        change.verdict,
        change.metric,
        format::change_with_interval(change.change),
        change.course_in_words(),
    )
}
