//! Doubts about what was looked into: gaps of profiles, and what looking costs.

use std::collections::BTreeMap;

use ciphertax_base::format::{count, rounded};
use ciphertax_records::why::{DifferenceOfSide, Look, LookCost, ProfiledSide};
use ciphertax_records::{Finding, Run};

use super::suspicion;

/// Less than this part of the samples complete, or with a category, is worth a warning.
const ENOUGH: f64 = 0.97;
/// With fewer samples the parts themselves are not known so well.
const FEWEST_SAMPLES: u64 = 500;

/// One finding for each side of a cell, by its worst arm.
pub(super) fn profile_gaps(run: &Run) -> impl Iterator<Item = Finding> {
    let mut worst: BTreeMap<(&str, ProfiledSide), &DifferenceOfSide> = BTreeMap::new();
    let told = run.results.why.differences.iter();
    for row in told.filter(|row| row.samples >= FEWEST_SAMPLES && part(row) < ENOUGH) {
        let known = worst.entry((&row.cell, row.side)).or_insert(row);
        if part(row) < part(known) {
            *known = row;
        }
    }
    worst.into_values().map(|row| {
        let side = match row.side {
            ProfiledSide::Server => "server",
            ProfiledSide::Client => "client",
        };
        suspicion("profile-gaps",
            format!(
                "{}: {} of the {side}'s CPU samples have no category, so categories may be larger than shown.",
                row.cell,
                rounded::share(1.0 - part(row))
            ),
            format!(
                "{}: of {} samples {} have a complete stack, {} a category",
                row.arm,
                count(row.samples as f64),
                rounded::share(row.complete),
                rounded::share(row.classified)
            ),
        )
    })
}

/// The part that is known of what is known least.
fn part(row: &DifferenceOfSide) -> f64 {
    row.complete.min(row.classified)
}

/// What looking into the server may cost it, as a fraction of its CPU time.
const ALLOWED: f64 = 0.03;

/// Looking that costs more than it should.
pub(super) fn looking_costs(run: &Run) -> impl Iterator<Item = Finding> {
    run.results.why.costs.iter().filter_map(|row: &LookCost| {
        let cost = row.server_cpu.filter(|cost| cost.value > ALLOWED && cost.low > 0.0)?;
        let (what, less) = match row.look {
            Look::Full => ("profiling", " --profile=waits adds less."),
            Look::Waits => ("sampling waits", ""),
        };
        Some(suspicion("looking-costs",
            format!(
                "{}: {what} added {} server CPU. The costs exclude those blocks; the breakdown does not.{less}",
                row.cell,
                rounded::share(cost.value)
            ),
            format!(
                "{} blocks with it against those beside them: {}",
                row.blocks,
                rounded::change(cost)
            ),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::tests::made_up::{STUDY, head};
    use ciphertax_base::Interval;
    use ciphertax_model::Study;
    use ciphertax_records::Results;
    use ciphertax_records::why::Complete;

    fn row(arm: &str, complete: f64, classified: f64, samples: u64) -> DifferenceOfSide {
        DifferenceOfSide {
            cell: "select".into(),
            arm: arm.into(),
            side: ProfiledSide::Server,
            measured: None,
            estimated: None,
            sum_us: 0.0,
            blocks: 9,
            samples,
            complete,
            classified,
            comprises: Complete::Whole,
        }
    }

    fn gaps(rows: Vec<DifferenceOfSide>) -> Vec<Finding> {
        let mut results = Results::default();
        results.why.differences = rows;
        profile_gaps(&Run::new(head(Study::from_toml(STUDY).unwrap()), results)).collect()
    }

    #[test]
    fn samples_without_a_category_are_warned_of_once_a_cell() {
        let found = gaps(vec![
            row("baseline again", 1.0, 0.96, 9_000),
            row("tls", 0.99, 0.91, 9_000),
        ]);
        assert_eq!(found.len(), 1, "{found:#?}");
        let beginning = "select: 9.0 % of the server's";
        assert!(found[0].summary.starts_with(beginning), "{found:?}");
        let has_shares = found[0].evidence.contains("9,000") && found[0].evidence.contains("91 %");
        assert!(has_shares, "{found:?}");
    }

    #[test]
    fn enough_of_them_and_too_few_to_tell_are_not() {
        assert!(gaps(vec![row("tls", 0.99, 0.98, 9_000), row("tls", 0.5, 0.5, 100)]).is_empty());
    }

    fn costs(value: f64, low: f64) -> Vec<Finding> {
        let mut results = Results::default();
        results.why.costs = vec![LookCost {
            cell: "select".into(),
            look: Look::Full,
            server_cpu: Some(Interval {
                value,
                low,
                high: 2.0 * value - low,
            }),
            blocks: 12,
        }];
        looking_costs(&Run::new(head(Study::from_toml(STUDY).unwrap()), results)).collect()
    }

    #[test]
    fn looking_that_costs_more_than_three_percent_is_told_with_its_interval() {
        let found = costs(0.06, 0.02);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].summary.contains("profiling added 6.0 % server CPU"),
            "{found:?}"
        );
        let has_blocks = found[0].evidence.contains("12 blocks") && found[0].evidence.contains("[2.0, 10]");
        assert!(has_blocks, "{found:?}");
    }

    #[test]
    fn less_is_not_and_what_may_be_noise_is_not() {
        assert!(costs(0.02, 0.01).is_empty());
        assert!(costs(0.06, -0.01).is_empty());
    }
}
