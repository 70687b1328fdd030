//! How much of its data a server has in memory, and what it reads and writes of the rest: what decides what encryption at
//! rest costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
