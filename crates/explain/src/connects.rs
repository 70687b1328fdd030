//! How the connects of a cell logged in, and whether they took up earlier TLS sessions.

use std::collections::BTreeMap;

use ciphertax_records::{ConnectRow, Handshakes};

use crate::cell::CellSamples;

pub(crate) fn rows(cells: &[CellSamples<'_>]) -> Vec<ConnectRow> {
    cells
        .iter()
        .flat_map(|cell| (0..cell.arms.len()).filter_map(|arm| row(cell, arm)))
        .collect()
}

fn row(cell: &CellSamples<'_>, arm: usize) -> Option<ConnectRow> {
    let mut logins = BTreeMap::new();
    let mut handshakes: Option<Handshakes> = None;
    for sample in cell.valid(arm) {
        for (path, count) in &sample.logins {
            *logins.entry(path.clone()).or_default() += count;
        }
        if let Some(more) = sample.handshakes {
            *handshakes.get_or_insert_default() += more;
        }
    }
    (!logins.is_empty()).then(|| ConnectRow {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        logins,
        handshakes,
    })
}
