//! The kernel's encryption of files (<https://docs.kernel.org/filesystems/fscrypt.html>).

use std::fmt;
use std::fs::File;
use std::path::Path;

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

use crate::error::{Error, Result};
use crate::files::hexadecimal;

use super::image::ask;
use super::{FileSystemError, system};

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

    /// Gives the file system of a file a new key.
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
