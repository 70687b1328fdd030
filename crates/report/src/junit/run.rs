//! The run as JUnit's XML, which every CI system shows: what did not work is a failure there, what was not decided is skipped. A
//! cost is no failure: it is what the run was to find out.

use std::io::{self, Write};

use ciphertax_records::{ArmRecord, ArmRole, EstimateRow, MeasuredCell, Run, RunStatus};
use ciphertax_stats::{Verdict, format};

use super::{Case, Outcome, Suite, render};
use crate::{describe, lookup, words};

/// A suite for the run itself, whose cases are its end and the proofs of its arms, and one for each cell, whose cases are its
/// comparisons.
///
/// # Errors
/// When nothing can be written.
pub fn render_run(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut suites = vec![suite(run, "run", of_run(run))];
    suites.extend(
        run.cells()
            .map(|cell| suite(run, &cell.found.name, of_cell(run, cell))),
    );
    suites[0].time_s = run.results.elapsed_s;
    let name = format!("ciphertax {}", run.head.study.name);
    out.write_all(render(&name, &suites)?.as_bytes())
}

fn suite(run: &Run, name: &str, cases: Vec<Found>) -> Suite {
    let class = format!("{}.{name}", run.head.study.name);
    let case = |(name, outcome, output)| Case {
        class: class.clone(),
        name,
        outcome,
        output,
    };
    Suite {
        name: name.into(),
        timestamp: run.head.started.clone(),
        time_s: 0.0,
        properties: Vec::new(),
        cases: cases.into_iter().map(case).collect(),
    }
}

/// Name, outcome and what was found.
type Found = (String, Outcome, String);

fn of_run(run: &Run) -> Vec<Found> {
    let end = match (&run.head.status, &run.head.inconsistent) {
        (_, Some(why)) => Outcome::Failed(why.clone()),
        (RunStatus::Complete, None) => Outcome::Passed,
        (_, None) => Outcome::Failed(describe::unfinished(run).unwrap_or_default()),
    };
    let verdict = run.results.verdict.clone();
    let arms = run.head.arms.iter();
    let arms = arms.filter(|arm| arm.role != ArmRole::BaselineAgain);
    let left_out = run.head.left_out.iter().map(|left_out| {
        let why = Outcome::Skipped(left_out.reason.to_string());
        (format!("{} is what it says", left_out.arm), why, String::new())
    });
    std::iter::once(("the run came to its end".into(), end, verdict))
        .chain(arms.map(proved))
        .chain(left_out)
        .collect()
}

fn proved(arm: &ArmRecord) -> Found {
    let proofs = arm.sessions.iter().flat_map(|session| &session.proofs);
    let proofs: Vec<String> = proofs
        .map(|proof| format!("{}: {}", proof.witness, proof.evidence))
        .collect();
    let outcome = match proofs.as_slice() {
        [] => Outcome::Failed("not proved: the run ended before".into()),
        _ => Outcome::Passed,
    };
    (
        format!("{} is what it says", arm.name),
        outcome,
        proofs.join("\n"),
    )
}

fn of_cell(run: &Run, cell: MeasuredCell<'_>) -> Vec<Found> {
    let rows = run.results.estimates.iter();
    let rows: Vec<&EstimateRow> = rows.filter(|row| row.cell == cell.found.name).collect();
    let not_compared = lookup::variants_in(run, cell)
        .filter(|arm| !rows.iter().any(|row| row.arm == arm.name))
        .map(|arm| {
            let why = describe::blocks_wanted(cell).unwrap_or("it was not compared".into());
            (arm.name.clone(), Outcome::Skipped(why), String::new())
        });
    let compared = rows.iter().map(|row| compared(run, row));
    compared.chain(not_compared).collect()
}

fn compared(run: &Run, row: &EstimateRow) -> Found {
    let found = format!(
        "{}: {}, from {} to {}",
        format::change_with_interval(row.interval()),
        describe::verdict_word(run, row),
        format::quantity(row.baseline, &row.unit),
        format::quantity(row.variant, &row.unit),
    );
    let outcome = match row.verdict {
        Verdict::CannotTell => Outcome::Skipped(format!("cannot tell: {}", words::rule(row))),
        Verdict::Costs | Verdict::Gains | Verdict::NoCost => Outcome::Passed,
    };
    (format!("{}: {}", row.arm, row.metric), outcome, found)
}
