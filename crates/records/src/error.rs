//! Why a run folder cannot be written or read.

use std::io;
use std::path::PathBuf;

/// Why a run folder cannot be written or read; one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The run folder exists already.
    #[error("{0} exists already; choose another folder with --out")]
    FolderExists(PathBuf),
    /// A file cannot be written.
    #[error("{path} cannot be written: {source}{}", room(.source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A folder that is not a run.
    #[error("{folder} is not a run folder: {problem}; give the folder that a run has printed at its end")]
    NotARun {
        /// The folder.
        folder: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// A file where the folder of a run is expected.
    #[error("{0} is a file, as an export is; give the folder of the run")]
    File(PathBuf),
    /// A run whose files say what they cannot.
    #[error("{folder}: {problem}")]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// Which file, and what is wrong with it.
        problem: String,
    },
    /// A folder that root is to write into, and that somebody else could fill with links.
    #[error(
        "{folder} belongs to another account (uid {uid}), which could make root overwrite other files; run this as that account, \
         or add --trust-folder"
    )]
    OfAnotherAccount {
        /// The folder.
        folder: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// A run that cannot go on.
    #[error("the run in {folder} cannot be resumed: {problem}")]
    NotResumable {
        /// Its folder.
        folder: PathBuf,
        /// Why, with the remedy where there is one.
        problem: String,
    },
}

fn room(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room there, or choose another folder with --out"
        }
        io::ErrorKind::PermissionDenied => "; with --out choose a folder you may write to",
        io::ErrorKind::NotFound => "; with --out choose a folder whose parent exists",
        _ => "",
    }
}
