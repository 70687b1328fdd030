//! Making the system tables of a private server, without any account: nobody can log in before an instance makes its
//! own.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::at_rest::Encryption;
use super::installation::MySqlInstallation;
use super::my_cnf::{MyCnf, defaults_file_option};
use crate::catalogue::SystemTables;
use crate::error::{Error, Result};
use crate::making::{no_system_tables, to_its_end};
use crate::template::{DATA, Recipe};

/// What MySQL's `--initialize-insecure` leaves open.
const NO_ROOT: &str = "DROP USER 'root'@'localhost';\n";

/// Space that a server and a data set in memory need, in megabytes: redo log 100 MB, tablespaces, temporary tables.
pub(super) const NEEDED_MB: u64 = 400;

/// A data folder with system tables and no account, which may be encrypted from the first.
pub(super) fn recipe<'a>(installation: &'a MySqlInstallation<'a>, encryption: &'a Encryption) -> Recipe<'a> {
    Recipe {
        installation: installation.installation(),
        needed_mb: NEEDED_MB,
        make: Box::new(|folder| make(installation, encryption, folder)),
    }
}

/// Makes it in `folder`, which must be empty.
fn make(installation: &MySqlInstallation<'_>, encryption: &Encryption, folder: &Path) -> Result<()> {
    let data = folder.join(DATA);
    let mut settings = MyCnf::new(installation, folder, folder);
    encryption.set(&mut settings);
    settings.write(folder)?;
    match installation.variant().system_tables {
        SystemTables::Bootstrap => {
            fs::create_dir(&data).map_err(Error::write(&data))?;
            bootstrap(installation, folder, &system_tables(installation)?)
        }
        SystemTables::Initialize => {
            let statements = folder.join("first-statements.sql");
            fs::write(&statements, NO_ROOT).map_err(Error::write(&statements))?;
            let mut init_file = OsString::from("--init-file=");
            init_file.push(statements);
            run(
                installation,
                folder,
                &["--initialize-insecure".into(), init_file],
                "",
            )
        }
    }
}

/// Lets the server run statements in its bootstrap mode: without accounts, without network, and to their end.
///
/// `mariadb-install-db` does the same and more: the help texts, which take most of its 2.7 s, accounts without a
/// password, and, run as root, a change of the owner of the system's PAM helper.
fn bootstrap(installation: &MySqlInstallation<'_>, folder: &Path, statements: &str) -> Result<()> {
    let options = [
        "--bootstrap",
        "--loose-silent-startup",
        "--log-warnings=0",
        "--loose-enforce-storage-engine=",
        "--max-allowed-packet=8M",
        "--net-buffer-length=16K",
    ];
    run(installation, folder, &options.map(OsString::from), statements)
}

fn run(
    installation: &MySqlInstallation<'_>,
    folder: &Path,
    options: &[OsString],
    statements: &str,
) -> Result<()> {
    let words = installation.installation().command();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(defaults_file_option(folder))
        .args(options)
        .stdout(Stdio::null());
    if to_its_end(&mut command, folder, statements)? {
        Ok(())
    } else {
        Err(no_system_tables(installation.installation().entry(), folder))
    }
}

/// The bootstrap mode wants the end of each statement at the end of a line.
fn system_tables(installation: &MySqlInstallation<'_>) -> Result<String> {
    let path = installation.system_tables()?;
    let statements = fs::read_to_string(&path).map_err(Error::read(&path))?;
    Ok(format!(
        "CREATE DATABASE mysql;\n\
         USE mysql;\n\
         SET @auth_root_socket = NULL;\n\
         {statements}\n"
    ))
}
