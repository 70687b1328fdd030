//! The phases of a connect, and the time that each takes.

use ciphertax_base::Phase;
use ciphertax_base::format;
use ciphertax_records::{ArmRole, MeasuredCell, PhaseRow, Run};
use serde::Serialize;

use super::figure::{ArmName, Figure};
use super::forest::percent;
use crate::{describe, lookup};

/// The phases of the connects of one cell.
#[derive(Serialize)]
pub(super) struct ConnectView {
    cell: String,
    /// Wall time, and client CPU where it was measured.
    charts: Vec<PhaseChart>,
    rows: Vec<PhaseView>,
    /// How they logged in and shook hands, by arm.
    logins: Vec<(ArmName, String)>,
}

/// One stacked bar for each arm.
#[derive(Serialize)]
struct PhaseChart {
    /// The name by which tests know it.
    chart: &'static str,
    title: &'static str,
    /// The phases that took any time, for the legend.
    phases: Vec<PhaseName>,
    bars: Vec<Bar>,
}

/// One arm.
#[derive(Serialize)]
struct Bar {
    arm: ArmName,
    total: String,
    /// Of the longest bar.
    width: String,
    pieces: Vec<Piece>,
}

/// One phase in a bar.
#[derive(Serialize)]
struct Piece {
    class: String,
    /// Of the bar.
    width: String,
    /// What is written in it; empty where there is no room.
    text: String,
    words: String,
}

/// A phase's name and the class that gives it its colour.
#[derive(Serialize)]
struct PhaseName {
    label: &'static str,
    class: String,
}

/// One phase on one arm.
#[derive(Serialize)]
struct PhaseView {
    arm: ArmName,
    first_of_arm: bool,
    phases_of_arm: usize,
    phase: Phase,
    label: &'static str,
    times: Vec<Figure>,
    client_cpu: Option<Figure>,
    bytes: Vec<Figure>,
    flights: Figure,
}

impl ConnectView {
    /// `None` if the cell has no connects.
    pub(super) fn of(run: &Run, cell: MeasuredCell<'_>) -> Option<Self> {
        let wall = PhaseChart::of(run, cell, "phases", "Wall time", |row| row.mean_us)?;
        let cpu = PhaseChart::of(run, cell, "phase-cpu", "Client CPU of cryptography", |row| {
            row.client_cpu_us.unwrap_or(0.0)
        });
        let mut view = Self {
            cell: cell.found.name.clone(),
            charts: std::iter::once(wall).chain(cpu).collect(),
            rows: Vec::new(),
            logins: Vec::new(),
        };
        for arm in shown(run) {
            let mut phases = lookup::phases(run, &cell.found.name, arm);
            phases.retain(|row| row.mean_us > 0.0);
            let logins = describe::connects(run, &cell.found.name, arm);
            view.logins
                .extend(logins.map(|text| (ArmName::of(run, arm), text)));
            let of_arm = phases.len();
            view.rows.extend(
                phases
                    .into_iter()
                    .enumerate()
                    .map(|(i, row)| PhaseView::of(run, row, i == 0, of_arm)),
            );
        }
        Some(view)
    }
}

/// The arms whose connects are shown: the repeated baseline's are the baseline's.
fn shown(run: &Run) -> impl Iterator<Item = &str> {
    run.head
        .arms
        .iter()
        .filter(|arm| arm.role != ArmRole::BaselineAgain)
        .map(|arm| arm.name.as_str())
}

impl PhaseView {
    fn of(run: &Run, row: &PhaseRow, first_of_arm: bool, phases_of_arm: usize) -> Self {
        Self {
            arm: ArmName::of(run, &row.arm),
            first_of_arm,
            phases_of_arm,
            phase: row.phase,
            label: row.label(),
            times: [row.mean_us, row.p50_us, row.p95_us, row.p99_us]
                .map(Figure::microseconds)
                .into(),
            client_cpu: row.client_cpu_us.map(Figure::microseconds),
            bytes: [row.bytes_sent, row.bytes_received]
                .map(|bytes| Figure::new(bytes, format::bytes(bytes)))
                .into(),
            flights: Figure::new(row.flights, format::plain(row.flights)),
        }
    }
}

impl PhaseChart {
    /// `None` if no phase took any time.
    fn of(
        run: &Run,
        cell: MeasuredCell<'_>,
        chart: &'static str,
        title: &'static str,
        length: impl Fn(&PhaseRow) -> f64,
    ) -> Option<Self> {
        let by_arm: Vec<(&str, Vec<(&PhaseRow, f64)>)> = shown(run)
            .map(|arm| {
                let rows = lookup::phases(run, &cell.found.name, arm);
                let lengths = rows.into_iter().map(|row| (row, length(row)));
                (arm, lengths.filter(|(_, length)| *length > 0.0).collect())
            })
            .filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty())
            .collect();
        let total = |rows: &[(&PhaseRow, f64)]| rows.iter().map(|(_, length)| length).sum::<f64>();
        let longest = by_arm.iter().map(|(_, rows)| total(rows)).reduce(f64::max)?;
        let is_shown = |phase: &Phase| {
            by_arm
                .iter()
                .any(|(_, rows)| rows.iter().any(|(row, _)| row.phase == *phase))
        };
        let phases = Phase::ALL.into_iter().filter(is_shown);
        Some(Self {
            chart,
            title,
            phases: phases
                .map(|phase| PhaseName {
                    label: label(&by_arm, phase),
                    class: class(phase),
                })
                .collect(),
            bars: by_arm
                .iter()
                .map(|(arm, rows)| {
                    let total = total(rows);
                    Bar {
                        arm: ArmName::of(run, arm),
                        total: format::microseconds(total),
                        width: percent(100.0 * total / longest),
                        pieces: rows
                            .iter()
                            .map(|(row, length)| piece(row, *length, total, longest))
                            .collect(),
                    }
                })
                .collect(),
        })
    }
}

/// What a phase is called in the legend: as in the first bar that has it.
fn label(by_arm: &[(&str, Vec<(&PhaseRow, f64)>)], phase: Phase) -> &'static str {
    let mut rows = by_arm.iter().flat_map(|(_, rows)| rows);
    rows.find(|(row, _)| row.phase == phase)
        .map_or(phase.label(), |(row, _)| row.label())
}

fn piece(row: &PhaseRow, length: f64, total: f64, longest: f64) -> Piece {
    // A number of this many characters fits this share of the longest bar, also on a phone.
    let has_room = length / longest > 0.22;
    Piece {
        class: class(row.phase),
        width: percent(100.0 * length / total),
        text: if has_room {
            format::microseconds(length)
        } else {
            String::new()
        },
        words: format!("{}, {}: {}", row.arm, row.label(), format::microseconds(length)),
    }
}

/// By its colour. What opens a file and what opens a connection never stand in one bar.
fn class(phase: Phase) -> String {
    let colour = match phase {
        Phase::Resolve => 0,
        Phase::Tcp => 1,
        Phase::Preface => 2,
        Phase::Tls => 3,
        Phase::Auth | Phase::KeyDerivation => 4,
        Phase::Setup => 5,
        Phase::FirstOperation => 6,
        Phase::Close => 7,
        Phase::Open => 8,
    };
    format!("phase-{colour}")
}
