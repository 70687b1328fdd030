//! What the block device under a folder does, whoever asks it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The unit in which the kernel counts what a device transfers, whatever its own sectors are.
const SECTOR: u64 = 512;
/// Images that lie in images that are followed to the disk.
const DEEPEST: u32 = 8;

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    major: u32,
    minor: u32,
}

/// What a device has done since the machine started, for all that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceUsage {
    /// How long it had a request to work on, in nanoseconds, in steps of a millisecond.
    pub busy_ns: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
}

impl Device {
    /// The device that a file or folder lies on; that of the image if it lies in one. `None` where there is no such device,
    /// as in memory or on a network, or it cannot be told.
    pub fn under(path: &Path) -> Option<Self> {
        let mut path = path.to_owned();
        for _ in 0..DEEPEST {
            let device = rustix::fs::stat(&path).ok()?.st_dev;
            let found = Self {
                major: rustix::fs::major(device),
                minor: rustix::fs::minor(device),
            };
            match found.image() {
                Some(image) => path = image,
                None => return found.read().ok().map(|_| found),
            }
        }
        None
    }

    /// Reads `/proc/diskstats`.
    ///
    /// # Errors
    /// If it cannot be read, or the device is gone.
    pub fn read(&self) -> Result<DeviceUsage> {
        const FILE: &str = "/proc/diskstats";
        let gone = || io::Error::other(format!("there is no device {}:{}", self.major, self.minor));
        let of_this = |(major, minor): (i32, i32)| {
            u32::try_from(major) == Ok(self.major) && u32::try_from(minor) == Ok(self.minor)
        };
        let devices = procfs::diskstats().map_err(io::Error::other);
        let mut devices = devices.map_err(Error::read(FILE))?.into_iter();
        let found = devices.find(|device| of_this((device.major, device.minor)));
        let stat = found.ok_or_else(gone).map_err(Error::read(FILE))?;
        Ok(DeviceUsage {
            busy_ns: stat.time_in_progress * 1_000_000,
            read_bytes: stat.sectors_read * SECTOR,
            written_bytes: stat.sectors_written * SECTOR,
        })
    }

    /// The file that is a loop device's.
    fn image(&self) -> Option<PathBuf> {
        let file = format!("/sys/dev/block/{}:{}/loop/backing_file", self.major, self.minor);
        let image = fs::read_to_string(file).ok()?;
        Some(image.trim_end_matches('\n').into())
    }
}

impl DeviceUsage {
    /// What it has done since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ciphertax_testkit::not_tested;

    use super::*;

    #[test]
    fn what_is_written_to_a_file_and_flushed_is_written_to_the_device_under_it() {
        const BYTES: usize = 8 << 20;
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let Some(device) = Device::under(folder.path()) else {
            return not_tested("this checkout lies on no block device");
        };
        let before = device.read().unwrap();
        let mut file = fs::File::create(folder.path().join("written")).unwrap();
        // Bytes that no device makes smaller.
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        file.write_all(&noise.take(BYTES).collect::<Vec<_>>()).unwrap();
        file.sync_all().unwrap();
        let used = device.read().unwrap().since(&before);
        assert!(used.written_bytes >= BYTES as u64, "{used:?}");
        assert!(used.busy_ns > 0, "{used:?}");
    }

    #[test]
    fn what_lies_in_memory_lies_on_no_device() {
        assert_eq!(Device::under(Path::new("/proc/self")), None);
        assert_eq!(Device::under(Path::new("/nowhere at all")), None);
    }
}
