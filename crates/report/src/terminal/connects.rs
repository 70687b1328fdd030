//! The phases of a connect, and the time that each takes.

use ciphertax_base::Phase;
use ciphertax_base::format::{self, ABSENT};
use ciphertax_records::{ArmRole, MeasuredCell, PhaseRow, Run};

use super::page::{Page, Tone, harmless, left, right};
use crate::{describe, lookup};

/// Where the time of a connect goes: arms down, phases across.
pub(super) fn connect_phases(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    let by_arm: Vec<(&str, Vec<&PhaseRow>)> = run
        .head
        .arms
        .iter()
        .filter(|arm| arm.role != ArmRole::BaselineAgain)
        .map(|arm| {
            (
                arm.name.as_str(),
                lookup::phases(run, &cell.found.name, &arm.name),
            )
        })
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let shown: Vec<Phase> = Phase::ALL
        .into_iter()
        .filter(|phase| {
            by_arm
                .iter()
                .any(|(_, rows)| rows.iter().any(|row| row.phase == *phase && row.mean_us > 0.0))
        })
        .collect();
    if shown.is_empty() {
        return;
    }
    // Who opens a file waits for nobody.
    let is_embedded = run.head.is_embedded();
    let (heading, waits_are) = match is_embedded {
        true => ("Where the time of opening the database goes", ""),
        false => (
            "Where the time of a connect goes",
            "; flights: how often the client waits for the server",
        ),
    };
    match page.has(heading) {
        true => page.blank(),
        false => page.heading(heading),
    }
    page.paragraph(
        &format!(
            "{}: mean wall time of each phase, by arm{waits_are}",
            cell.found.name
        ),
        Tone::Plain,
    );
    let name = |phase: Phase| {
        let mut rows = by_arm.iter().flat_map(|(_, rows)| rows);
        rows.find(|row| row.phase == phase)
            .map_or(short(phase), |row| match phase {
                Phase::Preface => row.label(),
                _ => short(phase),
            })
    };
    let mean = |rows: &[&PhaseRow], phase: Phase| {
        let row = rows.iter().find(|row| row.phase == phase);
        right(row.map_or(ABSENT.into(), |row| format::microseconds(row.mean_us)))
    };
    let total = |rows: &[&PhaseRow]| {
        let total: f64 = rows.iter().map(|row| row.mean_us).sum();
        right(format::microseconds(total))
    };
    let waits = |rows: &[&PhaseRow]| {
        let flights: f64 = rows.iter().map(|row| row.flights).sum();
        right(format::plain(flights))
    };
    // The fewer go across, so that no figure is broken.
    if by_arm.len() < shown.len() {
        let arms = by_arm.iter().map(|(arm, _)| harmless(arm)).collect::<Vec<_>>();
        let mut table = page.table(std::iter::once("").chain(arms.iter().map(String::as_str)));
        for phase in &shown {
            let means = by_arm.iter().map(|(_, rows)| mean(rows, *phase));
            table.add_row(std::iter::once(left(name(*phase))).chain(means));
        }
        let totals = by_arm.iter().map(|(_, rows)| total(rows));
        table.add_row(std::iter::once(left("total")).chain(totals));
        if !is_embedded {
            let waits = by_arm.iter().map(|(_, rows)| waits(rows));
            table.add_row(std::iter::once(left(WAITS)).chain(waits));
        }
        page.add_table(&table);
    } else {
        let header = std::iter::once("")
            .chain(shown.iter().map(|phase| name(*phase)))
            .chain(["total"])
            .chain((!is_embedded).then_some(WAITS));
        let mut table = page.table(header);
        for (arm, rows) in &by_arm {
            let means = shown.iter().map(|phase| mean(rows, *phase));
            table.add_row(
                std::iter::once(left(arm))
                    .chain(means)
                    .chain([total(rows)])
                    .chain((!is_embedded).then(|| waits(rows))),
            );
        }
        page.add_table(&table);
    }
    for (arm, rows) in &by_arm {
        let parts: Vec<String> = rows
            .iter()
            .filter_map(|row| {
                let cpu = row.client_cpu_us.filter(|cpu| *cpu > 0.0)?;
                Some(format!("{} {}", row.phase, format::microseconds(cpu)))
            })
            .collect();
        if !parts.is_empty() {
            page.paragraph(&format!("client CPU, {arm}: {}", parts.join(", ")), Tone::Plain);
        }
    }
    for (arm, _) in &by_arm {
        if let Some(connects) = describe::connects(run, &cell.found.name, arm) {
            page.paragraph(&format!("{arm}: {connects}"), Tone::Plain);
        }
    }
}

/// How often a connect waits for the server before it can go on.
const WAITS: &str = "flights";

/// Names that fit the columns of a narrow table.
fn short(phase: Phase) -> &'static str {
    match phase {
        Phase::Tls => "TLS",
        Phase::Auth => "login",
        Phase::FirstOperation => "query",
        other => other.label(),
    }
}
