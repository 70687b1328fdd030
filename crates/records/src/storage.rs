//! What can be read of an arm's rows on the disk, how much of its data a server has in memory, and what it reads and
//! writes of the rest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a search of the disk for a canary found, before anything was measured. It has passed: a canary that could be read
/// where the arm encrypts, or that was missing where it does not, ends the arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskRecord {
    /// How many bytes were searched.
    pub searched_bytes: u64,
    /// Every kind of file that was there, by the name that readers know it by, each once.
    pub files: Vec<FilesOnDisk>,
}

impl DiskRecord {
    /// What stays readable in files of this kind; `None` where there are none.
    pub fn of(&self, kind: &str) -> Option<Readability> {
        let files = self.files.iter().find(|files| files.kind == kind);
        files.map(|files| files.readability)
    }

    /// The kinds of files of which this is so.
    pub fn kinds(&self, readability: Readability) -> impl Iterator<Item = &str> {
        let files = self
            .files
            .iter()
            .filter(move |files| files.readability == readability);
        files.map(|files| files.kind.as_str())
    }
}

/// The files of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesOnDisk {
    /// What they are: `tables`, `redo log`, `names of files` …
    pub kind: String,
    /// Whether rows can be read in them.
    pub readability: Readability,
}

/// Whether rows can be read in a kind of file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Readability {
    /// The canary was read there.
    Readable,
    /// Nothing encrypts them, and the canary had not come to lie there: rows may.
    #[strum(serialize = "not encrypted")]
    Unencrypted,
    /// They are encrypted, and the canary was nowhere in them.
    Encrypted,
}

/// What a server's folder lies on, once images, partitions and layers over it are followed down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiesOn {
    /// A block device, by the kernel's name for it, such as `nvme0n1`.
    Device(String),
    /// Memory.
    Memory,
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// The data of one arm in one cell, once they were loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataSize {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm.
    pub arm: String,
    /// The tables that the cell asks, with their indexes, as the server holds them in memory, in bytes.
    pub data_bytes: u64,
    /// What they take on the disk, in bytes.
    pub disk_bytes: u64,
    /// The server's memory for data and indexes, in bytes.
    pub memory_bytes: u64,
}

impl DataSize {
    /// How many times the server's memory its data are.
    pub fn data_to_memory(&self) -> f64 {
        self.data_bytes as f64 / (self.memory_bytes as f64).max(1.0)
    }
}

/// What an arm had in memory in one cell, and what it read and wrote of the rest, over all its valid slices. What is not
/// known is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StorageRow {
    /// Name of the cell.
    pub cell: String,
    /// Name of the arm; the repeated baseline is among them.
    pub arm: String,
    /// [`DataSize::data_bytes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<u64>,
    /// [`DataSize::disk_bytes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// [`DataSize::memory_bytes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// How many times the server's memory its data are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_to_memory: Option<f64>,
    /// Pages asked of the server's cache and found there, as a fraction of all that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_rate: Option<f64>,
    /// Pages read into the server's cache, per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_read: Option<f64>,
    /// Pages written from the server's cache, per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_written: Option<f64>,
    /// Bytes written to the log that the server recovers from, per operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<f64>,
    /// The part of the slices' time in which the device had something to do, as a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_busy: Option<f64>,
    /// Bytes per second that the device read and wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_bytes_per_s: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_looked_up_by_their_names_and_by_what_stays_readable() {
        let files = |kind: &str, readability| FilesOnDisk {
            kind: kind.into(),
            readability,
        };
        let record = DiskRecord {
            searched_bytes: 1,
            files: vec![
                files("tables", Readability::Encrypted),
                files("redo log", Readability::Readable),
                files("Aria log", Readability::Unencrypted),
            ],
        };
        assert_eq!(record.of("tables"), Some(Readability::Encrypted));
        assert_eq!(record.of("binary log"), None);
        let found = record.kinds(Readability::Readable).collect::<Vec<_>>();
        assert_eq!(found, ["redo log"]);
    }
}
