//! Network namespaces of other processes, and what is mounted in a private folder.
//!
//! Entering a namespace needs CAP_SYS_ADMIN over it.
//!
//! A mount outlives the process that made it, so whoever removes a private folder unmounts first what is in it: the
//! guard, and after its death the next sweep. A loop device that was made to clear itself goes with its mount.

use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{io, ptr, thread};

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Makes a command run in the network namespace that `path` leads to.
pub(crate) fn run_inside(command: &mut Command, path: &Path) -> io::Result<()> {
    let namespace = File::open(path)?;
    // SAFETY: a system call that touches no memory, so it may be called between fork and exec.
    unsafe { command.pre_exec(move || enter(&namespace)) };
    Ok(())
}

/// Does something in a thread of its own that is in the network namespace that `path` leads to. What it opens there may
/// be used elsewhere.
///
/// # Errors
/// If the namespace cannot be entered, or what `work` says.
pub fn inside<T: Send>(path: &Path, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = File::open(path)?;
    let enter = || {
        enter(&namespace)?;
        work()
    };
    thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}

fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// By which ordinary users unmount file systems that they run themselves; the second is its name of before FUSE 3.
const FUSERMOUNT: [&str; 2] = ["fusermount3", "fusermount"];

/// A mount of this process's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub at: PathBuf,
    /// The kind of file system, as `ext4` or `fuse.gocryptfs`.
    pub kind: String,
    /// What it shows: a device, or what a FUSE file system says.
    pub source: PathBuf,
}

/// What is mounted on `folder` or below it, in the order in which it was.
///
/// # Errors
/// If there is no such folder, or the kernel does not say.
pub fn mounts_below(folder: &Path) -> io::Result<Vec<Mount>> {
    let folder = folder.canonicalize()?;
    let table = fs::read("/proc/self/mountinfo")?;
    let lines = table.split(|byte| *byte == b'\n');
    let mounts = lines.filter_map(parse);
    Ok(mounts.filter(|mount| mount.at.starts_with(&folder)).collect())
}

/// Mounts a file system of this kind, with its own options, over the folder `at`. Nothing in it is a device or runs with
/// other rights than those of who runs it.
///
/// # Errors
/// If this user may not, or the kernel refuses.
pub fn mount(device: &Path, at: &Path, kind: &CStr, options: &CStr) -> io::Result<()> {
    let (device, at) = (c_string(device)?, c_string(at)?);
    let flags = libc::MS_NODEV | libc::MS_NOSUID;
    // SAFETY: a system call with strings that outlive it; ext4 and the like take their options as a string.
    let outcome = unsafe {
        libc::mount(
            device.as_ptr(),
            at.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    done(outcome)
}

/// Shows the folder `from` over the folder `at` too.
///
/// # Errors
/// If this user may not, or one of them is no folder.
pub fn mount_bind(from: &Path, at: &Path) -> io::Result<()> {
    let (from, at) = (c_string(from)?, c_string(at)?);
    // SAFETY: a system call with strings that outlive it; it takes neither kind nor options.
    let outcome = unsafe {
        libc::mount(
            from.as_ptr(),
            at.as_ptr(),
            ptr::null(),
            libc::MS_BIND,
            ptr::null(),
        )
    };
    done(outcome)
}

/// Unmounts what is mounted at `path`, at once for whoever looks for it and for good when nobody uses it any more. The
/// path must have no symbolic links in it.
///
/// # Errors
/// If this user may not, or nothing is mounted there.
pub fn unmount(path: &Path) -> io::Result<()> {
    let at = c_string(path)?;
    // SAFETY: a system call with a string that outlives it.
    match done(unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) }) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => unmount_as_ordinary_user(path),
        outcome => outcome,
    }
}

/// Unmounts whatever is mounted on `folder` or below it, the last mount first.
pub(crate) fn unmount_below(folder: &Path) -> io::Result<()> {
    for mount in mounts_below(folder)?.iter().rev() {
        unmount(&mount.at)?;
    }
    Ok(())
}

fn unmount_as_ordinary_user(path: &Path) -> io::Result<()> {
    for program in FUSERMOUNT {
        let status = Command::new(program)
            .args(["-u", "-q", "-z", "--"])
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Ok(());
        }
    }
    Err(Errno::PERM.into())
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn done(outcome: libc::c_int) -> io::Result<()> {
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A line of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)): the mount point is its fifth word; the kind and the source
/// follow a dash behind a number of optional words.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|byte| *byte == b' ');
    let at = words.nth(4)?;
    let mut words = words.skip_while(|word| *word != b"-").skip(1);
    let (kind, source) = (words.next()?, words.next()?);
    Some(Mount {
        at: unescape(at),
        kind: String::from_utf8_lossy(kind).into_owned(),
        source: unescape(source),
    })
}

/// Spaces and the like are written as three octal digits behind a backslash.
fn unescape(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, others @ ..] = rest {
        let digits = others
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        (rest, _) = match (first, escaped) {
            (b'\\', Some(byte)) => (&others[3..], bytes.push(byte)),
            _ => (others, bytes.push(*first)),
        };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::{is_root, not_tested, temporary_folder};

    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_with_its_spaces() {
        let line = br"36 35 98:0 / /mnt/a\040b\134c rw,noatime master:1 shared:2 - ext4 /dev/loop0 rw,errors=continue";
        let expected = Mount {
            at: r"/mnt/a b\c".into(),
            kind: "ext4".into(),
            source: "/dev/loop0".into(),
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse(b"36 35 98:0 / /mnt rw"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn what_is_mounted_in_a_folder_is_found_and_goes_without_its_contents() {
        if !is_root() {
            return not_tested("only root may mount");
        }
        let parent = temporary_folder();
        let folder = parent.path().join("with a space");
        let (upper, neighbour) = (folder.join("upper"), parent.path().join("with a space2"));
        for folder in [&upper, &neighbour] {
            fs::create_dir_all(folder).unwrap();
        }
        let tmpfs = |at: &Path| mount(Path::new("none"), at, c"tmpfs", c"size=64k").unwrap();
        for at in [&folder, &neighbour] {
            tmpfs(at);
        }
        fs::create_dir(&upper).unwrap();
        tmpfs(&upper);
        fs::write(neighbour.join("precious"), "").unwrap();
        let found = mounts_below(&folder).unwrap();
        let at: Vec<_> = found.iter().map(|mount| mount.at.clone()).collect();
        assert_eq!(at, [folder.clone(), upper.clone()]);
        assert!(found.iter().all(|mount| mount.kind == "tmpfs"));
        // A file in use holds nothing up.
        let _open = fs::File::create(upper.join("open")).unwrap();
        unmount_below(&folder).unwrap();
        assert_eq!(mounts_below(&folder).unwrap(), []);
        assert!(neighbour.join("precious").exists());
        unmount_below(&neighbour).unwrap();
        assert!(unmount(&neighbour).is_err());
    }
}
