//! Looking that costs more than it should.

use ciphertax_records::why::{Look, LookCost};
use ciphertax_records::{Finding, Run, Severity};
use ciphertax_stats::format::rounded;

use super::finding::finding;

/// What looking into the server may cost it, as a fraction of its CPU time.
const ALLOWED: f64 = 0.03;

pub(super) fn looking_costs(run: &Run) -> impl Iterator<Item = Finding> {
    run.results.why.costs.iter().filter_map(|row: &LookCost| {
        let cost = row.server_cpu.filter(|cost| cost.value > ALLOWED && cost.low > 0.0)?;
        let (what, less) = match row.look {
            Look::Full => ("profiles and waits", " --profile=waits costs less."),
            Look::Waits => ("waits", ""),
        };
        Some(finding(
            "looking-costs",
            Severity::Suspicion,
            format!(
                "{}: looking for {what} took {} more of the server's CPU; costs are estimated without those blocks, but what is said \
                 of why has that in it.{less}",
                row.cell,
                rounded::share(cost.value)
            ),
            format!(
                "{} blocks that were looked into against those beside them: {}",
                row.blocks,
                rounded::change(cost)
            ),
        ))
    })
}

#[cfg(test)]
mod tests {
    use ciphertax_model::Study;
    use ciphertax_records::Results;
    use ciphertax_stats::Interval;

    use super::*;
    use crate::why::tests::made_up::{STUDY, head};

    fn found(value: f64, low: f64) -> Vec<Finding> {
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
        let found = found(0.06, 0.02);
        assert_eq!(found.len(), 1);
        assert!(found[0].summary.contains("6.0 % more"), "{found:?}");
        assert!(
            found[0].evidence.contains("12 blocks") && found[0].evidence.contains("[2.0, 10]"),
            "{found:?}"
        );
    }

    #[test]
    fn less_is_not_and_what_may_be_noise_is_not() {
        assert!(found(0.02, 0.01).is_empty());
        assert!(found(0.06, -0.01).is_empty());
    }
}
