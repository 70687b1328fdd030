//! What a server had in memory and what it read and wrote of the rest, as the outputs print it.

use ciphertax_records::{Run, StorageRow};
use ciphertax_stats::format;

/// One figure of an arm: its label, the number, and as a reader wants it.
pub(crate) struct StorageFigure {
    pub(crate) label: &'static str,
    pub(crate) value: f64,
    pub(crate) is_share: bool,
    pub(crate) text: String,
}

/// A figure's label, where a row has it, and how it is written.
type Column = (&'static str, fn(&StorageRow) -> Option<f64>, Written);

enum Written {
    Bytes,
    Number,
    Share,
}

/// Of a server all its connections share it.
const MEMORY: &str = "memory for them";

const COLUMNS: [Column; 10] = [
    (
        "data and indexes",
        |row| row.data_bytes.map(|bytes| bytes as f64),
        Written::Bytes,
    ),
    (
        "the same on the disk",
        |row| row.disk_bytes.map(|bytes| bytes as f64),
        Written::Bytes,
    ),
    (
        MEMORY,
        |row| row.memory_bytes.map(|bytes| bytes as f64),
        Written::Bytes,
    ),
    ("data to memory", |row| row.data_to_memory, Written::Number),
    ("cache hit rate", |row| row.hit_rate, Written::Share),
    ("pages read per operation", |row| row.pages_read, Written::Number),
    (
        "pages written per operation",
        |row| row.pages_written,
        Written::Number,
    ),
    ("log written per operation", |row| row.log_bytes, Written::Bytes),
    ("device busy", |row| row.device_busy, Written::Share),
    (
        "device traffic per second",
        |row| row.device_bytes_per_s,
        Written::Bytes,
    ),
];

/// The figures that an arm has in a cell, in the order of all reports.
pub(crate) fn figures(run: &Run, cell: &str, arm: &str) -> Vec<StorageFigure> {
    let Some(row) = run.results.storage(cell, arm) else {
        return Vec::new();
    };
    let figure = |(label, value, written): &Column| {
        let value = value(row)?;
        Some(StorageFigure {
            label: label_in(run, label),
            value,
            is_share: matches!(written, Written::Share),
            text: match written {
                Written::Bytes => format::bytes(value),
                Written::Number => format::fine(value),
                Written::Share => format::fine_share(value),
            },
        })
    };
    COLUMNS.iter().filter_map(figure).collect()
}

/// The labels of all figures that any of these arms has in a cell.
pub(crate) fn labels<'a>(run: &Run, cell: &str, arms: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let known: Vec<&str> = arms
        .flat_map(|arm| figures(run, cell, arm))
        .map(|figure| figure.label)
        .collect();
    let labels = COLUMNS.iter().map(|(label, ..)| label_in(run, label));
    labels.filter(|label| known.contains(label)).collect()
}

/// A database that runs in its client has a cache in each connection.
fn label_in(run: &Run, label: &'static str) -> &'static str {
    match label {
        MEMORY if run.head.is_embedded() => "memory for them in each connection",
        other => other,
    }
}
