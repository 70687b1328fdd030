//! Making the data folder of a private server, which PostgreSQL calls a cluster, without any account but the one that
//! only who may read its files can use.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::tenant::Tenant;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::server::file_system::disk_of;
use crate::template::{DATA, Recipe, no_system_tables, to_its_end};

/// The program that makes it.
pub(super) const INITDB: &str = "initdb";

/// The user that may do everything, and has no password: see [`super::pg_hba`].
pub(super) const SUPERUSER: &str = "postgres";

/// Space that a server and a data set in memory need, in megabytes: its data folder 40 MB, and WAL.
pub(super) const NEEDED_MB: u64 = 600;

/// A data folder as `initdb` makes it.
pub(super) fn recipe(installation: &Installation) -> Recipe<'_> {
    Recipe {
        installation,
        needed_mb: NEEDED_MB,
        make: Box::new(|folder| make(installation, folder)),
    }
}

/// Where the data of the server in `folder` are.
pub(super) fn data_of(folder: &Path) -> PathBuf {
    disk_of(folder).join(DATA)
}

/// What the processes of the server in `folder` call themselves in process lists: the folder's name, which is random.
pub(super) fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The first process of a server is known by its data folder. The others write their title over their arguments, as in
/// `postgres: NAME: walwriter`.
pub(super) fn works_in(argument: &[u8], folder: &Path) -> bool {
    let title = format!("postgres: {}: ", name_of(folder));
    Path::new(OsStr::from_bytes(argument)) == data_of(folder) || argument.starts_with(title.as_bytes())
}

/// Makes it in `folder`, which must be empty.
fn make(installation: &Installation, folder: &Path) -> Result<()> {
    let data = &folder.join(DATA);
    let tenant = Tenant::with_name();
    tenant.give(folder)?;
    let words = installation.companion(INITDB);
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg("-D")
        .arg(data)
        .args([
            "--username",
            SUPERUSER,
            // There is a pg_hba.conf before it is copied.
            "--auth=reject",
            "--encoding=UTF8",
            "--locale=C",
            // It is copied, so that there is nothing to keep.
            "--no-sync",
            "--no-instructions",
        ])
        // The user's own may be none that the machine has.
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdout(Stdio::null());
    tenant.run(&mut command);
    if !to_its_end(&mut command, folder, "")? {
        return Err(no_system_tables(installation.entry(), folder));
    }
    tenant.take_back(folder)?;
    // It is replaced by one of ours.
    let configuration = data.join("postgresql.conf");
    fs::remove_file(&configuration).map_err(Error::write(&configuration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_data_and_its_name() {
        let folder = Path::new("/tmp/ciphertax-server-it");
        for (argument, is_ours) in [
            ("/tmp/ciphertax-server-it/disk/data", true),
            ("/tmp/ciphertax-server-it2/disk/data", false),
            ("/tmp/ciphertax-server-it", false),
            ("postgres: ciphertax-server-it: walwriter ", true),
            ("postgres: ciphertax-server-it2: walwriter ", false),
            ("postgres: walwriter", false),
        ] {
            assert_eq!(works_in(argument.as_bytes(), folder), is_ours, "{argument}");
        }
    }
}
