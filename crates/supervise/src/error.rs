//! Errors, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be supervised. Every message is one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The private folder cannot be made.
    #[error("cannot make a private folder in {parent}: {cause}; set TMPDIR to a folder you may write to")]
    Folder {
        /// Where it should have been.
        parent: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// The path of a socket in this folder for temporary files would be longer than the system allows.
    #[error(
        "the path {0} is too long for a Unix socket in it; set TMPDIR to a shorter one, for example /tmp"
    )]
    PathTooLong(PathBuf),
    /// Not enough space for what is to be in the folder.
    #[error(
        "the disk is full: {folder} has {free_mb} MB free and {needed_mb} MB are needed; make room, or \
         set TMPDIR to a folder on another disk"
    )]
    DiskFull {
        /// The folder for temporary files.
        folder: PathBuf,
        /// What is free, in megabytes.
        free_mb: u64,
        /// What is needed, in megabytes.
        needed_mb: u64,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {cause}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot start {program}: {cause}")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// The process that cleans up after us does not work, so nothing is started: what it did.
    #[error("the guard process that ends what ciphertax starts {0}; nothing is started without it")]
    Guard(String),
    /// The process that runs a program of the user's own does not work: what it did.
    #[error("the process that watches the program {0}; no program is run without it")]
    Supervisor(String),
    /// Something was left behind.
    #[error("the private folder {folder} could not be removed: {problem}; remove it by hand")]
    LeftBehind {
        /// The folder.
        folder: PathBuf,
        /// Why.
        problem: String,
    },
}

impl Error {
    /// For `map_err` after writing `path`.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Write { path, cause }
    }
}
