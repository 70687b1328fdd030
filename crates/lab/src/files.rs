//! Files and folders that others may use too, and which of our programs may still run in one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ciphertax_supervise::Known;
use rustix::fs::OFlags;

use crate::catalogue::CATALOGUE;
use crate::error::{Error, Result};
use crate::server::family::family;

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(folder)(error)),
        _ => Ok(()),
    }
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

/// Removes this user's private folders that nobody holds any more, and ends servers that still run in them. Called at
/// every start; what cannot be removed is left for the next one.
pub(crate) fn sweep_stale() {
    let known = CATALOGUE.map(|entry| Known {
        programs: entry.family.program().names,
        works_in: family(entry).works_in(),
    });
    ciphertax_supervise::sweep_stale(&known);
}

/// Two lower-case digits a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::catalogue::{Entry, MONGODB, MYSQL};
    use crate::server::family::family;

    #[test]
    fn servers_are_known_by_where_their_settings_or_data_are() {
        let folder = Path::new("/tmp/ciphertax-server-it");
        for (argument, mysql, mongodb) in [
            ("--defaults-file=/tmp/ciphertax-server-it/my.cnf", true, false),
            ("--defaults-file=/tmp/ciphertax-server-it2/my.cnf", false, false),
            ("--dbpath=/tmp/ciphertax-server-it/disk/data-0", false, true),
            ("--dbpath=/tmp/ciphertax-server-it2/disk/data-0", false, false),
            ("--dbpath=/tmp/ciphertax-server-it/disk", false, false),
            ("/tmp/ciphertax-server-it/disk/data-0", false, false),
        ] {
            let works_in = |entry: &'static Entry| (family(entry).works_in())(argument.as_bytes(), folder);
            assert_eq!(
                (works_in(&MYSQL), works_in(&MONGODB)),
                (mysql, mongodb),
                "{argument}"
            );
        }
    }
}
