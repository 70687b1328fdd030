//! What the block device under a folder does, whoever asks it.

mod beneath;
mod mounts;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use ciphertax_records::DeviceUse;

use crate::error::{Error, Result};
use beneath::{Beneath, System};

/// The unit in which the kernel counts what a device transfers, whatever its own sectors are.
const SECTOR: u64 = 512;
/// The unit of its clocks.
const MILLISECOND_NS: u64 = 1_000_000;

/// What a folder lies on, once images, partitions and layers over it are followed down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// A block device.
    Device(Device),
    /// Memory.
    Memory,
    /// It cannot be told, for this reason.
    Unknown(String),
}

impl Storage {
    /// What a file or folder lies on: the whole disk for a partition, the only disk of a mapped device, the device that an
    /// image lies on for an image, the upper folder's for an overlay, the folder's that a file system in user space is made of.
    pub fn under(path: &Path) -> Self {
        let numbers = match System::here().beneath(path) {
            Beneath::Device(numbers) => numbers,
            Beneath::Memory => return Self::Memory,
            Beneath::Unknown(why) => return Self::Unknown(why),
        };
        Device::find(numbers).map_or_else(|error| Self::Unknown(error.to_string()), Self::Device)
    }

    /// The device, if it is one.
    pub fn device(self) -> Option<Device> {
        match self {
            Self::Device(device) => Some(device),
            Self::Memory | Self::Unknown(_) => None,
        }
    }
}

/// The major and minor number of a device.
pub(crate) type Numbers = (u32, u32);

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    numbers: Numbers,
    name: String,
    /// True if the kernel counts its flushes: those of a device that is made of others are counted with these.
    counts_flushes: bool,
}

/// What a device has done since the machine started, for all that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceUsage(DeviceUse);

impl Device {
    fn find(numbers: Numbers) -> Result<Self> {
        let found = disk_stat(numbers)?;
        Ok(Self {
            numbers,
            name: found.name,
            counts_flushes: !System::here().is_made_of_others(numbers),
        })
    }

    /// The kernel's name for it, such as `nvme0n1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads `/proc/diskstats`.
    ///
    /// # Errors
    /// If it cannot be read, or the device is gone.
    pub fn read(&self) -> Result<DeviceUsage> {
        let stat = disk_stat(self.numbers)?;
        let flushes = stat.flushes.filter(|_| self.counts_flushes);
        Ok(DeviceUsage(DeviceUse {
            busy_ns: stat.time_in_progress * MILLISECOND_NS,
            read_bytes: stat.sectors_read * SECTOR,
            written_bytes: stat.sectors_written * SECTOR,
            reads: stat.reads,
            writes: stat.writes,
            queue_ns: stat.weighted_time_in_progress * MILLISECOND_NS,
            flushes,
            flush_ns: flushes.and(stat.time_flushing).map(|ms| ms * MILLISECOND_NS),
        }))
    }
}

/// The line of a device.
fn disk_stat(numbers: Numbers) -> Result<procfs::DiskStat> {
    const FILE: &str = "/proc/diskstats";
    let gone = || io::Error::other(format!("there is no device {}:{}", numbers.0, numbers.1));
    let is_it = |device: &procfs::DiskStat| {
        u32::try_from(device.major) == Ok(numbers.0) && u32::try_from(device.minor) == Ok(numbers.1)
    };
    let devices = procfs::diskstats().map_err(io::Error::other);
    let mut devices = devices.map_err(Error::read(FILE))?.into_iter();
    devices.find(is_it).ok_or_else(gone).map_err(Error::read(FILE))
}

impl DeviceUsage {
    /// What it has done since an earlier reading.
    pub fn since(&self, earlier: &Self) -> DeviceUse {
        let (now, before) = (&self.0, &earlier.0);
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        DeviceUse {
            busy_ns: now.busy_ns.saturating_sub(before.busy_ns),
            read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            reads: now.reads.saturating_sub(before.reads),
            writes: now.writes.saturating_sub(before.writes),
            queue_ns: now.queue_ns.saturating_sub(before.queue_ns),
            flushes: since(now.flushes, before.flushes),
            flush_ns: since(now.flush_ns, before.flush_ns),
        }
    }
}
