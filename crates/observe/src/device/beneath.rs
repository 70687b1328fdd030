//! From a folder down to what it lies on.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{Mount, Numbers};

/// Layers, images and mapped devices that are followed down.
const DEEPEST: u32 = 16;
/// File systems that are kept in memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
/// Network file systems whose source begins like a path.
const OVER_NETWORK: [&str; 3] = ["cifs", "smb3", "smbfs"];

/// What lies beneath a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beneath {
    Device(Numbers),
    Memory,
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// Who is asked.
pub(super) struct System<'a> {
    /// Where sysfs is.
    pub(super) sys: PathBuf,
    /// Gives `/proc/self/mountinfo`; empty if it cannot be read.
    pub(super) mountinfo: &'a dyn Fn() -> String,
    /// Gives the numbers of a path.
    pub(super) look: &'a dyn Fn(&Path) -> Option<Look>,
}

/// What the system says of a path.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The device that it lies on; with the major number 0 it is none.
    pub(super) lies_on: Numbers,
    /// The block device that it is the node of.
    pub(super) node_of: Option<Numbers>,
}

impl System<'static> {
    /// This one.
    pub(super) fn here() -> Self {
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
    pub(super) fn beneath(&self, path: &Path) -> Beneath {
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
    pub(super) fn is_made_of_others(&self, numbers: Numbers) -> bool {
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

    pub(super) fn folder_of(&self, (major, minor): Numbers) -> PathBuf {
        self.sys.join(format!("dev/block/{major}:{minor}"))
    }
}

/// The numbers that a file of sysfs holds.
fn numbers_in(file: &Path) -> Option<Numbers> {
    let text = fs::read_to_string(file).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
