//! ext4 in an image, through a loop device, without encryption and with the kernel's (<https://docs.kernel.org/filesystems/fscrypt.html>).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use ciphertax_model::FileSystem;
use ciphertax_supervise::namespace::{mount, mount_bind, unmount};
use ciphertax_supervise::{create_private_file, free_mb};
use linux_raw_sys::general::{
    FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER, FSCRYPT_MODE_AES_256_CTS, FSCRYPT_MODE_AES_256_XTS,
    FSCRYPT_POLICY_FLAGS_PAD_16, FSCRYPT_POLICY_V2, fscrypt_add_key_arg, fscrypt_get_policy_ex_arg,
    fscrypt_key_specifier, fscrypt_policy_v2, fscrypt_remove_key_arg,
};
use linux_raw_sys::ioctl::{
    FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_GET_ENCRYPTION_POLICY_EX, FS_IOC_REMOVE_ENCRYPTION_KEY,
    FS_IOC_SET_ENCRYPTION_POLICY,
};
use openssl::rand::rand_bytes;
use rustix::io::Errno;

use super::{FileSystemError, beside, can_open, system};
use crate::error::{Error, Result};
use crate::files::hexadecimal;
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

#[derive(Debug)]
pub(super) struct Image {
    pub(super) path: PathBuf,
    /// The name of its loop device.
    pub(super) device: String,
    /// True if the loop device is read and written past the page cache.
    pub(super) direct_io: bool,
    /// `None` if it does not encrypt.
    pub(super) key: Option<Key>,
}

/// Whether this user can have such a file system on this machine.
pub(super) fn check(kind: FileSystem, may_mount: bool) -> Result<()> {
    if !may_mount {
        return Err(FileSystemError::NeedsRoot(kind).into());
    }
    if kind == FileSystem::Fscrypt && !Path::new(CAN_ENCRYPT).exists() {
        return Err(FileSystemError::NoEncryption.into());
    }
    find_mkfs()?;
    can_open(kind, CONTROL)
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
            return Err(FileSystemError::NoKey(FileSystem::Ext4).into());
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

/// AES-256-XTS takes two keys of 32 bytes, and a master key must be as strong.
const KEY_BYTES: usize = 64;

/// A master key that a mounted file system has in memory. It goes with the file system, at the latest.
#[derive(Debug)]
pub(super) struct Key {
    /// Made by the kernel from the key.
    identifier: [u8; 16],
}

/// What the kernel takes a key by: the key follows the structure.
#[repr(C)]
struct AddKey {
    head: fscrypt_add_key_arg,
    raw: [u8; KEY_BYTES],
}

impl Key {
    /// Has whatever comes into an empty folder encrypted by a new random key, which nobody knows but the kernel.
    pub(super) fn encrypt(folder: &Path) -> Result<Self> {
        let opened = File::open(folder).map_err(Error::read(folder))?;
        let key = Self::add(&opened)?;
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut policy: fscrypt_policy_v2 = unsafe { std::mem::zeroed() };
        policy.version = FSCRYPT_POLICY_V2 as u8;
        policy.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS as u8;
        policy.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS as u8;
        policy.flags = FSCRYPT_POLICY_FLAGS_PAD_16 as u8;
        policy.master_key_identifier = key.identifier;
        // SAFETY: FS_IOC_SET_ENCRYPTION_POLICY reads a policy of the version that it begins with.
        unsafe { ask(&opened, FS_IOC_SET_ENCRYPTION_POLICY, &mut policy) }
            .map_err(system("have the kernel encrypt a folder"))?;
        Ok(key)
    }

    fn add(file: &File) -> Result<Self> {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut argument: AddKey = unsafe { std::mem::zeroed() };
        rand_bytes(&mut argument.raw)?;
        argument.head.key_spec.type_ = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
        argument.head.raw_size = KEY_BYTES as u32;
        // SAFETY: FS_IOC_ADD_ENCRYPTION_KEY reads the structure and the key behind it, and writes into the structure.
        let added = unsafe { ask(file, FS_IOC_ADD_ENCRYPTION_KEY, &mut argument) };
        argument.raw.fill(0);
        // What nobody looks at need not be written.
        std::hint::black_box(&argument.raw);
        added.map_err(system("give a key to the kernel"))?;
        // SAFETY: the kernel has written the identifier, which the type of the key says.
        let identifier = unsafe { argument.head.key_spec.u.identifier };
        Ok(Self { identifier })
    }

    /// Takes the key from the file system that is mounted at `top`, of which nothing may be open that is encrypted.
    pub(super) fn remove(&self, top: &Path) -> Result<()> {
        let opened = File::open(top).map_err(Error::read(top))?;
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut argument: fscrypt_remove_key_arg = unsafe { std::mem::zeroed() };
        argument.key_spec = self.specifier();
        // SAFETY: FS_IOC_REMOVE_ENCRYPTION_KEY reads and writes a `fscrypt_remove_key_arg`.
        unsafe { ask(&opened, FS_IOC_REMOVE_ENCRYPTION_KEY, &mut argument) }
            .map_err(system("take a key from the kernel"))?;
        match argument.removal_status_flags {
            0 => Ok(()),
            _ => Err(FileSystemError::InUse.into()),
        }
    }

    fn specifier(&self) -> fscrypt_key_specifier {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut specifier: fscrypt_key_specifier = unsafe { std::mem::zeroed() };
        specifier.type_ = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
        specifier.u.identifier = self.identifier;
        specifier
    }
}

/// How the kernel encrypts what is in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy(fscrypt_policy_v2);

/// `None` if it does not.
pub(super) fn policy_of(folder: &Path) -> Result<Option<Policy>> {
    let opened = File::open(folder).map_err(Error::read(folder))?;
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut argument: fscrypt_get_policy_ex_arg = unsafe { std::mem::zeroed() };
    argument.policy_size = size_of_val(&argument.policy) as u64;
    // SAFETY: FS_IOC_GET_ENCRYPTION_POLICY_EX writes as many bytes as it is told that there are.
    match unsafe { ask(&opened, FS_IOC_GET_ENCRYPTION_POLICY_EX, &mut argument) } {
        // SAFETY: all policies begin with their version, and any bytes are a valid value of this plain structure.
        Ok(_) => Ok(Some(Policy(unsafe { argument.policy.v2 }))),
        Err(error) => match Errno::from_io_error(&error) {
            // No policy; and file systems that cannot have one, of which FUSE has a word of its own.
            Some(Errno::NODATA | Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            _ => Err(system("ask the kernel how it encrypts a folder")(error)),
        },
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = |mode: u8| match u32::from(mode) {
            FSCRYPT_MODE_AES_256_XTS => "AES-256-XTS".to_owned(),
            FSCRYPT_MODE_AES_256_CTS => "AES-256-CTS".to_owned(),
            other => format!("mode {other}"),
        };
        write!(
            f,
            "encrypted by fscrypt v{}: contents {}, names {}, key {}",
            self.0.version,
            mode(self.0.contents_encryption_mode),
            mode(self.0.filenames_encryption_mode),
            hexadecimal(&self.0.master_key_identifier)
        )
    }
}
