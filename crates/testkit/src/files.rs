//! Folders of tests, and looking for what must or must not be in files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that goes with the test, and into which other users may look.
pub fn temporary_folder() -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix("ciphertax-test-")
        .tempdir()
        .unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The folders whose names begin so, directly in `parent`.
pub fn folders_in(parent: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

/// Files at any depth under `folder` that contain `needle`; what goes meanwhile does not.
pub fn files_with(folder: &Path, needle: impl AsRef<[u8]>) -> Vec<PathBuf> {
    let needle = needle.as_ref();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), needle));
        } else if kind.is_file() && contains(&fs::read(entry.path()).unwrap_or_default(), needle) {
            found.push(entry.path());
        }
    }
    found
}

/// True if `needle`, which is not empty, stands anywhere in `bytes`.
pub fn contains(bytes: &[u8], needle: impl AsRef<[u8]>) -> bool {
    let needle = needle.as_ref();
    // The comparison of one byte first keeps this fast enough for data folders of 100 MB without optimisation.
    let mut starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == needle[0]);
    starts.any(|(at, _)| bytes[at..].starts_with(needle))
}
