//! What bounds the speed, and what follows; poolers and round trips.

use ciphertax_base::format::{plain, rounded};
use ciphertax_base::joined;
use ciphertax_model::Metric;
use ciphertax_records::why::{Bound, BoundRow, Confirmation};
use ciphertax_records::{ArmRecord, Finding, MeasuredCell, PhaseRow, Run};

use super::{cause, share};
use crate::why::in_words;

/// What bounds a cell. One finding a cell of which it is known: of all arms where they are bound alike, else of each.
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
                        "{}: {}{}",
                        row.arm,
                        in_words(row.bound, row.of.as_deref()),
                        tried(row)
                    )
                });
                format!(
                    "{name}: the arms have different bottlenecks: {}.",
                    joined(each, "; ")
                )
            }
        };
        let evidence = format!("{}: {}", first.arm, first.evidence.join("; "));
        Some(cause("bound", summary, evidence))
    })
}

/// Where a bound hides what an arm costs, or shows it in full.
pub(super) fn what_follows(run: &Run) -> impl Iterator<Item = Finding> {
    run.results.why.bounds.iter().filter_map(|row| {
        let follows = row.follows.as_ref()?;
        // That the load generator is the bound has a finding of its own.
        (row.bound != Bound::ClientCpu).then(|| {
            cause(
                "bound-follows",
                format!("{}: {follows}", row.cell),
                row.evidence.join("; "),
            )
        })
    })
}

fn tried(row: &BoundRow) -> &'static str {
    match row.confirmation {
        Confirmation::NotTried => "",
        Confirmation::Confirmed => " (confirmed: without it the arm is faster)",
        Confirmation::Refuted => " (refuted: without it the arm is no faster)",
        Confirmation::CannotTell => " (not confirmed: the test was too short)",
    }
}

/// How often the connects of one arm wait for the server, and how long they take.
struct Waits<'a> {
    arm: &'a str,
    rows: Vec<&'a PhaseRow>,
    /// Times that the client waits for the server.
    flights: f64,
    total_us: f64,
}

/// Of a cell at a distance: by arm how often a connect waits for the server, and how much of its time that is.
pub(super) fn round_trips(run: &Run, cell: MeasuredCell<'_>) -> Option<Finding> {
    let rtt_ms = cell.link?.rtt_ms;
    if rtt_ms <= 0.0 || !cell.asked.workload.makes_connections() {
        return None;
    }
    // A tunnel's own round trips are not the client's to count.
    let has_tunnel = |arm: &ArmRecord| run.head.asked(arm).is_some_and(|arm| arm.tunnel.is_some());
    let arms = run.head.arms_once().filter(|arm| !has_tunnel(arm));
    let waits: Vec<Waits<'_>> = arms.filter_map(|arm| waits(run, cell, &arm.name)).collect();
    let explained = |waits: &Waits<'_>| waits.flights * rtt_ms * 1e3 / waits.total_us;
    let least = waits.iter().map(explained).reduce(f64::min)?;
    let most = waits.iter().map(explained).reduce(f64::max)?;
    let of_their_time = match (share(least, 1.0), share(most, 1.0)) {
        (least, most) if least == most => least,
        (least, most) => format!("{} to {most}", least.trim_end_matches(" %")),
    };
    let counts = waits
        .iter()
        .map(|waits| format!("{} over {}", plain(waits.flights), waits.arm));
    Some(cause(
        "round-trips",
        format!(
            "{}: round trips decide how long a connect takes: {}. At {rtt_ms} ms each they are {of_their_time} of the time.",
            cell.asked.name,
            joined(counts, ", ")
        ),
        joined(waits.iter().map(|waits| in_phases(waits, rtt_ms)), "; "),
    ))
}

fn waits<'a>(run: &'a Run, cell: MeasuredCell<'_>, arm: &'a str) -> Option<Waits<'a>> {
    let rows: Vec<&PhaseRow> = run.results.phases(&cell.asked.name, arm).collect();
    let flights: f64 = rows.iter().map(|row| row.flights).sum();
    let total_us: f64 = rows.iter().map(|row| row.mean_us).sum();
    (flights > 0.0 && total_us > 0.0).then(|| Waits {
        arm,
        rows: rows.into_iter().filter(|row| row.flights > 0.0).collect(),
        flights,
        total_us,
    })
}

/// `plain: TCP 1, authentication 3: 4 × 45 ms = 180 ms of 196 ms`
fn in_phases(waits: &Waits<'_>, rtt_ms: f64) -> String {
    let phases = waits
        .rows
        .iter()
        .map(|row| format!("{} {}", row.label(), plain(row.flights)));
    format!(
        "{}: {}: {} × {rtt_ms} ms = {} of {}",
        waits.arm,
        joined(phases, ", "),
        plain(waits.flights),
        rounded::microseconds(waits.flights * rtt_ms * 1e3),
        rounded::microseconds(waits.total_us)
    )
}

/// What an operation through a pooler takes of server and pooler, where the baseline goes to the server itself.
pub(super) fn pooler(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let cell_name = &cell.asked.name;
    let server = run.results.estimate(cell_name, arm, Metric::ServerCpuPerOp)?;
    let of = |arm: &str| run.results.measured(cell_name, arm, Metric::PoolerCpuPerOp);
    let pooler = of(arm).filter(|_| of(&run.head.study.baseline().name).is_none())?;
    // The pooler's part is the same whatever the server's is in truth.
    let part = pooler.value / server.baseline;
    let both = server.interval().map(|change| change + part);
    let floor = server.floor?;
    if both.low < floor && both.high > -floor {
        return None;
    }
    let what = match cell.asked.workload.makes_connections() {
        true => "a connect",
        false => "an operation",
    };
    let (together, what_to_do) = match both.value < 0.0 {
        true => (format!("{} less", rounded::share(-both.value)), ""),
        false => (
            rounded::more(both.value),
            " It pays off where clients cannot keep connections open.",
        ),
    };
    Some(cause(
        "pooler",
        format!(
            "{cell_name}, {arm}: {what} costs {} on the server ({} without a pooler) plus {} in the pooler: \
             {together} in total.{what_to_do}",
            rounded::microseconds(server.variant),
            rounded::microseconds(server.baseline),
            rounded::microseconds(pooler.value),
        ),
        format!(
            "server CPU {}, with the pooler's {}, over {} blocks",
            rounded::change(server.interval()),
            rounded::change(both),
            server.blocks
        ),
    ))
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
        let ending = " (refuted: without it the arm is no faster).";
        assert!(only(bounds(&run(vec![refuted]))).summary.ends_with(ending));
    }

    #[test]
    fn arms_that_are_bound_by_different_things_are_told_apart_and_a_mixture_is_no_finding() {
        let rows = vec![
            row("plain", Bound::LogFlush, None),
            row("tls", Bound::ServerCpu, Some("TLS record: cipher")),
        ];
        let found = only(bounds(&run(rows)));
        let words = "tls: the server's CPU, most of all TLS record: cipher";
        assert!(found.summary.contains(words), "{found:?}");
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
        let told = (found.id.as_str(), found.summary.as_str());
        assert_eq!(told, ("bound-follows", "select: tls does not show here: …"));
    }
}
