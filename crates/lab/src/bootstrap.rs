//! Making the system tables of a private MariaDB.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_model::Secret;
use openssl::error::ErrorStack;
use openssl::sha::sha1;

use crate::error::{Error, Result};
use crate::guard;
use crate::locate::Installation;
use crate::log::{self, LOG, STARTUP};
use crate::sweep::defaults_file_option;

/// Random bytes in the account's password.
const PASSWORD_BYTES: usize = 16;

/// Makes the system tables and the only account, by the server's own bootstrap mode.
///
/// `mariadb-install-db` does the same and more: the help texts, which take most of its 2.7 s, accounts without a password,
/// and, run as root, a change of the owner of the system's PAM helper. The statements go through a pipe, and the
/// account's password as a hash, so that no file and no command line ever holds it.
pub(crate) fn bootstrap(
    installation: &Installation,
    folder: &Path,
    user: &str,
    password: &Secret,
) -> Result<()> {
    let statements = statements(installation, user, password)?;
    let log = folder.join(LOG);
    let log = File::options()
        .append(true)
        .create(true)
        .open(&log)
        .map_err(Error::write(&log))?;
    let words = installation.command();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(defaults_file_option(folder))
        .args([
            "--bootstrap",
            "--silent-startup",
            "--log-warnings=0",
            "--enforce-storage-engine=",
        ])
        .args(["--max-allowed-packet=8M", "--net-buffer-length=16K"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0);
    // This thread waits for the end, so it lives as long as the process does.
    guard::die_with_this_thread(&mut command);
    let failed = |cause| Error::Spawn {
        program: installation.mariadbd().into(),
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
                return Err(log::full_disk(folder).unwrap_or(Error::Bootstrap {
                    log: log::tail(folder),
                }));
            }
            None if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
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

/// The bootstrap mode wants the end of each statement at the end of a line.
fn statements(installation: &Installation, user: &str, password: &Secret) -> Result<String> {
    let path = installation.system_tables();
    let system_tables = fs::read_to_string(path).map_err(Error::read(path))?;
    let hash = native_password_hash(password);
    Ok(format!(
        "CREATE DATABASE mysql;\n\
         USE mysql;\n\
         SET @auth_root_socket = NULL;\n\
         {system_tables}\n\
         FLUSH PRIVILEGES;\n\
         CREATE USER {user}@'%' IDENTIFIED VIA mysql_native_password USING '{hash}';\n\
         GRANT ALL PRIVILEGES ON *.* TO {user}@'%' WITH GRANT OPTION;\n"
    ))
}

/// What the server keeps of a password: `*` and SHA-1(SHA-1(password)) in hexadecimal.
fn native_password_hash(password: &Secret) -> String {
    format!(
        "*{}",
        hexadecimal(&sha1(&sha1(password.expose().as_bytes()))).to_uppercase()
    )
}

pub(crate) fn random_password() -> std::result::Result<Secret, ErrorStack> {
    let mut bytes = [0; PASSWORD_BYTES];
    openssl::rand::rand_bytes(&mut bytes)?;
    Ok(Secret::new(hexadecimal(&bytes)))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_servers_own() {
        // SELECT PASSWORD('123')
        let hash = native_password_hash(&Secret::new("123"));
        assert_eq!(hash, "*23AE809DDACAF96AF0FD78ED04B6A265E05AA257");
    }

    #[test]
    fn passwords_are_random() {
        let (one, other) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.expose().len(), 2 * PASSWORD_BYTES);
        assert_ne!(one, other);
    }
}
