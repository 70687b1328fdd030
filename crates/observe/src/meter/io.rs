//! What processes exchange with storage.

use std::fs::{self, File};

use procfs::FromRead;
use procfs::process;
use serde::{Deserialize, Serialize};

/// Bytes since a process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Io {
    /// Fetched from storage (`read_bytes` of `/proc/PID/io`).
    pub(super) read: u64,
    /// Given to storage (`write_bytes`).
    pub(super) written: u64,
}

impl Io {
    /// Those of one process, all its threads together, and of the children that it waited for; `None` where it cannot be read,
    /// as of another user's.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let file = File::open(format!("/proc/{pid}/io")).ok()?;
        let io = process::Io::from_read(file).ok()?;
        Some(Self {
            read: io.read_bytes,
            written: io.write_bytes,
        })
    }

    /// Those of several together; `None` where one cannot be read that has not ended.
    pub(super) fn of_all(pids: impl Iterator<Item = u32>) -> Option<Self> {
        let mut sum = Self::default();
        for pid in pids {
            match Self::of(pid) {
                Some(io) => {
                    sum.read += io.read;
                    sum.written += io.written;
                }
                // Whoever waited for it has it.
                None if fs::metadata(format!("/proc/{pid}")).is_err() => {}
                None => return None,
            }
        }
        Some(sum)
    }
}
