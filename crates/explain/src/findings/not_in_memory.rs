//! Data that was read from disk.

use ciphertax_records::{Finding, Severity, counter};

use super::finding::finding;
use crate::cell::CellSamples;

/// Pages read per operation that are not worth a word.
const FEW: f64 = 0.001;

pub(super) fn not_in_memory(cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    cells.iter().filter_map(|cell| {
        let (mut reads, mut operations) = (0, 0);
        for arm in 0..cell.arms.len() {
            if let Some((rose, meanwhile)) = cell.totals(arm).counters.get(counter::PAGES_READ) {
                reads += rose;
                operations += meanwhile;
            }
        }
        (reads as f64 > FEW * operations as f64).then(|| {
            finding(
                "read-from-disk",
                Severity::Suspicion,
                format!(
                    "{}: data was read from disk, so what is measured is diluted by I/O.",
                    cell.cell.name
                ),
                format!("the server read {reads} pages into its cache during {operations} operations"),
            )
        })
    })
}
