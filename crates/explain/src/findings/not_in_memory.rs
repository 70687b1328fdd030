//! Data that was read from disk.

use ciphertax_records::{Finding, Severity};

use super::finding;
use crate::cell::CellSamples;

pub(super) fn not_in_memory(cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    const PAGE_READS: [&str; 2] = [
        "Innodb_buffer_pool_reads",
        "wiredTiger.cache.pages read into cache",
    ];
    let all = cells
        .iter()
        .flat_map(|cell| PAGE_READS.map(|counter| (cell, counter)));
    all.filter_map(|(cell, counter)| {
        let sum = |name: &str| -> i64 {
            cell.samples()
                .filter(|sample| sample.is_valid())
                .filter_map(|sample| sample.server_counters.get(name))
                .sum()
        };
        let operations: u64 = cell.samples().map(|sample| sample.operation_count()).sum();
        let reads = sum(counter);
        (reads as f64 > 0.001 * operations as f64).then(|| {
            finding(
                "read-from-disk",
                Severity::Suspicion,
                format!(
                    "{}: data was read from disk, so what is measured is diluted by I/O.",
                    cell.cell.name
                ),
                format!("{counter} rose by {reads} during {operations} operations"),
            )
        })
    })
}
