//! Loop devices: files as block devices (loop(4)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::ioctl::{ask, ask_plainly};

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
