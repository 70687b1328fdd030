//! How many operations of each kind every arm did.

use ciphertax_records::KindRate;

use crate::cell::{BASELINE, CellSamples};

/// Of all cells whose operations are of several kinds.
pub(crate) fn rates(cells: &[CellSamples<'_>]) -> Vec<KindRate> {
    let of_arm = |cell: &CellSamples<'_>, arm: usize| {
        let rate = |kind: usize| {
            let (count, seconds) = cell.done(arm, kind);
            (seconds > 0.0).then(|| KindRate {
                cell: cell.cell.name.clone(),
                arm: cell.arms[arm].clone(),
                kind: cell.kind(kind).to_owned(),
                count,
                per_second: count as f64 / seconds,
            })
        };
        cell.kinds()
            .into_iter()
            .filter_map(rate)
            .collect::<Vec<KindRate>>()
    };
    cells
        .iter()
        .flat_map(|cell| (BASELINE..cell.arms.len()).flat_map(move |arm| of_arm(cell, arm)))
        .collect()
}
