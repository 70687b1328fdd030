//! What lies on the disk.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Bytes of a database's file and of what its log holds besides.
///
/// # Errors
/// If they cannot be looked at.
pub fn data_size(file: &Path) -> Result<u64> {
    Ok(length(file)? + length(&log_of(file))?)
}

/// The write-ahead log of a database's file.
pub(super) fn log_of(file: &Path) -> PathBuf {
    beside(file, "-wal")
}

/// The rollback journal of a database's file.
pub(super) fn journal_of(file: &Path) -> PathBuf {
    beside(file, "-journal")
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

pub(super) fn length(file: &Path) -> Result<u64> {
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        metadata => Ok(metadata.map_err(Error::read(file))?.len()),
    }
}
