//! Data that was read from disk.

use ciphertax_model::Study;
use ciphertax_records::{Finding, Severity, counter};

use super::finding::finding;
use crate::cell::CellSamples;

/// Pages read per operation that are not worth a word.
const FEW: f64 = 0.001;
/// Of the pages that connects ask for.
const FEW_OF_CONNECTS: f64 = 0.01;

/// Of cells that leave it to the server how much of its data is in memory: those that say it ask for reads from disk.
pub(super) fn not_in_memory(study: &Study, cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    let leaves_it = move |cell: &&CellSamples<'_>| study.storage(cell.cell).memory_mb.is_none();
    cells.iter().filter(leaves_it).filter_map(|cell| {
        let (reads, operations) = rose(cell, counter::PAGES_READ);
        let (requests, _) = rose(cell, counter::PAGES_REQUESTED);
        // A server asks for many pages of its own to let somebody in.
        let is_rare = cell.cell.workload.makes_connections() && reads <= FEW_OF_CONNECTS * requests;
        (reads > FEW * operations && !is_rare).then(|| {
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

/// By how much a counter rose over all arms of a cell, and during how many operations.
fn rose(cell: &CellSamples<'_>, name: &str) -> (f64, f64) {
    let (mut sum, mut operations) = (0.0, 0.0);
    for arm in 0..cell.arms.len() {
        if let Some((rose, meanwhile)) = cell.totals(arm).counters.get(name) {
            sum += *rose as f64;
            operations += *meanwhile as f64;
        }
    }
    (sum, operations)
}
