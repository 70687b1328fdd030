//! Which programs of ours may run in a private folder that nobody holds any more.

use ciphertax_supervise::Known;

use crate::catalogue::CATALOGUE;
use crate::server::families::family;

/// Removes this user's private folders that nobody holds any more, and ends servers that still run in them. Called at
/// every start; what cannot be removed is left for the next one.
pub(crate) fn sweep_stale() {
    let known = CATALOGUE.map(|entry| Known {
        programs: entry.family.program().names,
        works_in: family(entry).works_in(),
    });
    ciphertax_supervise::sweep_stale(&known);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::catalogue::{Entry, MONGODB, MYSQL};
    use crate::server::families::family;

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
