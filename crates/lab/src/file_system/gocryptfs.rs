//! gocryptfs: a FUSE daemon that encrypts, for any user.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ciphertax_model::FileSystem;
use ciphertax_supervise::guard::{Ending, Guard, Helper, User};
use ciphertax_supervise::namespace::unmount;
use rustix::process::geteuid;

use crate::error::{Error, Result};
use crate::files::{random_digits, read_from, write_private};
use crate::tunnel::Side;
use crate::tunnel::pair::Half;
use crate::tunnel::program::{Program, run_to_success};

use super::{FileSystemError, beside, can_open, system};

/// The program, and Debian's package of it.
const GOCRYPTFS: &str = "gocryptfs";

/// By which a program has its owner's rights (`S_ISUID`).
const SET_USER: u32 = 0o4000;

/// By which it is mounted.
const FUSE: &str = "/dev/fuse";

/// What it writes, in the private folder.
const LOG: &str = "gocryptfs.log";

/// What it says when it may be used. It is mounted before, and then opens a file of its own: whoever makes a folder
/// meanwhile waits for the daemon, and the daemon for the folder, for ever.
const READY: &str = "Filesystem mounted and ready";

/// A daemon and what it keeps.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) process: Half,
    pub(super) cipher_folder: PathBuf,
    version: String,
}

struct Programs {
    gocryptfs: Program,
    /// Mounts it, in the name of users who may not.
    fusermount: Program,
}

/// Whether this user can have it on this machine.
pub(super) fn check() -> Result<()> {
    let programs = Programs::find()?;
    let mode = fs::metadata(programs.fusermount.path()).map(|metadata| metadata.mode());
    if !geteuid().is_root() && mode.is_ok_and(|mode| mode & SET_USER == 0) {
        return Err(FileSystemError::NoRights(programs.fusermount.path().into()).into());
    }
    can_open(FileSystem::Gocryptfs, FUSE)
}

impl Daemon {
    /// Makes a folder for ciphertext beside `folder` and mounts it there.
    pub(super) fn start(folder: &Path, guard: &mut Guard) -> Result<Self> {
        let programs = Programs::find()?;
        let said = programs.gocryptfs.says("-version", "gocryptfs ")?;
        let version = said.split(';').next().unwrap_or_default().to_owned();
        let (cipher_folder, password) = (beside(folder, "cipher"), beside(folder, "password"));
        fs::create_dir(&cipher_folder).map_err(Error::write(&cipher_folder))?;
        write_password(&password)?;
        let init = [
            "-init".into(),
            "-q".into(),
            "-passfile".into(),
            password.clone().into(),
            cipher_folder.clone().into(),
        ];
        run_to_success(&programs.command_line(init))?;
        let process = mount(&programs, &cipher_folder, &password, folder, guard)?;
        fs::remove_file(&password).map_err(Error::write(&password))?;
        Ok(Self {
            process,
            cipher_folder,
            version,
        })
    }

    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("encryption".into(), "AES-256-GCM, names AES-256-EME".into()),
            (GOCRYPTFS.into(), self.version.clone()),
        ])
    }

    /// Its last words, if it has ended.
    pub(super) fn end(&self) -> Option<FileSystemError> {
        self.process
            .has_ended()
            .then(|| FileSystemError::Ended(self.process.last_words()))
    }

    /// Unmounts `folder`, and ends the daemon with the key that it alone has.
    pub(super) fn stop(&self, folder: &Path, guard: &mut Guard) -> Result<()> {
        unmount(folder).map_err(system(format!("unmount {}", folder.display())))?;
        self.process.end(guard)
    }
}

impl Programs {
    fn find() -> Result<Self> {
        Ok(Self {
            gocryptfs: Program::find(&[GOCRYPTFS], GOCRYPTFS)?,
            fusermount: Program::find(&["fusermount", "fusermount3"], "fuse3")?,
        })
    }

    /// gocryptfs finds the other program in the `PATH`.
    fn command_line(&self, arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let mut path = OsString::from("PATH=");
        path.push(self.fusermount.folder());
        if let Some(others) = env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        let mut words = vec!["/usr/bin/env".into(), path];
        words.extend(self.gocryptfs.command_line(arguments));
        words
    }
}

/// Starts the daemon, which reads the password from a file, and waits until it has mounted.
fn mount(
    programs: &Programs,
    cipher_folder: &Path,
    password: &Path,
    folder: &Path,
    guard: &mut Guard,
) -> Result<Half> {
    let mut arguments: Vec<OsString> = vec!["-fg".into(), "-nosyslog".into()];
    if geteuid().is_root() {
        // A server that refuses to run as root is another user.
        arguments.push("-allow_other".into());
    }
    arguments.extend(["-passfile".into(), password.into(), "--".into()]);
    arguments.extend([cipher_folder.into(), folder.into()]);
    let log = guard.folder().join(LOG);
    let said = fs::metadata(&log).map_or(0, |metadata| metadata.len());
    let helper = Helper {
        command_line: programs.command_line(arguments),
        log: LOG.into(),
        user: User::Owner,
        namespace: None,
        ending: Ending::TerminateLast,
    };
    let process = Half::start(guard, GOCRYPTFS, Side::Server, helper)?;
    process.wait_until(|| read_from(&log, said).contains(READY))?;
    Ok(process)
}

fn write_password(path: &Path) -> Result<()> {
    write_private(path, random_digits::<32>()?)
}

#[cfg(test)]
mod tests {
    use ciphertax_supervise::PrivateFolder;
    use ciphertax_supervise::guard::GuardProgram;
    use ciphertax_supervise::namespace::mounts_below;
    use ciphertax_testkit::not_tested;

    use super::*;

    #[test]
    fn a_wrong_password_mounts_nothing() {
        if let Err(error) = check() {
            return not_tested(error);
        }
        let program = GuardProgram::this_program();
        let mut guard = Guard::start(&program, PrivateFolder::create(1).unwrap()).unwrap();
        let folder = guard.folder().join("data");
        fs::create_dir(&folder).unwrap();
        let daemon = Daemon::start(&folder, &mut guard).unwrap();
        fs::write(folder.join("file"), "contents").unwrap();
        let password = beside(&folder, "password");
        assert!(!password.exists());
        daemon.stop(&folder, &mut guard).unwrap();
        assert!(!folder.join("file").exists());

        write_password(&password).unwrap();
        let programs = Programs::find().unwrap();
        let error = mount(&programs, &daemon.cipher_folder, &password, &folder, &mut guard)
            .unwrap_err()
            .to_string();
        assert!(error.contains("Password incorrect"), "{error}");
        assert_eq!(mounts_below(&folder).unwrap(), []);
    }
}
