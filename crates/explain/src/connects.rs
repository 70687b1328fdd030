//! How the connects of a cell logged in, and whether they took up earlier TLS sessions.

use ciphertax_records::ConnectRow;

use crate::cell::CellSamples;

pub(crate) fn rows(cells: &[CellSamples<'_>]) -> Vec<ConnectRow> {
    cells
        .iter()
        .flat_map(|cell| (0..cell.arms.len()).filter_map(|arm| row(cell, arm)))
        .collect()
}

fn row(cell: &CellSamples<'_>, arm: usize) -> Option<ConnectRow> {
    let totals = cell.totals(arm);
    (!totals.counted_logins.is_empty()).then(|| ConnectRow {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        logins: totals.counted_logins.clone(),
        handshakes: totals.handshakes,
    })
}
