//! What a server can encrypt on the disk by itself, and how it keeps data in memory.

use ciphertax_model::{AtRestAlgorithm, AtRestPart, Storage};
use serde::Serialize;

/// What a server can encrypt on the disk by itself. Held to by tests that search its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AtRestCapabilities {
    /// The parts of its files.
    pub parts: &'static [AtRestPart],
    /// The ciphers that there is a choice of; empty where there is none.
    pub algorithms: &'static [AtRestAlgorithm],
    /// Whether background threads can be told to encrypt what is there.
    pub encryption_threads: bool,
    /// Whether the whole file can be encrypted by SQLCipher.
    pub sqlcipher: bool,
}

impl AtRestCapabilities {
    /// Of a server that writes everything as it is.
    pub(crate) const NONE: Self = Self {
        parts: &[],
        algorithms: &[],
        encryption_threads: false,
        sqlcipher: false,
    };
}

/// How a server can be told to keep data in memory, and to write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StorageCapabilities {
    /// The settings that it has, as study files name them.
    pub settings: &'static [&'static str],
    /// The least memory for data and indexes that it starts with, in megabytes.
    pub least_memory_mb: u32,
}

/// What servers of MySQL's family have: all.
pub(super) const ALL_OF_STORAGE: StorageCapabilities = StorageCapabilities {
    settings: &[
        "memory_mb",
        "flush",
        "flush_log_at_trx_commit",
        "binary_log",
        "sync_binlog",
        "doublewrite",
    ],
    least_memory_mb: *Storage::MEMORY_MB.start(),
};

/// What every server has.
pub(super) const MEMORY_ALONE: StorageCapabilities = StorageCapabilities {
    settings: &["memory_mb"],
    least_memory_mb: *Storage::MEMORY_MB.start(),
};
