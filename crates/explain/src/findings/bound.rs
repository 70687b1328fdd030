//! What bounds a cell, and what that means for what an arm costs there.

use ciphertax_records::why::{Bound, BoundRow, Confirmation};
use ciphertax_records::{Finding, Run, Severity};

use super::finding::finding;
use crate::why::in_words;

/// One finding a cell of which it is known: of all arms where they are bound alike, else of each.
pub(super) fn bounds(run: &Run) -> impl Iterator<Item = Finding> {
    run.head.study.cells.iter().filter_map(|cell| {
        let of_cell = run.results.why.bounds.iter().filter(|row| row.cell == cell.name);
        let rows: Vec<&BoundRow> = of_cell.collect();
        let first = rows.first()?;
        // That nothing stands out is said by the table.
        if rows.iter().all(|row| row.bound == Bound::Mixed) {
            return None;
        }
        let name = &cell.name;
        let summary = match rows.iter().all(|row| row.bound == first.bound) {
            true => format!(
                "{name}: bound by {}{}.",
                in_words(first.bound, first.of.as_deref()),
                tried(first)
            ),
            false => {
                let each = rows.iter().map(|row| {
                    format!(
                        "{} by {}{}",
                        row.arm,
                        in_words(row.bound, row.of.as_deref()),
                        tried(row)
                    )
                });
                format!(
                    "{name}: not all arms are bound by the same: {}.",
                    each.collect::<Vec<_>>().join("; ")
                )
            }
        };
        let evidence = format!("{}: {}", first.arm, first.evidence.join("; "));
        Some(finding("bound", Severity::Cause, summary, evidence))
    })
}

/// Where a bound hides what an arm costs, or shows it in full.
pub(super) fn what_follows(run: &Run) -> impl Iterator<Item = Finding> {
    run.results.why.bounds.iter().filter_map(|row| {
        let follows = row.follows.as_ref()?;
        // That the load generator is the bound has a finding of its own.
        (row.bound != Bound::ClientCpu).then(|| {
            finding(
                "bound-follows",
                Severity::Cause,
                format!("{}: {follows}", row.cell),
                row.evidence.join("; "),
            )
        })
    })
}

fn tried(row: &BoundRow) -> &'static str {
    match row.confirmation {
        Confirmation::NotTried => "",
        Confirmation::Confirmed => ", which was tried: without it the arm is faster",
        Confirmation::Refuted => ", but it was tried: without it the arm is no faster",
        Confirmation::CannotTell => "; it was tried, too shortly to tell",
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::Study;
    use ciphertax_records::Results;

    use super::*;
    use crate::why::tests::made_up::{STUDY, head};

    fn row(arm: &str, bound: Bound, of: Option<&str>) -> BoundRow {
        BoundRow {
            cell: "select".into(),
            arm: arm.into(),
            bound,
            of: of.map(str::to_owned),
            evidence: vec![
                "log flush 518 µs of 1.86 ms (28 %)".into(),
                "the 2 CPUs are 65 % busy".into(),
            ],
            follows: None,
            confirmation: Confirmation::NotTried,
        }
    }

    fn run(bounds: Vec<BoundRow>) -> Run {
        let mut results = Results::default();
        results.why.bounds = bounds;
        Run::new(head(Study::from_toml(STUDY).unwrap()), results)
    }

    fn only(findings: impl Iterator<Item = Finding>) -> Finding {
        let findings: Vec<Finding> = findings.collect();
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings.into_iter().next().unwrap()
    }

    #[test]
    fn arms_that_are_bound_alike_are_one_sentence_with_the_evidence() {
        let commit = || row("plain", Bound::LogFlush, Some("group commit"));
        let found = only(bounds(&run(vec![
            commit(),
            BoundRow {
                arm: "tls".into(),
                ..commit()
            },
        ])));
        assert_eq!(found.summary, "select: bound by the log's flush (group commit).");
        assert!(found.evidence.contains("518 µs"), "{found:?}");
        let refuted = BoundRow {
            confirmation: Confirmation::Refuted,
            ..commit()
        };
        assert!(
            only(bounds(&run(vec![refuted])))
                .summary
                .ends_with("without it the arm is no faster.")
        );
    }

    #[test]
    fn arms_that_are_bound_by_different_things_are_told_apart_and_a_mixture_is_no_finding() {
        let rows = vec![
            row("plain", Bound::LogFlush, None),
            row("tls", Bound::ServerCpu, Some("TLS record: cipher")),
        ];
        let found = only(bounds(&run(rows)));
        assert!(
            found
                .summary
                .contains("tls by the server's CPU, most of all TLS record: cipher"),
            "{found:?}"
        );
        assert_eq!(bounds(&run(vec![row("plain", Bound::Mixed, None)])).count(), 0);
        assert_eq!(bounds(&run(Vec::new())).count(), 0);
    }

    #[test]
    fn what_hides_behind_the_bound_is_said_with_the_bounds_evidence() {
        let hidden = BoundRow {
            follows: Some("tls does not show here: …".into()),
            ..row("tls", Bound::LogFlush, None)
        };
        let found = only(what_follows(&run(vec![
            row("plain", Bound::LogFlush, None),
            hidden,
        ])));
        assert_eq!(
            (found.id.as_str(), found.summary.as_str()),
            ("bound-follows", "select: tls does not show here: …")
        );
    }
}
