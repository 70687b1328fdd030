//! Files and folders that others may use too, and the logs of servers.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, lchown, symlink};
use std::path::Path;
use std::time::Duration;

use ciphertax_supervise::create_private_file;
use openssl::error::ErrorStack;
use rustix::fs::OFlags;

use crate::error::{Error, Result};

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    unless_gone(fs::remove_dir_all(folder))
        .map(drop)
        .map_err(Error::write(folder))
}

/// Copies all that is in a folder into another one, with owners and rights.
pub(crate) fn copy_into(folder: &Path, from: &Path) -> Result<()> {
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
pub(crate) fn make_like(path: &Path, other: &Metadata) -> Result<()> {
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

/// What a file or folder is; links are not followed.
pub(crate) fn metadata(path: &Path) -> Result<Metadata> {
    fs::symlink_metadata(path).map_err(Error::read(path))
}

/// A file to be locked, which is made if it is not there; never through a link that somebody has put there.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)
}

/// `None` for a file or folder that is not there any more.
pub(crate) fn unless_gone<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// So many random bytes, two digits each.
pub(crate) fn random_digits<const BYTES: usize>() -> Result<String, ErrorStack> {
    let mut random = [0; BYTES];
    openssl::rand::rand_bytes(&mut random)?;
    Ok(hexadecimal(&random))
}

/// Writes a new file that only its owner may read, from its creation on.
pub(crate) fn write_private(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    create_private_file(path)?
        .write_all(contents.as_ref())
        .map_err(Error::write(path))
}

/// The server's log in the private folder; its output before it opens the log goes there too.
pub(crate) const LOG: &str = "server.log";

pub(crate) fn log_of(member: usize) -> String {
    match member {
        0 => LOG.to_owned(),
        _ => format!("server-{member}.log"),
    }
}

/// What it is called in messages.
pub(crate) const PRIVATE_SERVER: &str = "the private server";

/// How long the server may take to make its system tables, and again to become ready.
pub(crate) const STARTUP: Duration = Duration::from_secs(60);

/// How much of the end of the log goes into a message, in lines and in bytes.
const TAIL_LINES: usize = 6;
const TAIL_BYTES: u64 = 4096;

/// What came of a start.
pub(crate) enum Readiness {
    Ready,
    PortTaken,
}

pub(crate) fn names_a_full_disk(log: &str) -> bool {
    ["No space left on device", "Disk is full"]
        .iter()
        .any(|words| log.contains(words))
}

/// The last lines of the log of the server in `folder`, in one line.
pub(crate) fn tail(folder: &Path) -> String {
    tail_of(&folder.join(LOG))
}

/// The last lines of any log, in one line.
pub(crate) fn tail_of(log: &Path) -> String {
    let length = fs::metadata(log).map_or(0, |metadata| metadata.len());
    let text = read_from(log, length.saturating_sub(TAIL_BYTES));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => "nothing".into(),
        count => lines[count.saturating_sub(TAIL_LINES)..].join(" | "),
    }
}

/// The text of a file from `start` on; nothing if it cannot be read.
pub(crate) fn read_from(path: &Path, start: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let _ = file
            .seek(SeekFrom::Start(start))
            .and_then(|_| file.read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_log_is_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tail(folder.path()), "nothing");
        let lines: Vec<String> = (1..=1000).map(|number| format!("line {number}")).collect();
        fs::write(folder.path().join(LOG), lines.join("\n")).unwrap();
        assert_eq!(
            tail(folder.path()),
            "line 995 | line 996 | line 997 | line 998 | line 999 | line 1000"
        );
    }

    #[test]
    fn a_full_disk_is_known_by_its_words() {
        assert!(!names_a_full_disk(
            "[ERROR] InnoDB: Operating system error number 28"
        ));
        assert!(names_a_full_disk(
            "Error writing file (Errcode: 28 \"No space left on device\")"
        ));
    }
}
