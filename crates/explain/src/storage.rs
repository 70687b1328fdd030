//! What every arm had in memory, and what it read and wrote of the rest.

use ciphertax_records::{Head, StorageRow, counter};

use crate::cell::CellSamples;

pub(crate) fn rows(head: &Head, cells: &[CellSamples<'_>]) -> Vec<StorageRow> {
    let of_cell = |cell: &CellSamples<'_>| {
        let rows = (0..cell.arms.len()).filter_map(|arm| row(head, cell, arm));
        rows.collect::<Vec<_>>()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// `None` where nothing is known.
fn row(head: &Head, cell: &CellSamples<'_>, arm: usize) -> Option<StorageRow> {
    let name = &cell.arms[arm];
    let mut records = head.data_sizes.iter();
    let data = records.find(|record| record.cell == cell.cell.name && record.arm == *name);
    let totals = cell.totals(arm);
    // What is written later is written too.
    let counters = cell.rounds.counters(arm).unwrap_or(&totals.counters);
    let per_operation = |name| {
        let (rose, operations) = counters.get(name)?;
        (*operations > 0).then(|| *rose as f64 / *operations as f64)
    };
    let pages_read = per_operation(counter::PAGES_READ);
    let hit_rate = |read| counter::hit_rate(read, per_operation(counter::PAGES_REQUESTED)?);
    let row = StorageRow {
        cell: String::new(),
        arm: String::new(),
        data_bytes: data.map(|data| data.data_bytes),
        disk_bytes: data.map(|data| data.disk_bytes),
        memory_bytes: data.map(|data| data.memory_bytes),
        data_to_memory: data.map(|data| data.data_to_memory()),
        hit_rate: pages_read.and_then(hit_rate),
        pages_read,
        pages_written: per_operation(counter::PAGES_WRITTEN),
        log_bytes: per_operation(counter::LOG_BYTES),
        device_busy: totals.device.map(|device| device.busy()),
        device_bytes_per_s: totals.device.map(|device| device.bytes_per_s()),
    };
    (row != StorageRow::default()).then(|| StorageRow {
        cell: cell.cell.name.clone(),
        arm: name.clone(),
        ..row
    })
}
