//! Giving up the rights of root, and files that hold secrets and do not outlive their owner.

use std::io::Write;
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_capabilities_secure_bits, set_keep_capabilities, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

use crate::error::{Error, Result};
use crate::folder::{PrivateFolder, create_private_file};
use crate::guard::{Guard, GuardProgram};

/// The user and the group that own nothing: the kernel's default for numbers that have no meaning in a namespace
/// (`/proc/sys/kernel/overflowuid`), and `nobody` of every distribution.
pub const NOBODY: u32 = 65_534;

/// Numbers of users and groups that nobody gives away: Debian reserves them (its policy, 9.2.2), and systemd leaves them
/// unused (<https://systemd.io/UIDS-GIDS>).
pub(crate) const RESERVED: RangeInclusive<u32> = 65_520..=65_533;

/// The user that programs of ours can have for their own, for root, whom some refuse to run as: a number that has no
/// name on this machine, so that nobody else runs as it. `None` if every reserved number has one.
pub fn own_user() -> Option<u32> {
    RESERVED.into_iter().find(|number| !has_name(*number))
}

/// Makes a command of root run as this user and the group of the same number, who keeps one right of root: to read all
/// files, such as programs and certificates in folders that only root may enter. Where root has no such right, as in most
/// containers, it keeps that to read and write them.
pub fn run_as_reader(command: &mut Command, user: u32) {
    // SAFETY: a system call that touches no memory.
    unsafe {
        command.pre_exec(|| {
            // Otherwise access(2) denies what the right allows. Where root may not say so, programs that do not ask
            // beforehand run all the same.
            let _ = set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP);
            Ok(())
        });
    }
    run_as(
        command,
        user,
        &[CapabilitySet::DAC_READ_SEARCH, CapabilitySet::DAC_OVERRIDE],
    );
}

/// Makes a command of root run as `nobody`, who keeps one right of root: to read the files of the private folder.
pub(crate) fn run_as_nobody(command: &mut Command) {
    run_as(command, NOBODY, &[CapabilitySet::DAC_OVERRIDE]);
}

/// Keeps the first of these rights that root has.
fn run_as(command: &mut Command, number: u32, rights: &'static [CapabilitySet]) {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    // SAFETY: all are system calls and touch no memory but their arguments, so they may be called between fork and
    // exec.
    unsafe {
        command.pre_exec(move || {
            let permitted = capabilities(None)?.permitted;
            let mut kept = rights.iter().copied().filter(|right| permitted.contains(*right));
            let kept = kept.next().ok_or(Errno::PERM)?;
            set_keep_capabilities(true)?;
            set_thread_groups(&[])?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
            set_capabilities(
                None,
                CapabilitySets {
                    effective: kept,
                    permitted: kept,
                    inheritable: kept,
                },
            )?;
            // Without this the right would end with exec.
            configure_capability_in_ambient_set(kept, true)?;
            Ok(())
        });
    }
}

/// True if a user or a group of this machine has this number, or if that cannot be said.
fn has_name(number: u32) -> bool {
    const LONGEST: usize = 64 << 10;
    let mut text = vec![0; LONGEST];
    // SAFETY: an all-zero passwd is valid: null pointers and zero numbers.
    let mut user: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found_user = ptr::null_mut();
    // SAFETY: every pointer is to a local that outlives the call, and the length is that of `text`.
    let user_error =
        unsafe { libc::getpwuid_r(number, &mut user, text.as_mut_ptr(), text.len(), &mut found_user) };
    // SAFETY: an all-zero group is valid: null pointers and a zero number.
    let mut group: libc::group = unsafe { std::mem::zeroed() };
    let mut found_group = ptr::null_mut();
    // SAFETY: as above.
    let group_error = unsafe {
        libc::getgrgid_r(
            number,
            &mut group,
            text.as_mut_ptr(),
            text.len(),
            &mut found_group,
        )
    };
    let absent = |error: libc::c_int| [0, libc::ENOENT, libc::ESRCH].contains(&error);
    !(found_user.is_null() && absent(user_error) && found_group.is_null() && absent(group_error))
}

/// Space that a few settings and certificates need.
const NEEDED_MB: u64 = 1;

/// A folder with mode 0700 among the temporary files. A guard removes it with its owner, however that ends.
#[derive(Debug)]
pub struct PrivateFiles {
    guard: Guard,
}

impl PrivateFiles {
    /// Makes an empty folder.
    ///
    /// # Errors
    /// If it cannot be made, or nobody would remove it.
    pub fn create(guard: &GuardProgram) -> Result<Self> {
        Ok(Self {
            guard: Guard::start(guard, PrivateFolder::create(NEEDED_MB)?)?,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Makes a folder in it, and those above that.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create_folder(&self, name: impl AsRef<Path>) -> Result<()> {
        let path = self.folder().join(name);
        std::fs::create_dir_all(&path).map_err(Error::write(&path))
    }

    /// Writes a new file that its owner alone may read, and makes the folders above it.
    ///
    /// # Errors
    /// If it exists or cannot be written.
    pub fn write(&self, name: impl AsRef<Path>, contents: &[u8]) -> Result<PathBuf> {
        let path = self.folder().join(name);
        self.create_folder(path.parent().unwrap_or(self.folder()))?;
        create_private_file(&path)?
            .write_all(contents)
            .map_err(Error::write(&path))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use ciphertax_testkit::{is_root, not_tested};

    use super::*;

    #[test]
    fn nobody_has_no_right_of_root_but_to_read_its_files() {
        if !is_root() {
            return not_tested("giving up the rights of root: only root has them");
        }
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "contents").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let mut command = Command::new("/bin/cat");
        command.arg(&secret).arg("/proc/self/status");
        run_as_nobody(&mut command);
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(output.starts_with("contents"), "{output}");
        assert!(output.contains("Uid:\t65534\t65534\t65534\t65534"), "{output}");
        assert!(output.contains("Gid:\t65534\t65534\t65534\t65534"), "{output}");
        assert!(output.contains("CapEff:\t0000000000000002"), "{output}");
    }

    #[test]
    fn a_user_of_its_own_has_no_name_and_no_right_but_to_read() {
        assert!(has_name(0) && has_name(NOBODY));
        let user = own_user().unwrap();
        assert!(RESERVED.contains(&user) && !has_name(user));
        if !is_root() {
            return not_tested("giving up the rights of root: only root has them");
        }
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "contents").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let mut command = Command::new("/bin/sh");
        let script = format!(
            "test -r {0} && cat {0}; echo more 2>/dev/null >{0}; cat /proc/self/status",
            secret.display()
        );
        command.args(["-c", &script]);
        run_as_reader(&mut command, user);
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(output.starts_with("contents"), "{output}");
        let is_users = output.contains(&format!("Uid:\t{user}\t{user}\t{user}\t{user}"));
        assert!(is_users, "{output}");
        let reads = output.contains("CapEff:\t0000000000000004");
        assert!(reads || output.contains("CapEff:\t0000000000000002"), "{output}");
        let written = fs::read_to_string(&secret).unwrap() != "contents";
        assert_ne!(reads, written);
    }
}
