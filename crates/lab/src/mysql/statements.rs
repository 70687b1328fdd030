//! Settings, system tables and statements that a server of this family is given before it lets anybody in, and its accounts.
//!
//! Statements go through a pipe: they are never in a file. System tables are made without any account: nobody can log
//! in before an instance makes its own.

use std::ffi::{CStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use ciphertax_base::Secret;
use ciphertax_model::AuthenticationMethod;
use ciphertax_supervise::LONGEST_SOCKET_NAME;
use openssl::sha::sha1;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::geteuid;

use super::MySqlInstallation;
use super::at_rest::Encryption;
use crate::accounts::{Account, USER};
use crate::catalogue::{Dialect, SystemTables};
use crate::error::{Error, Result};
use crate::files::{LOG, hexadecimal, write_private};
use crate::template::{DATA, Recipe, no_system_tables, to_its_end};

/// Longest text that a pipe takes at once whoever reads it.
const PIPE_BUF: usize = 4096;

/// A named pipe that a server reads as its init file, and what it will read there.
pub(super) struct Statements {
    path: PathBuf,
    text: String,
    is_delivered: AtomicBool,
}

impl Statements {
    /// A new pipe in `folder`, for its owner alone.
    pub(super) fn pipe_in(folder: &Path, statements: Vec<String>) -> Result<Self> {
        let path = folder.join("statements");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(io::Error::from)
            .map_err(Error::write(&path))?;
        let text = statements.join("\n") + "\n";
        debug_assert!(text.len() <= PIPE_BUF);
        Ok(Self {
            path,
            text,
            is_delivered: AtomicBool::new(false),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes them if the server waits for them, and then closes the pipe. True if it did; false as long as nobody
    /// reads. Never waits: they fit into the pipe.
    pub(super) fn deliver(&self) -> Result<bool> {
        if !self.is_delivered.load(Ordering::Relaxed) {
            self.is_delivered.store(self.try_to_deliver()?, Ordering::Relaxed);
        }
        Ok(self.is_delivered.load(Ordering::Relaxed))
    }

    fn try_to_deliver(&self) -> Result<bool> {
        let pipe = File::options()
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&self.path);
        match pipe {
            Ok(mut pipe) => match pipe.write_all(self.text.as_bytes()) {
                // The server has ended; its log says why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
                written => written.map(|()| true).map_err(Error::write(&self.path)),
            },
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(false),
            Err(error) => Err(Error::write(&self.path)(error)),
        }
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) const SOCKET: &str = "server.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

const FILE: &str = "my.cnf";

pub(super) fn defaults_file_option(folder: &Path) -> OsString {
    let mut option = OsString::from("--defaults-file=");
    option.push(folder.join(FILE));
    option
}

/// The lines of a settings file.
#[derive(Debug, Default)]
pub(super) struct MyCnf {
    lines: Vec<String>,
}

impl MyCnf {
    /// Where everything is, data and temporary files in `disk`, that nobody else can reach the server, and what this one
    /// always needs.
    pub(super) fn new(installation: &MySqlInstallation<'_>, folder: &Path, disk: &Path) -> Self {
        let mut settings = Self::default();
        settings.path("basedir", &installation.installation.basedir);
        settings.path("lc_messages_dir", &installation.share);
        settings.path("character_sets_dir", &installation.share.join("charsets"));
        if let Some(plugins) = &installation.plugins {
            settings.path("plugin_dir", plugins);
        }
        settings.path("datadir", &disk.join(DATA));
        settings.path("tmpdir", disk);
        settings.path("socket", &folder.join(SOCKET));
        settings.path("pid_file", &folder.join("server.pid"));
        settings.path("log_error", &folder.join(LOG));
        settings.set("bind_address", "127.0.0.1");
        if geteuid().is_root() {
            settings.set("user", "root");
        }
        for (name, value) in installation.variant.settings {
            settings.set(name, value);
        }
        settings
    }

    /// Adds those of another one, which come after its own.
    pub(super) fn add(&mut self, others: &Self) {
        self.lines.extend_from_slice(&others.lines);
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.lines.push(format!("{name} = {value}"));
    }

    /// Sets `name` to a path.
    pub(super) fn path(&mut self, name: &str, path: &Path) {
        self.set(name, &format!("\"{}\"", path.display()));
    }

    /// Adds an option without a value.
    pub(super) fn flag(&mut self, name: &str) {
        self.lines.push(name.into());
    }

    /// Writes the file into `folder`, for its owner alone.
    pub(super) fn write(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(FILE);
        let text = format!("[mysqld]\n{}\n", self.lines.join("\n"));
        write_private(&path, text)?;
        Ok(path)
    }
}

/// What MySQL's `--initialize-insecure` leaves open.
const NO_ROOT: &str = "DROP USER 'root'@'localhost';\n";

/// Space that a server and a data set in memory need, in megabytes: redo log 100 MB, tablespaces, temporary tables.
pub(super) const NEEDED_MB: u64 = 400;

/// A data folder with system tables and no account, which may be encrypted from the first.
pub(super) fn recipe<'a>(installation: &'a MySqlInstallation<'a>, encryption: &'a Encryption) -> Recipe<'a> {
    Recipe {
        installation: installation.installation,
        needed_mb: NEEDED_MB,
        make: Box::new(|folder| make(installation, encryption, folder)),
    }
}

/// Makes it in `folder`, which must be empty.
fn make(installation: &MySqlInstallation<'_>, encryption: &Encryption, folder: &Path) -> Result<()> {
    let data = folder.join(DATA);
    let mut settings = MyCnf::new(installation, folder, folder);
    settings.add(&encryption.settings);
    settings.write(folder)?;
    match installation.variant.system_tables {
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
    let words = installation.installation.command();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(defaults_file_option(folder))
        .args(options)
        .stdout(Stdio::null());
    if to_its_end(&mut command, folder, statements)? {
        Ok(())
    } else {
        Err(no_system_tables(installation.installation.entry, folder))
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

pub(super) fn account_for(method: AuthenticationMethod) -> Result<Account> {
    // MySQL 5.6 knows names of 16 characters at most.
    let name = match method {
        AuthenticationMethod::UnixSocket => return Ok(Account::without_password(own_name()?, method)),
        AuthenticationMethod::MysqlNativePassword => "native",
        AuthenticationMethod::CachingSha2Password => "caching",
        AuthenticationMethod::Sha256Password => "sha256",
        other => other.name(),
    };
    Account::with_password(format!("{USER}_{name}"), method)
}

/// The statements that make an account, each in one line, as an init file must have them.
///
/// They hold passwords, or what opens an account as well as one, so they reach the server through a pipe.
pub(super) fn account_statements(account: &Account, dialect: Dialect) -> Vec<String> {
    let name = format!("'{}'@'%'", account.user);
    let password = account.password.expose();
    let create = |how: String| format!("CREATE USER {name} IDENTIFIED {how};");
    let mut statements = match (dialect, account.method) {
        (Dialect::MariaDb, AuthenticationMethod::MysqlNativePassword) => {
            let hash = native_password_hash(&account.password);
            vec![create(format!("VIA mysql_native_password USING '{hash}'"))]
        }
        (Dialect::MariaDb, AuthenticationMethod::UnixSocket) => vec![create("VIA unix_socket".into())],
        (Dialect::MariaDb, method) => {
            vec![create(format!(
                "VIA {} USING PASSWORD('{password}')",
                method.name()
            ))]
        }
        (Dialect::MySql, AuthenticationMethod::UnixSocket) => vec![create("WITH auth_socket".into())],
        (Dialect::MySql, method) => vec![create(format!("WITH {} BY '{password}'", method.name()))],
        (Dialect::MySql56, AuthenticationMethod::MysqlNativePassword) => {
            let hash = native_password_hash(&account.password);
            vec![create(format!("BY PASSWORD '{hash}'"))]
        }
        (Dialect::MySql56, method) => vec![
            create(format!("WITH {}", method.name())),
            "SET old_passwords = 2;".into(),
            format!("SET PASSWORD FOR {name} = PASSWORD('{password}');"),
            "SET old_passwords = 0;".into(),
        ],
    };
    statements.push(format!(
        "GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION;"
    ));
    statements
}

/// What the server keeps of a password: `*` and SHA-1(SHA-1(password)) in hexadecimal.
fn native_password_hash(password: &Secret) -> String {
    format!(
        "*{}",
        hexadecimal(&sha1(&sha1(password.expose().as_bytes()))).to_uppercase()
    )
}

/// The name of the user that this process runs as, who is its client too.
fn own_name() -> Result<String> {
    let user = geteuid().as_raw();
    name_of(user)
        .filter(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        })
        .ok_or(Error::Nameless(user))
}

fn name_of(user: u32) -> Option<String> {
    let mut text = [0; 4096];
    // SAFETY: an all-zero passwd is valid: null pointers and zero numbers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: every pointer is to a local that outlives the call, and the length is that of `text`.
    let error = unsafe { libc::getpwuid_r(user, &mut entry, text.as_mut_ptr(), text.len(), &mut found) };
    if error != 0 || found.is_null() {
        return None;
    }
    // SAFETY: on success the name is a string in `text`, ended by zero.
    let name = unsafe { CStr::from_ptr(entry.pw_name) };
    name.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::mysql::testing::variants;

    #[test]
    fn a_reader_gets_all_and_then_the_end_and_without_one_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let statements =
            Statements::pipe_in(folder.path(), vec!["SELECT 1;".into(), "SELECT 2;".into()]).unwrap();
        assert!(!statements.deliver().unwrap());
        let path = statements.path().to_owned();
        let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
        while !statements.deliver().unwrap() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(reader.join().unwrap(), "SELECT 1;\nSELECT 2;\n");
        let path = statements.path().to_owned();
        drop(statements);
        assert!(!path.exists());
    }

    #[test]
    fn the_hash_is_the_servers_own() {
        // SELECT PASSWORD('123')
        let hash = native_password_hash(&Secret::new("123"));
        assert_eq!(hash, "*23AE809DDACAF96AF0FD78ED04B6A265E05AA257");
    }

    #[test]
    fn the_user_of_this_process_has_the_name_that_the_system_says() {
        assert_eq!(name_of(0).unwrap(), "root");
        assert_eq!(name_of(4_000_000_000), None);
    }

    #[test]
    fn every_statement_is_one_line_and_every_name_fits_every_server() {
        for (entry, variant) in variants() {
            for method in entry.capabilities.authentication {
                let account = account_for(*method).unwrap();
                // MySQL 5.6 knows names of 16 characters at most, the others of 32.
                let longest = if variant.dialect == Dialect::MySql56 {
                    16
                } else {
                    32
                };
                assert!(account.user.len() <= longest, "{}", account.user);
                for statement in account_statements(&account, variant.dialect) {
                    let holds = statement.ends_with(';') && !statement.contains('\n');
                    assert!(holds, "{statement}");
                }
            }
        }
    }
}
