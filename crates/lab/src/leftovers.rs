//! Which programs of ours may run in a private folder that nobody holds any more.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ciphertax_supervise::Known;

/// MariaDB and MySQL, known by where their settings are.
const MYSQL: Known = Known {
    programs: &["mariadbd", "mysqld"],
    works_in: |argument, folder| argument == defaults_file_option(folder).as_bytes(),
};

/// MongoDB, known by where its data are.
const MONGODB: Known = Known {
    programs: &["mongod"],
    works_in: |argument, folder| {
        let data = argument.strip_prefix(DATA_OPTION.as_bytes());
        data.and_then(|data| Path::new(OsStr::from_bytes(data)).parent()) == Some(folder)
    },
};

/// The option by which a server of MongoDB finds its data, which lie below its private folder.
pub(crate) const DATA_OPTION: &str = "--dbpath=";

/// Removes this user's private folders that nobody holds any more, and ends servers that still run in them. Called at
/// every start; what cannot be removed is left for the next one.
pub(crate) fn sweep_stale() {
    ciphertax_supervise::sweep_stale(&[MYSQL, MONGODB]);
}

/// The option by which MariaDB and MySQL find their settings.
pub(crate) fn defaults_file_option(folder: &Path) -> OsString {
    let mut option = OsString::from("--defaults-file=");
    option.push(folder.join("my.cnf"));
    option
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_where_their_settings_or_data_are() {
        let folder = Path::new("/tmp/ciphertax-server-it");
        for (argument, mysql, mongodb) in [
            ("--defaults-file=/tmp/ciphertax-server-it/my.cnf", true, false),
            ("--defaults-file=/tmp/ciphertax-server-it2/my.cnf", false, false),
            ("--dbpath=/tmp/ciphertax-server-it/data-0", false, true),
            ("--dbpath=/tmp/ciphertax-server-it2/data-0", false, false),
            ("--dbpath=/tmp/ciphertax-server-it", false, false),
            ("/tmp/ciphertax-server-it/data-0", false, false),
        ] {
            for (known, ours) in [(MYSQL, mysql), (MONGODB, mongodb)] {
                assert_eq!((known.works_in)(argument.as_bytes(), folder), ours, "{argument}");
            }
        }
    }
}
