//! Where the time of a connect goes.

use ciphertax_model::record::{CellRecord, Phase, PhaseRow, Run};
use serde::Serialize;

use super::figure::{ArmName, Figure};
use crate::{format, lookup};

/// The phases of the connects of one cell.
#[derive(Serialize)]
pub(super) struct ConnectView {
    cell: String,
    /// The phases that took any time, for the legend.
    phases: Vec<PhaseName>,
    /// The phases with client CPU; empty if it was measured in none.
    cpu_phases: Vec<PhaseName>,
    arms: Vec<ArmName>,
    rows: Vec<PhaseView>,
    totals: Vec<Figure>,
    /// How they logged in and shook hands, by arm.
    logins: Vec<Logins>,
}

/// How the connects of one arm logged in and shook hands.
#[derive(Serialize)]
struct Logins {
    arm: ArmName,
    text: String,
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
    pub(super) fn of(run: &Run, cell: &CellRecord) -> Option<Self> {
        let mut view = Self {
            cell: cell.name.clone(),
            phases: phase_names(run, cell, |row| row.mean_us > 0.0),
            cpu_phases: phase_names(run, cell, |row| row.client_cpu_us.is_some_and(|cpu| cpu > 0.0)),
            arms: Vec::new(),
            rows: Vec::new(),
            totals: Vec::new(),
            logins: Vec::new(),
        };
        for arm in &run.arms {
            let mut phases = lookup::phases(run, &cell.name, &arm.name);
            phases.retain(|row| row.mean_us > 0.0);
            if phases.is_empty() {
                continue;
            }
            view.arms.push(ArmName::of(run, &arm.name));
            view.logins
                .extend(lookup::connects(run, &cell.name, &arm.name).map(|text| Logins {
                    arm: ArmName::of(run, &arm.name),
                    text,
                }));
            view.totals
                .push(Figure::microseconds(phases.iter().map(|row| row.mean_us).sum()));
            for (i, row) in phases.iter().enumerate() {
                view.rows.push(PhaseView {
                    arm: ArmName::of(run, &arm.name),
                    first_of_arm: i == 0,
                    phases_of_arm: phases.len(),
                    phase: row.phase,
                    label: row.phase.label(),
                    times: [row.mean_us, row.p50_us, row.p95_us, row.p99_us]
                        .map(Figure::microseconds)
                        .into(),
                    client_cpu: row.client_cpu_us.map(Figure::microseconds),
                    bytes: [row.bytes_sent, row.bytes_received]
                        .map(|bytes| Figure::new(bytes, format::bytes(bytes)))
                        .into(),
                    flights: Figure::new(row.flights, format::plain(row.flights)),
                });
            }
        }
        (!view.rows.is_empty()).then_some(view)
    }
}

fn phase_names(run: &Run, cell: &CellRecord, wanted: impl Fn(&PhaseRow) -> bool) -> Vec<PhaseName> {
    Phase::ALL
        .into_iter()
        .filter(|phase| {
            run.connect_phases
                .iter()
                .any(|row| row.cell == cell.name && row.phase == *phase && wanted(row))
        })
        .map(|phase| PhaseName {
            label: phase.label(),
            class: format!("phase-{}", phase.index()),
        })
        .collect()
}
