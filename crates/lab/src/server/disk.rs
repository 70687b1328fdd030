//! Where a private server's data and temporary files are, and whether there is room.

use std::path::{Path, PathBuf};

use ciphertax_model::FileSystem;
use rustix::fs::statvfs;

use crate::catalogue::Entry;
use crate::error::Error;
use crate::file_system::error::FileSystemError;

/// The folder of them in a private folder: all that a server writes rows to, and nothing else. It lies on the file system
/// that was asked for.
const DISK: &str = "disk";

/// Where the servers in a private folder keep what they write.
pub(crate) fn disk_of(folder: &Path) -> PathBuf {
    folder.join(DISK)
}

/// True if nothing more can be written in a private folder, or where its servers keep what they write.
pub(super) fn is_full(folder: &Path) -> bool {
    has_no_room(folder) || has_no_room(&disk_of(folder))
}

/// Why a server in a private folder found no space left.
pub(super) fn filled(entry: &Entry, file_system: Option<FileSystem>, folder: &Path) -> Error {
    match file_system {
        // The disk beneath has room, and the image has no more of it.
        Some(kind) if kind.is_in_an_image() && !has_no_room(folder) => FileSystemError::Full {
            server: entry.name,
            file_system: kind,
            size_mb: statvfs(disk_of(folder)).map_or(0, |disk| disk.f_blocks * disk.f_frsize / 1_000_000),
        }
        .into(),
        _ => Error::disk_filled(entry.name, folder),
    }
}

/// What is left is less than any server needs for its next step, so that it need not be nothing.
fn has_no_room(folder: &Path) -> bool {
    const NEXT_TO_NOTHING: u64 = 1 << 20;
    statvfs(folder).is_ok_and(|disk| {
        disk.f_bavail * disk.f_frsize < NEXT_TO_NOTHING || (disk.f_files > 0 && disk.f_favail == 0)
    })
}
