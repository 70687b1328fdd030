//! Whom a server runs as, and whose its files are.

use std::fs;
use std::os::unix::fs::lchown;
use std::path::Path;
use std::process::Command;

use ciphertax_supervise::guard::User;
use ciphertax_supervise::privilege::{NOBODY, own_user, run_as_reader};
use rustix::process::geteuid;

use crate::catalogue::Product;
use crate::error::{Error, Result};

/// Whom a server that refuses root runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// Who runs this process, who is not root.
    Owner,
    /// A user with this number, who is not the one that runs this process: root.
    Other(u32),
}

impl Tenant {
    /// Who this process is, or for root a user without a name.
    ///
    /// # Errors
    /// If root finds that every number that it could take has a name.
    pub(crate) fn of_servers() -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self::Owner);
        }
        own_user()
            .map(Self::Other)
            .ok_or(Error::NoUser(Product::PostgreSql))
    }

    /// Who this process is, or for root `nobody`: `initdb` insists on a name. What it makes is not `nobody`'s for long,
    /// and holds no secret.
    pub(crate) fn with_name() -> Self {
        if geteuid().is_root() {
            Self::Other(NOBODY)
        } else {
            Self::Owner
        }
    }

    /// The same for a guard.
    pub(crate) fn user(self) -> User {
        match self {
            Self::Owner => User::Owner,
            Self::Other(user) => User::Own(user),
        }
    }

    /// Has it run a command.
    pub(crate) fn run(self, command: &mut Command) {
        if let Self::Other(user) = self {
            run_as_reader(command, user);
        }
    }

    /// Gives it a folder with all that is in it.
    pub(crate) fn give(self, folder: &Path) -> Result<()> {
        match self {
            Self::Owner => Ok(()),
            Self::Other(user) => give(folder, user),
        }
    }

    /// Takes a folder back that was given to it.
    pub(crate) fn take_back(self, folder: &Path) -> Result<()> {
        match self {
            Self::Owner => Ok(()),
            Self::Other(_) => give(folder, geteuid().as_raw()),
        }
    }
}

/// Links are not followed: what they lead to is not theirs to give.
fn give(path: &Path, user: u32) -> Result<()> {
    lchown(path, Some(user), Some(user)).map_err(Error::write(path))?;
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(Error::read(path))? {
        give(&entry.map_err(Error::read(path))?.path(), user)?;
    }
    Ok(())
}
