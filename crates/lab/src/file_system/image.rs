//! ext4 in an image, with and without encryption.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ciphertax_model::FileSystem;
use ciphertax_supervise::namespace::{mount, mount_bind, unmount};
use ciphertax_supervise::{create_private_file, free_mb};

use crate::error::{Error, Result};
use crate::tunnel::program::{Program, run_to_success};

use super::fscrypt::Key;
use super::loop_device::{CONTROL, LoopDevice};
use super::{FileSystemError, beside, system};

/// Where the kernel says that its ext4 can encrypt.
const CAN_ENCRYPT: &str = "/sys/fs/ext4/features/encryption";

/// How the file system is made, encrypted or not: in one go, so that nothing of it is left to a thread of the kernel's
/// afterwards, and without the blocks that only root may use.
const FORMAT: [&str; 8] = [
    "-q",
    "-F",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0",
    "-O",
    "encrypt",
    "-m",
    "0",
];

/// The folder of the data in it: its top cannot be encrypted, and has a folder of its own that servers stumble over.
const DATA: &str = "data";

/// An image with a file system that is mounted.
#[derive(Debug)]
pub(super) struct Image {
    path: PathBuf,
    device: String,
    direct_io: bool,
    key: Option<Key>,
}

/// Whether this user can have such a file system on this machine.
pub(super) fn check(kind: FileSystem, may_mount: bool) -> Result<()> {
    if !may_mount {
        return Err(FileSystemError::NeedsRoot { file_system: kind }.into());
    }
    if kind == FileSystem::Fscrypt && !Path::new(CAN_ENCRYPT).exists() {
        return Err(FileSystemError::NoEncryption.into());
    }
    find_mkfs()?;
    let opened = File::options().read(true).write(true).open(CONTROL);
    opened.map(drop).map_err(|cause| {
        FileSystemError::NoDevice {
            file_system: kind,
            device: CONTROL.into(),
            cause,
        }
        .into()
    })
}

impl Image {
    /// Makes an image of so many megabytes beside `folder` and mounts it there.
    pub(super) fn mount(folder: &Path, size_mb: u64, encrypted: bool) -> Result<Self> {
        let path = beside(folder, "image");
        reserve(&path, size_mb)?;
        let mut format = FORMAT.map(OsString::from).to_vec();
        format.push(path.clone().into());
        run_to_success(&find_mkfs()?.command_line(format))?;
        let device = LoopDevice::attach(&path).map_err(system("attach a loop device"))?;
        let direct_io = device.has_direct_io().map_err(system("ask a loop device"))?;

        let key = with_top(&device.path(), folder, |top| {
            let data = top.join(DATA);
            fs::create_dir(&data).map_err(Error::write(&data))?;
            let key = match encrypted {
                true => Some(Key::encrypt(&data)?),
                false => None,
            };
            mount_bind(&data, folder).map_err(system(format!("mount {}", folder.display())))?;
            Ok(key)
        })?;
        Ok(Self {
            path,
            device: device.name(),
            direct_io,
            key,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of its loop device.
    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// True if the loop device is read and written past the page cache.
    pub(super) fn has_direct_io(&self) -> bool {
        self.direct_io
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let encryption = match self.key {
            Some(_) => "AES-256-XTS, names AES-256-CTS",
            None => "none",
        };
        let direct_io = if self.direct_io { "yes" } else { "no" };
        BTreeMap::from([
            ("encryption".into(), encryption.into()),
            ("loop device past the page cache".into(), direct_io.into()),
        ])
    }

    /// Takes the key away; `folder` is where the data are mounted.
    pub(super) fn lock(&self, folder: &Path) -> Result<()> {
        let Some(key) = &self.key else {
            return Err(FileSystemError::NoKey {
                file_system: FileSystem::Ext4,
            }
            .into());
        };
        let device = Path::new("/dev").join(&self.device);
        with_top(&device, folder, |top| {
            // What is mounted is in use.
            unmount(folder).map_err(system(format!("unmount {}", folder.display())))?;
            let removed = key.remove(top);
            mount_bind(&top.join(DATA), folder).map_err(system(format!("mount {}", folder.display())))?;
            removed
        })
    }
}

/// Does something with the top of the file system on a device, which is mounted beside `folder` meanwhile.
fn with_top<T>(device: &Path, folder: &Path, work: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let top = beside(folder, "mount");
    fs::create_dir(&top).map_err(Error::write(&top))?;
    mount(device, &top, c"ext4", c"noinit_itable").map_err(system(format!("mount {}", device.display())))?;
    let outcome = work(&top);
    unmount(&top).map_err(system(format!("unmount {}", top.display())))?;
    fs::remove_dir(&top).map_err(Error::write(&top))?;
    outcome
}

fn find_mkfs() -> Result<Program> {
    Program::find(&["mkfs.ext4"], "e2fsprogs")
}

/// Makes a sparse file, for which there must be room: a file system whose disk has none left does not say that it is full,
/// but that its device is broken.
fn reserve(path: &Path, size_mb: u64) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let free_mb = free_mb(folder).map_err(Error::read(folder))?;
    if free_mb < size_mb {
        return Err(ciphertax_supervise::Error::DiskFull {
            folder: folder.into(),
            free_mb,
            needed_mb: size_mb,
        }
        .into());
    }
    let file = create_private_file(path)?;
    file.set_len(size_mb * 1_000_000 / 4096 * 4096)
        .map_err(Error::write(path))
}
