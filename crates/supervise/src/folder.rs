//! The folder in which programs of ours work.
//!
//! Its owner and the guard each hold a shared lock on the folder itself. Whoever gets it exclusively knows that both
//! are gone and may remove it (see [`crate::sweep`]).

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{self, Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use rustix::fs::{FlockOperation, flock, statvfs};

use crate::error::{Error, Result};
use crate::namespace::unmount_below;

/// What every private folder's name begins with.
pub(crate) const PREFIX: &str = "ciphertax-server-";

/// A file in every private folder: without it, sweeping removes a folder only if it is empty.
pub const MARKER: &str = "made-by-ciphertax";

/// Longest name in bytes of a Unix socket in the folder: the length of its path is bounded, and checked before anything
/// is started.
pub const LONGEST_SOCKET_NAME: usize = 11;

/// Longest path of a Unix socket in bytes: `sun_path` less its closing zero.
const LONGEST_SOCKET_PATH: usize = 107;

/// Random characters in a folder's name.
const RANDOM_CHARACTERS: usize = 8;

/// How long removing a folder is tried while processes in it die.
const REMOVAL: Duration = Duration::from_secs(5);

/// A new folder with mode 0700, locked for as long as this lives.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// Makes a folder among the temporary files for what needs so many megabytes, and locks it.
    ///
    /// # Errors
    /// If it cannot be made, there is not enough space, or its path is too long for a socket in it.
    pub fn create(needed_mb: u64) -> Result<Self> {
        Self::create_in(&env::temp_dir(), needed_mb)
    }

    fn create_in(parent: &Path, needed_mb: u64) -> Result<Self> {
        // Server and guard have working folders of their own.
        let parent = path::absolute(parent).map_err(|cause| Error::Folder {
            parent: parent.into(),
            cause,
        })?;
        let longest =
            parent.join(PREFIX).as_os_str().len() + RANDOM_CHARACTERS + "/".len() + LONGEST_SOCKET_NAME;
        if longest > LONGEST_SOCKET_PATH {
            return Err(Error::PathTooLong(parent));
        }
        let free_mb = free_mb(&parent).map_err(|cause| Error::Folder {
            parent: parent.clone(),
            cause,
        })?;
        if free_mb < needed_mb {
            return Err(Error::DiskFull {
                folder: parent,
                free_mb,
                needed_mb,
            });
        }
        create_locked(&parent).map_err(|cause| Error::Folder { parent, cause })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    /// The guard removes the folder with the server in it; this is for the case that there was no guard yet.
    fn drop(&mut self) {
        let _ = unmount_below(&self.path).and_then(|()| fs::remove_dir_all(&self.path));
    }
}

/// Locks `folder` for sharing, so that nobody sweeps it. `None` if somebody is about to remove it.
pub(crate) fn lock_shared(folder: &Path) -> io::Result<Option<File>> {
    lock(folder, FlockOperation::NonBlockingLockShared)
}

/// Locks `folder` if nobody else has locked it.
pub(crate) fn lock_alone(folder: &Path) -> io::Result<Option<File>> {
    lock(folder, FlockOperation::NonBlockingLockExclusive)
}

/// Opens a new file for writing that only its owner may read or write, from its creation on.
///
/// # Errors
/// If it exists or cannot be written.
pub fn create_private_file(path: &Path) -> Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(Error::write(path))
}

/// Free space on the disk of `folder` for this user, in megabytes.
///
/// # Errors
/// If the disk cannot be asked.
pub fn free_mb(folder: &Path) -> io::Result<u64> {
    let disk = statvfs(folder)?;
    Ok(disk.f_bavail * disk.f_frsize / 1_000_000)
}

/// Makes a folder and locks it. Between the two, a sweep may take it for a stale one; then another is made.
fn create_locked(parent: &Path) -> io::Result<PrivateFolder> {
    loop {
        let path = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM_CHARACTERS)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?
            .keep();
        match lock_shared(&path) {
            Ok(Some(lock)) => {
                let folder = PrivateFolder { path, _lock: lock };
                File::create(folder.path.join(MARKER))?;
                return Ok(folder);
            }
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let _ = fs::remove_dir(&path);
                return Err(error);
            }
        }
    }
}

/// Removes `folder` with all that is in it, also while a dying process still writes there. What is mounted in it is
/// unmounted first, and what cannot be stays as it is, folder and contents.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    let deadline = Instant::now() + REMOVAL;
    loop {
        match unmount_below(folder).and_then(|()| fs::remove_dir_all(folder)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// `None` if others hold the lock, or if the folder was removed while it was being locked.
fn lock(folder: &Path, operation: FlockOperation) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    match flock(&file, operation) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    let locked = file.metadata()?;
    match fs::symlink_metadata(folder) {
        Ok(named) if (named.dev(), named.ino()) == (locked.dev(), locked.ino()) => Ok(Some(file)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_for_its_owner_alone_and_goes_with_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create_in(parent.path(), 0).unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_in_use_cannot_be_locked_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create_in(parent.path(), 0).unwrap();
        assert!(lock_shared(folder.path()).unwrap().is_some());
        assert!(lock_alone(folder.path()).unwrap().is_none());
    }

    #[test]
    fn a_parent_that_is_not_there_is_named_with_the_remedy() {
        let error = PrivateFolder::create_in(Path::new("/nowhere/at/all"), 0)
            .unwrap_err()
            .to_string();
        let has_remedy = error.contains("/nowhere/at/all") && error.contains("TMPDIR");
        assert!(has_remedy, "{error}");
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused() {
        let parent = PathBuf::from(format!("/tmp/{}", "x".repeat(90)));
        assert!(matches!(
            PrivateFolder::create_in(&parent, 0),
            Err(Error::PathTooLong(_))
        ));
    }

    #[test]
    fn private_files_are_never_readable_by_others() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("key");
        create_private_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
