//! Errors of file systems, each with its remedy.

use std::io;
use std::path::PathBuf;

use ciphertax_model::FileSystem;

/// Why a file system cannot be had. Every message is one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum FileSystemError {
    /// An ordinary user, and what only root may mount.
    #[error(
        "{0} needs root, who alone may mount an image; run as root, or choose {instead}",
        instead = without_root(*.0)
    )]
    NeedsRoot(FileSystem),
    /// A device that is not there, or not for this user.
    #[error(
        "{file_system} needs {device}, and this user cannot open it: {cause}; give this user the right, or in a container \
         hand it in from outside"
    )]
    NoDevice {
        /// The file system.
        file_system: FileSystem,
        /// The device.
        device: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// A program that mounts for ordinary users, and has not the right to.
    #[error(
        "gocryptfs needs {0} with root's rights, by which ordinary users mount, and it has none; install the package \
         fuse3, run as root, or choose bind, which needs nothing"
    )]
    NoRights(PathBuf),
    /// The kernel cannot encrypt files.
    #[error(
        "fscrypt needs a kernel whose ext4 can encrypt (CONFIG_FS_ENCRYPTION), and this one's cannot; choose gocryptfs, \
         which does without"
    )]
    NoEncryption,
    /// The system refuses something.
    #[error("cannot {what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// The system's word.
        cause: io::Error,
    },
    /// An image that filled up.
    #[error(
        "the disk is full: {server} found no space left on its {file_system}, whose image is of {size_mb} MB; measure fewer \
         rows or for a shorter time, or on gocryptfs and bind, which have all the room of the disk"
    )]
    Full {
        /// The server's name in the catalogue.
        server: &'static str,
        /// The file system.
        file_system: FileSystem,
        /// The size of the image, in megabytes.
        size_mb: u64,
    },
    /// A file system whose daemon ended, with the last lines of its log.
    #[error("gocryptfs, the server's file system, ended while the server ran on it; it says: {0}")]
    Ended(String),
    /// A file system that is not what it was to be.
    #[error(
        "{folder} is not the {file_system} it was to be: the kernel says that it is {says}; nothing was measured on it"
    )]
    Disproved {
        /// The file system.
        file_system: FileSystem,
        /// Where it is mounted.
        folder: PathBuf,
        /// What the kernel says.
        says: String,
    },
    /// A file system without a key.
    #[error("{0} encrypts nothing, so it has no key that could be taken away")]
    NoKey(FileSystem),
    /// A key whose files are in use.
    #[error(
        "the key is taken away, but files that are open can still be read; end what has them open and take it away again"
    )]
    InUse,
}

/// What any user can have in its place.
fn without_root(file_system: FileSystem) -> &'static str {
    match file_system.is_encrypted() {
        true => "gocryptfs, which any user can mount",
        false => "bind, which needs nothing",
    }
}
