//! What a distance costs a connect: so many waits for a server that is so far away.

use ciphertax_records::{ArmRecord, ArmRole, Finding, MeasuredCell, PhaseRow, Run, Severity};
use ciphertax_stats::format::{plain, rounded};

use super::finding::{finding, share};

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
    let arms = run.head.arms.iter().filter(|arm| is_told(run, arm));
    let waits: Vec<Waits<'_>> = arms.filter_map(|arm| waits(run, cell, &arm.name)).collect();
    let explained = |waits: &Waits<'_>| waits.flights * rtt_ms * 1e3 / waits.total_us;
    let least = waits.iter().map(explained).reduce(f64::min)?;
    let most = waits.iter().map(explained).reduce(f64::max)?;
    let of_their_time = match (share(least, 1.0), share(most, 1.0)) {
        (least, most) if least == most => least,
        (least, most) => format!("{} to {most}", least.trim_end_matches(" %")),
    };
    let counts: Vec<String> = waits
        .iter()
        .enumerate()
        .map(|(index, waits)| {
            let times = if index == 0 { " times" } else { "" };
            format!("{}{times} over {}", plain(waits.flights), waits.arm)
        })
        .collect();
    let evidence: Vec<String> = waits.iter().map(|waits| in_phases(waits, rtt_ms)).collect();
    Some(finding(
        "round-trips",
        Severity::Cause,
        format!(
            "{}: how often a connect waits for the server decides how long it takes: {}. At {rtt_ms} ms each that is \
             {of_their_time} of the time measured.",
            cell.asked.name,
            counts.join(", ")
        ),
        evidence.join("; "),
    ))
}

/// A tunnel's own round trips are not the client's to count.
fn is_told(run: &Run, arm: &ArmRecord) -> bool {
    let has_tunnel = run.head.asked(arm).is_some_and(|arm| arm.tunnel.is_some());
    arm.role != ArmRole::BaselineAgain && !has_tunnel
}

fn waits<'a>(run: &'a Run, cell: MeasuredCell<'_>, arm: &'a str) -> Option<Waits<'a>> {
    let of_arm = run.results.connect_phases.iter();
    let rows: Vec<&PhaseRow> = of_arm
        .filter(|row| row.cell == cell.asked.name && row.arm == arm)
        .collect();
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
    let phases: Vec<String> = waits
        .rows
        .iter()
        .map(|row| format!("{} {}", row.label(), plain(row.flights)))
        .collect();
    format!(
        "{}: {}: {} × {rtt_ms} ms = {} of {}",
        waits.arm,
        phases.join(", "),
        plain(waits.flights),
        rounded::microseconds(waits.flights * rtt_ms * 1e3),
        rounded::microseconds(waits.total_us)
    )
}
