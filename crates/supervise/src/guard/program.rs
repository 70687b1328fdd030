//! How this program is started again, in another role.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program that plays roles: its first argument is the role. Its `main` must call [`guard::main`](super::main) for
/// `guard`, and likewise what else it is used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram {
    path: PathBuf,
}

impl GuardProgram {
    /// The program at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The program that runs now. It is found even if its file was replaced meanwhile.
    pub fn this_program() -> Self {
        Self::new("/proc/self/exe")
    }

    /// The command line of the program in a role.
    pub fn in_role(&self, role: &str) -> Vec<OsString> {
        vec![self.path.clone().into(), role.into()]
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
