//! What is mounted where, by `/proc/self/mountinfo`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// Where it is mounted.
    pub(super) point: PathBuf,
    /// Its type, such as `ext4`, `overlay` or `fuse.gocryptfs`.
    pub(super) kind: String,
    /// What it is made of: a device, a folder, a word.
    pub(super) source: PathBuf,
    /// The file system's own options.
    options: String,
}

impl Mount {
    /// The one that a path lies in: of those that are mounted nearest above it, the last.
    pub(super) fn of(mountinfo: &str, path: &Path) -> Option<Self> {
        let mounts = mountinfo.lines().filter_map(Self::from_line);
        let above = mounts.filter(|mount| path.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.components().count())
    }

    /// `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG …] - TYPE SOURCE OPTIONS`, as proc_pid_mountinfo(5) has it.
    fn from_line(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        Some(Self {
            point: unescaped(mount.split(' ').nth(4)?),
            kind: file_system.next()?.to_owned(),
            source: unescaped(file_system.next()?),
            options: file_system.next().unwrap_or_default().to_owned(),
        })
    }

    /// The value of an option that is a path. A comma in it is one with a backslash before it.
    pub(super) fn path_in_option(&self, name: &str) -> Option<PathBuf> {
        let hidden = unescaped(&self.options).into_os_string();
        let text = hidden.to_str()?.replace("\\,", "\0");
        let mut options = text.split(',').filter_map(|option| option.split_once('='));
        let (_, value) = options.find(|(option, _)| *option == name)?;
        Some(value.replace('\0', ",").replace("\\:", ":").into())
    }
}

/// The kernel writes blanks and backslashes as three octal digits after a backslash.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let byte = more
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[3..] } else { more };
    }
    OsStr::from_bytes(&bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw,discard\n\
        23 22 0:44 / /data rw - tmpfs none rw\n\
        24 23 0:45 / /data rw shared:7 master:2 - overlay over rw,lowerdir=/l1:/l2,upperdir=/up\\134,per\\040x,workdir=/w\n\
        a line that is none\n\
        25 22 8:1 /sub /mnt/with\\040blank rw - xfs /dev/sda1 rw\n";

    #[test]
    fn a_path_lies_in_the_last_mount_that_is_nearest_above_it() {
        let of = |path: &str| Mount::of(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(of("/etc").kind, "ext4");
        assert_eq!(of("/etc").source, Path::new("/dev/root"));
        assert_eq!(of("/database").kind, "ext4");
        assert_eq!(of("/mnt/with blank/x").kind, "xfs");
        let overlay = of("/data/base");
        assert_eq!(overlay.kind, "overlay");
        assert_eq!(overlay.path_in_option("upperdir"), Some("/up,per x".into()));
        assert_eq!(overlay.path_in_option("lowerdir"), Some("/l1:/l2".into()));
        assert_eq!(overlay.path_in_option("none"), None);
        assert_eq!(Mount::of("", Path::new("/")), None);
        assert_eq!(Mount::of("1 2 3:4 / - ext4", Path::new("/")), None);
    }

    #[test]
    fn what_is_no_escape_stays() {
        for (text, path) in [
            ("\\040a", " a"),
            ("\\9", "\\9"),
            ("\\\u{e9}\u{e9}", "\\\u{e9}\u{e9}"),
            ("\\777", "\\777"),
        ] {
            assert_eq!(unescaped(text), Path::new(path));
        }
    }
}
