//! Files and folders that may go meanwhile.

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

/// `None` for a file or folder that is not there any more.
pub(crate) fn unless_gone<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}
