//! Moving what is in a folder onto another file system.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::remove;

use super::beside;

/// Moves a folder aside and leaves an empty one of the same owner and rights. Returns where it is now.
pub(super) fn set_aside(folder: &Path) -> Result<PathBuf> {
    let aside = beside(folder, "beneath");
    fs::rename(folder, &aside).map_err(Error::write(&aside))?;
    fs::create_dir(folder).map_err(Error::write(folder))?;
    make_like(folder, &metadata(&aside)?)?;
    Ok(aside)
}

/// Puts what was set aside into the folder again, with owners and rights, and removes it there.
pub(super) fn put_back(aside: &Path, folder: &Path) -> Result<()> {
    copy_into(folder, aside)?;
    make_like(folder, &metadata(aside)?)?;
    remove(aside)
}

fn copy_into(folder: &Path, from: &Path) -> Result<()> {
    for entry in fs::read_dir(from).map_err(Error::read(from))? {
        let entry = entry.map_err(Error::read(from))?;
        let (source, target) = (entry.path(), folder.join(entry.file_name()));
        let metadata = metadata(&source)?;
        if metadata.is_dir() {
            fs::create_dir(&target).map_err(Error::write(&target))?;
            copy_into(&target, &source)?;
        } else if metadata.is_symlink() {
            let leads_to = fs::read_link(&source).map_err(Error::read(&source))?;
            symlink(leads_to, &target).map_err(Error::write(&target))?;
        } else {
            fs::copy(&source, &target).map_err(Error::write(&target))?;
        }
        make_like(&target, &metadata)?;
    }
    Ok(())
}

/// Gives a file or folder the owner and the rights of another.
fn make_like(path: &Path, other: &Metadata) -> Result<()> {
    let new = metadata(path)?;
    if (new.uid(), new.gid()) != (other.uid(), other.gid()) {
        lchown(path, Some(other.uid()), Some(other.gid())).map_err(Error::write(path))?;
    }
    // A link has no rights of its own.
    if other.is_symlink() {
        return Ok(());
    }
    fs::set_permissions(path, other.permissions()).map_err(Error::write(path))
}

fn metadata(path: &Path) -> Result<Metadata> {
    fs::symlink_metadata(path).map_err(Error::read(path))
}
