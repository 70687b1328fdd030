//! ext4 in an image, with and without encryption, through a loop device.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use ciphertax_model::FileSystem;
use ciphertax_supervise::namespace::{mount, mount_bind, unmount};
use ciphertax_supervise::{create_private_file, free_mb};
use rustix::io::Errno;

use super::fscrypt::Key;
use super::{FileSystemError, beside, system};
use crate::error::{Error, Result};
use crate::tunnel::program::{Program, run_to_success};

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

// Of the kernel's `include/uapi/linux/loop.h`.
const LOOP_GET_STATUS64: u32 = 0x4C05;
const LOOP_CONFIGURE: u32 = 0x4C0A;
const LOOP_CTL_GET_FREE: u32 = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// The `loop_config` of the same file.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// Its `loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// By which they are found.
pub(super) const CONTROL: &str = "/dev/loop-control";

/// How often another device is taken after somebody else was faster.
const ATTEMPTS: u32 = 10;

/// A loop device that clears itself when nobody has it open or mounted any more, so it goes with this value unless it was
/// mounted before.
///
/// Loop devices are files as block devices (loop(4)).
#[derive(Debug)]
pub(super) struct LoopDevice {
    number: i32,
    file: File,
}

impl LoopDevice {
    /// Makes a block device of a file. It is written past the page cache where the file's own file system lets that be:
    /// otherwise every page would be in memory twice.
    pub(super) fn attach(image: &Path) -> io::Result<Self> {
        let image = File::options().read(true).write(true).open(image)?;
        let control = File::options().read(true).write(true).open(CONTROL)?;
        for _ in 0..ATTEMPTS {
            // SAFETY: LOOP_CTL_GET_FREE takes no argument.
            let number = unsafe { ask_plainly(&control, LOOP_CTL_GET_FREE) }?;
            let file = File::options().read(true).write(true).open(path_of(number))?;
            // SAFETY: all zeros is a valid value of this plain structure.
            let mut config: LoopConfig = unsafe { std::mem::zeroed() };
            config.fd = image.as_raw_fd().cast_unsigned();
            config.info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
            // SAFETY: LOOP_CONFIGURE reads a `LoopConfig`.
            match unsafe { ask(&file, LOOP_CONFIGURE, &mut config) } {
                Ok(_) => return Ok(Self { number, file }),
                // Somebody else was faster.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Its file.
    pub(super) fn path(&self) -> PathBuf {
        path_of(self.number)
    }

    /// Its name in the kernel.
    pub(super) fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    /// True if it is written past the page cache.
    pub(super) fn has_direct_io(&self) -> io::Result<bool> {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut info: LoopInfo = unsafe { std::mem::zeroed() };
        // SAFETY: LOOP_GET_STATUS64 writes a `LoopInfo`.
        unsafe { ask(&self.file, LOOP_GET_STATUS64, &mut info) }?;
        Ok(info.flags & LO_FLAGS_DIRECT_IO != 0)
    }
}

fn path_of(number: i32) -> PathBuf {
    format!("/dev/loop{number}").into()
}

/// Makes a request that takes a pointer to `argument`, and returns what the kernel does.
///
/// # Safety
/// `T` must be what the kernel reads and writes for this request, and `argument` a valid one.
pub(super) unsafe fn ask<T>(file: impl AsFd, request: u32, argument: &mut T) -> io::Result<i32> {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the argument outlives the call, and is what the request takes, as the caller says.
    answer(unsafe { libc::ioctl(file, request as libc::Ioctl, std::ptr::from_mut(argument)) })
}

/// Makes a request that takes nothing, and returns what the kernel does.
///
/// # Safety
/// The request must take nothing.
pub(super) unsafe fn ask_plainly(file: impl AsFd, request: u32) -> io::Result<i32> {
    // SAFETY: there is nothing that the kernel could write, as the caller says.
    answer(unsafe { libc::ioctl(file.as_fd().as_raw_fd(), request as libc::Ioctl) })
}

fn answer(returned: libc::c_int) -> io::Result<i32> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(returned)
}
