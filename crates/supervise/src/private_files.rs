//! Files that hold secrets and do not outlive their owner.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::folder::{PrivateFolder, create_private_file};
use crate::guard::{Guard, GuardProgram};

/// Space that a few settings and certificates need.
const NEEDED_MB: u64 = 1;

/// A folder with mode 0700 among the temporary files. A guard removes it with its owner, however that ends.
#[derive(Debug)]
pub struct PrivateFiles {
    guard: Guard,
}

impl PrivateFiles {
    /// Makes an empty folder.
    ///
    /// # Errors
    /// If it cannot be made, or nobody would remove it.
    pub fn create(guard: &GuardProgram) -> Result<Self> {
        Ok(Self {
            guard: Guard::start(guard, PrivateFolder::create(NEEDED_MB)?)?,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Makes a folder in it, and those above that.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create_folder(&self, name: impl AsRef<Path>) -> Result<()> {
        let path = self.folder().join(name);
        std::fs::create_dir_all(&path).map_err(Error::write(&path))
    }

    /// Writes a new file that its owner alone may read, and makes the folders above it.
    ///
    /// # Errors
    /// If it exists or cannot be written.
    pub fn write(&self, name: impl AsRef<Path>, contents: &[u8]) -> Result<PathBuf> {
        let path = self.folder().join(name);
        self.create_folder(path.parent().unwrap_or(self.folder()))?;
        create_private_file(&path)?
            .write_all(contents)
            .map_err(Error::write(&path))?;
        Ok(path)
    }
}
