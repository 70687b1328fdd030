//! The block device under a folder: what it does, whoever asks it, and the way down to it.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use ciphertax_base::DeviceUse;
use rustix::fs::FileType;

use crate::{Error, Result};

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

/// A mounted file system, as `/proc/self/mountinfo` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Where it is mounted.
    point: PathBuf,
    /// Its type, such as `ext4`, `overlay` or `fuse.gocryptfs`.
    kind: String,
    /// What it is made of: a device, a folder, a word.
    source: PathBuf,
    /// The file system's own options.
    options: String,
}

impl Mount {
    /// The one that a path lies in: of those that are mounted nearest above it, the last.
    fn of(mountinfo: &str, path: &Path) -> Option<Self> {
        let mounts = mountinfo.lines().filter_map(Self::from_line);
        let above = mounts.filter(|mount| path.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.components().count())
    }

    /// `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG …] - TYPE SOURCE OPTIONS`, as proc_pid_mountinfo(5) has it.
    fn from_line(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        Some(Self {
            point: unescaped(mount.split(' ').nth(4)?),
            kind: file_system.next()?.to_owned(),
            source: unescaped(file_system.next()?),
            options: file_system.next().unwrap_or_default().to_owned(),
        })
    }

    /// The value of an option that is a path. A comma in it is one with a backslash before it.
    fn path_in_option(&self, name: &str) -> Option<PathBuf> {
        let hidden = unescaped(&self.options).into_os_string();
        let text = hidden.to_str()?.replace("\\,", "\0");
        let mut options = text.split(',').filter_map(|option| option.split_once('='));
        let (_, value) = options.find(|(option, _)| *option == name)?;
        Some(value.replace('\0', ",").replace("\\:", ":").into())
    }
}

/// The kernel writes blanks and backslashes as three octal digits after a backslash.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let byte = more
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[3..] } else { more };
    }
    OsStr::from_bytes(&bytes).into()
}

/// Layers, images and mapped devices that are followed down.
const DEEPEST: u32 = 16;
/// File systems that are kept in memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
/// Network file systems whose source begins like a path.
const OVER_NETWORK: [&str; 3] = ["cifs", "smb3", "smbfs"];

/// What lies beneath a folder.
#[derive(Debug, PartialEq, Eq)]
enum Beneath {
    Device(Numbers),
    Memory,
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// Who is asked.
struct System<'a> {
    /// Where sysfs is.
    sys: PathBuf,
    /// Gives `/proc/self/mountinfo`; empty if it cannot be read.
    mountinfo: &'a dyn Fn() -> String,
    /// Gives the numbers of a path.
    look: &'a dyn Fn(&Path) -> Option<Look>,
}

/// What the system says of a path.
#[derive(Clone, Copy)]
struct Look {
    /// The device that it lies on; with the major number 0 it is none.
    lies_on: Numbers,
    /// The block device that it is the node of.
    node_of: Option<Numbers>,
}

impl System<'static> {
    /// This one.
    fn here() -> Self {
        Self {
            sys: "/sys".into(),
            mountinfo: &|| fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(),
            look: &|path| {
                let stat = rustix::fs::stat(path).ok()?;
                let numbers = |device| (rustix::fs::major(device), rustix::fs::minor(device));
                let is_node = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
                Some(Look {
                    lies_on: numbers(stat.st_dev),
                    node_of: is_node.then(|| numbers(stat.st_rdev)),
                })
            },
        }
    }
}

/// One step down.
enum Step {
    /// This is it.
    Found(Beneath),
    /// It is made of what this path is, or lies on.
    Path(PathBuf),
}

impl System<'_> {
    fn beneath(&self, path: &Path) -> Beneath {
        let mut path = path.to_owned();
        // What is known if it goes no deeper.
        let mut device = None;
        for _ in 0..DEEPEST {
            let numbers = match (self.look)(&path) {
                Some(Look {
                    node_of: Some(numbers),
                    ..
                }) => numbers,
                Some(Look { lies_on, .. }) if lies_on.0 != 0 => lies_on,
                Some(_) => match self.of_mount(&path) {
                    Step::Path(below) if below != path => {
                        path = below;
                        continue;
                    }
                    Step::Path(_) => break,
                    Step::Found(found) => return found,
                },
                None => break,
            };
            let disk = self.disk_of(numbers);
            device = Some(disk);
            match self.image_of(disk) {
                Some(image) => path = image,
                None => break,
            }
        }
        let unseen = || Beneath::Unknown(format!("{} cannot be seen from here", path.display()));
        device.map_or_else(unseen, Beneath::Device)
    }

    /// What a file system without a device of its own is made of.
    fn of_mount(&self, path: &Path) -> Step {
        let unknown = |why: String| Step::Found(Beneath::Unknown(why));
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(mount) = Mount::of(&(self.mountinfo)(), &real) else {
            return unknown(format!("nothing is said to be mounted at {}", real.display()));
        };
        let kind = mount.kind.as_str();
        if IN_MEMORY.contains(&kind) {
            return Step::Found(Beneath::Memory);
        }
        if kind == "overlay" {
            let upper = mount.path_in_option("upperdir");
            return upper.map_or_else(
                || unknown("an overlay without an upper folder".into()),
                Step::Path,
            );
        }
        let is_far = OVER_NETWORK.contains(&kind) || mount.source.starts_with("/dev/fuse");
        match mount.source.is_absolute() && !is_far {
            true => Step::Path(mount.source),
            false => unknown(format!("a file system of the type {kind}")),
        }
    }

    /// The whole disk of a partition, and the disk of a mapped device that has only one.
    fn disk_of(&self, numbers: Numbers) -> Numbers {
        let mut found = numbers;
        for _ in 0..DEEPEST {
            let folder = self.folder_of(found);
            let below = match folder.join("partition").exists() {
                // Above the folder that the link leads to.
                true => numbers_in(&folder.join("../dev")),
                false => match self.made_of(found).as_slice() {
                    [only] => numbers_in(&only.join("dev")),
                    _ => None,
                },
            };
            match below {
                Some(below) => found = below,
                None => break,
            }
        }
        found
    }

    /// True if a device is made of others that do what it is asked.
    fn is_made_of_others(&self, numbers: Numbers) -> bool {
        !self.made_of(numbers).is_empty()
    }

    /// The devices that a mapped one is made of.
    fn made_of(&self, numbers: Numbers) -> Vec<PathBuf> {
        let slaves = fs::read_dir(self.folder_of(numbers).join("slaves"));
        let slaves = slaves.into_iter().flatten().flatten();
        slaves.map(|slave| slave.path()).collect()
    }

    /// The file that is a loop device's.
    fn image_of(&self, numbers: Numbers) -> Option<PathBuf> {
        let image = fs::read_to_string(self.folder_of(numbers).join("loop/backing_file")).ok()?;
        Some(image.trim_end_matches('\n').into())
    }

    fn folder_of(&self, (major, minor): Numbers) -> PathBuf {
        self.sys.join(format!("dev/block/{major}:{minor}"))
    }
}

/// The numbers that a file of sysfs holds.
fn numbers_in(file: &Path) -> Option<Numbers> {
    let text = fs::read_to_string(file).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
