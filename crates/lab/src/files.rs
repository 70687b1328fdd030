//! Folders in the user's cache.

use std::path::Path;
use std::{fs, io};

use crate::error::{Error, Result};

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(folder)(error)),
        _ => Ok(()),
    }
}
