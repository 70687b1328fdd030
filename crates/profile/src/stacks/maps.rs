//! Which code a process has mapped.

use std::fs;
use std::io;
use std::ops::Range;

/// A mapping that may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) addresses: Range<u64>,
    /// Where in its file it begins.
    pub(super) offset: u64,
    /// The file's device and number as the kernel writes them; the number is 0 for what is no file.
    pub(super) device: Box<str>,
    pub(super) inode: u64,
    /// The file as the process sees it, or a word in brackets; empty for memory without a file.
    pub(super) path: Box<str>,
    /// True if its name was given to another file, or to none.
    pub(super) is_deleted: bool,
}

impl Mapping {
    /// The last part of the path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The lines of a process's list of mappings that tell of code.
pub(super) fn code_of(pid: u32) -> io::Result<Vec<u8>> {
    let all = fs::read(format!("/proc/{pid}/maps"))?;
    let mut code = Vec::with_capacity(8192);
    for line in all.split_inclusive(|byte| *byte == b'\n') {
        let permissions = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        if permissions.get(2) == Some(&b'x') {
            code.extend_from_slice(line);
        }
    }
    Ok(code)
}

/// The mappings of those lines, by their addresses.
pub(super) fn parse(lines: &[u8]) -> Vec<Mapping> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| mapping(&String::from_utf8_lossy(line)))
        .collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let _permissions = words.next()?;
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let device = words.next()?;
    let inode = words.next()?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start();
    let (path, is_deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let (start, end) = (
        u64::from_str_radix(start, 16).ok()?,
        u64::from_str_radix(end, 16).ok()?,
    );
    Some(Mapping {
        addresses: start..end,
        offset,
        device: device.into(),
        inode,
        path: path.replace("\\012", "\n").into(),
        is_deleted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_words_and_memory_without_a_file_are_told_apart() {
        let lines = "55d0c0a00000-55d0c0b00000 r-xp 00001000 fe:01 1234    /usr/sbin/a server (deleted)\n\
                     7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
                     7ffd0000-7ffd2000 r-xp 00000000 00:00 0                    [vdso]\n\
                     nonsense\n";
        let mappings = parse(lines.as_bytes());
        assert_eq!(mappings.len(), 3);
        assert_eq!(mappings[0].name(), "a server");
        assert!(mappings[0].is_deleted && !mappings[1].is_deleted);
        assert_eq!((mappings[0].offset, mappings[0].inode), (0x1000, 1234));
        assert_eq!(mappings[1].name(), "");
        assert_eq!(mappings[2].name(), "[vdso]");
        assert_eq!(mappings[2].addresses, 0x7ffd_0000..0x7ffd_2000);
    }
}
