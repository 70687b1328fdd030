//! Making the system tables of a private server, without any account: nobody can log in before an instance makes its
//! own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_supervise::child;

use super::installation::MySqlInstallation;
use super::my_cnf::{DATA, MyCnf, defaults_file_option};
use crate::catalogue::SystemTables;
use crate::error::{Error, Result};
use crate::log::{self, LOG, STARTUP};

/// What MySQL's `--initialize-insecure` leaves open.
const NO_ROOT: &str = "DROP USER 'root'@'localhost';\n";

/// Makes a data folder with system tables and no account in `folder`, which must be empty.
pub(super) fn make(installation: &MySqlInstallation<'_>, folder: &Path) -> Result<()> {
    let data = folder.join(DATA);
    MyCnf::new(installation, folder).write(folder)?;
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
    let log = folder.join(LOG);
    let log = File::options()
        .append(true)
        .create(true)
        .open(&log)
        .map_err(Error::write(&log))?;
    let words = installation.installation().command();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(defaults_file_option(folder))
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0);
    // This thread waits for the end, so it lives as long as the process does.
    child::die_with_this_thread(&mut command);
    let failed = |cause| Error::Spawn {
        program: installation.installation().program().into(),
        cause,
    };
    let mut process = command.spawn().map_err(failed)?;
    // A server that has ended does not read; its log says why. Closing the pipe ends the bootstrap.
    let _ = process
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(statements.as_bytes()));
    let deadline = Instant::now() + STARTUP;
    loop {
        match process.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(_) => {
                return Err(why_it_failed(installation, folder));
            }
            None if !stop::is_over(deadline) => thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(Error::NotReady {
                    seconds: STARTUP.as_secs(),
                    log: log::tail(folder),
                });
            }
        }
    }
}

fn why_it_failed(installation: &MySqlInstallation<'_>, folder: &Path) -> Error {
    if log::names_a_full_disk(&log::read_from(&folder.join(LOG), 0)) {
        return Error::disk_filled(installation.installation().entry().name, folder);
    }
    Error::Bootstrap {
        log: log::tail(folder),
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
