//! Giving up the rights of root.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, configure_capability_in_ambient_set, set_capabilities,
    set_keep_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The user and the group that own nothing: the kernel's default for numbers that have no meaning in a namespace
/// (`/proc/sys/kernel/overflowuid`), and `nobody` of every distribution.
pub const NOBODY: u32 = 65_534;

/// Makes a command of root run as `nobody`, who keeps one right of root: to read the files of the private folder.
pub(crate) fn run_as_nobody(command: &mut Command) {
    let kept = CapabilitySet::DAC_OVERRIDE;
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    // SAFETY: all are system calls and touch no memory but their arguments, so they may be called between fork and
    // exec.
    unsafe {
        command.pre_exec(move || {
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
}
