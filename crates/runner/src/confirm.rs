//! What would take away the bound of a run's cells, as a study of its own: bounds are tried, not only said.

use ciphertax_model::{Arm, Cell, Placement, Probe, ProbeValue, Profiling, Study};
use ciphertax_records::why::{Bound, BoundRow};
use ciphertax_records::{Run, is_of_mysqls_family};

/// The time that is spent on each cell whose bound is taken away, in seconds.
pub const TIME_OF_CELL_S: f64 = 30.0;

/// The study that takes away, for the baseline of each cell, what bounds it; `None` where no bound can be taken away: those of the
/// client, of the way, of the schedule, and of several things together, and all of servers other than MySQL's family but their
/// CPUs.
pub fn confirming(run: &Run) -> Option<Study> {
    let study = &run.head.study;
    let baseline = study.baseline();
    let mut arms = vec![baseline.clone()];
    let mut cells = Vec::new();
    for cell in &study.cells {
        let is_meant = |row: &&BoundRow| row.cell == cell.name && row.arm == baseline.name;
        let row = run.results.why.bounds.iter().find(is_meant);
        let Some(probe) = row.and_then(|row| probe(run, cell, row)) else {
            continue;
        };
        let arm = Arm {
            name: format!("{}, {probe}", baseline.name),
            probe: Some(probe),
            ..baseline.clone()
        };
        cells.push(Cell {
            arms: Some(vec![baseline.name.clone(), arm.name.clone()]),
            ..cell.clone()
        });
        if !arms.contains(&arm) {
            arms.push(arm);
        }
    }
    (!cells.is_empty()).then(|| Study {
        question: "Is it what bounds each cell?".to_owned(),
        time_s: TIME_OF_CELL_S * cells.len() as f64,
        profile: Profiling::Off,
        arms,
        cells,
        published: Vec::new(),
        budgets: Vec::new(),
        ..study.clone()
    })
}

/// What takes a bound away, or tightens it.
fn probe(run: &Run, cell: &Cell, row: &BoundRow) -> Option<Probe> {
    let study = &run.head.study;
    let storage = study.storage(cell);
    let is_of_mysql = is_of_mysql(run, cell);
    match row.bound {
        Bound::LogFlush if is_of_mysql && storage.binary_log && storage.sync_binlog != Some(0) => {
            Some(Probe::variable("sync_binlog", ProbeValue::Whole(0)))
        }
        Bound::LogFlush if is_of_mysql => Some(Probe::variable(
            "innodb_flush_log_at_trx_commit",
            ProbeValue::Whole(0),
        )),
        Bound::Lock | Bound::Spinning if is_of_mysql && is_of_hash_index(row) => Some(Probe::variable(
            "innodb_adaptive_hash_index",
            ProbeValue::Text("OFF".to_owned()),
        )),
        Bound::ServerCpu | Bound::Spinning if study.placement == Placement::Free => {
            let fewer = run.head.host.cpus.checked_sub(1).filter(|fewer| *fewer > 0)?;
            Some(Probe::cpus(u16::try_from(fewer).ok()?))
        }
        _ => None,
    }
}

/// InnoDB calls the latches of its adaptive hash index by its search (`btr_search`).
fn is_of_hash_index(row: &BoundRow) -> bool {
    let of = row.of.as_deref().unwrap_or_default();
    of.contains("adaptive hash") || of.contains("btr_search")
}

fn is_of_mysql(run: &Run, cell: &Cell) -> bool {
    let mut found = run.results.cells.iter();
    let found = found.find(|found| found.name == cell.name);
    let server = found.and_then(|found| run.head.servers.iter().find(|server| server.name == found.server));
    server.is_some_and(|server| is_of_mysqls_family(&server.product))
}
