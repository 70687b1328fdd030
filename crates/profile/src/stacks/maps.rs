//! What code a process has mapped, and how it is read.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};

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

/// What the kernel gives every program is a few pages.
const MAXIMUM_VDSO: u64 = 1 << 20;
/// So much of the begin of a file is compared with the process's memory.
const COMPARED: usize = 1024;

/// The bytes of what is mapped; nothing if they cannot be read, or are not those of the file that the process has.
pub(super) fn source_of(pid: u32, mapping: &Mapping) -> Option<Source> {
    if &*mapping.path == "[vdso]" {
        return vdso(pid, mapping).map(Source::Memory);
    }
    if mapping.inode == 0 {
        return None;
    }
    // The kernel's own link leads to the very file, also if it was deleted or is in a root of its own, but not for every user.
    let link = format!(
        "/proc/{pid}/map_files/{:x}-{:x}",
        mapping.addresses.start, mapping.addresses.end
    );
    if let Ok(file) = File::open(link) {
        return Some(Source::File(file));
    }
    let program = format!("/proc/{pid}/exe");
    let is_program = fs::metadata(&program).is_ok_and(|metadata| metadata.ino() == mapping.inode);
    let file = match is_program {
        true => File::open(program).ok()?,
        false => in_root_of(pid, &mapping.path).ok()?,
    };
    is_mapped(pid, mapping, &file).then_some(Source::File(file))
}

/// Opens a path as the process sees it. Links lead to nowhere outside of its root.
fn in_root_of(pid: u32, path: &str) -> io::Result<File> {
    let root = File::open(format!("/proc/{pid}/root"))?;
    // A pipe of that name must not keep anybody waiting.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::openat2(
        &root,
        Path::new(path),
        flags,
        Mode::empty(),
        ResolveFlags::IN_ROOT,
    );
    let file = match opened {
        Ok(file) => File::from(file),
        Err(_) => return Err(io::ErrorKind::NotFound.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// True unless the process shows that it has mapped another file of that name: a program can be replaced while it runs.
fn is_mapped(pid: u32, mapping: &Mapping, file: &File) -> bool {
    if file
        .metadata()
        .is_ok_and(|metadata| metadata.ino() == mapping.inode)
    {
        return true;
    }
    // File systems in layers number files differently; the header, which has the build ID behind it, is mapped first.
    let mut own = [0; COMPARED];
    let mut mapped = [0; COMPARED];
    let start = mapping.addresses.start.checked_sub(mapping.offset);
    start.is_some_and(|start| memory(pid, start, &mut mapped))
        && file.read_exact_at(&mut own, 0).is_ok()
        && own == mapped
}

fn vdso(pid: u32, mapping: &Mapping) -> Option<Vec<u8>> {
    let length = mapping.addresses.end.checked_sub(mapping.addresses.start)?;
    let mut bytes = vec![0; usize::try_from(length.min(MAXIMUM_VDSO)).ok()?];
    memory(pid, mapping.addresses.start, &mut bytes).then_some(bytes)
}

/// Reads memory of a process; false if not all of it can be read.
pub(super) fn memory(pid: u32, address: u64, buffer: &mut [u8]) -> bool {
    File::open(format!("/proc/{pid}/mem")).is_ok_and(|memory| memory.read_exact_at(buffer, address).is_ok())
}

/// More than any section that is read at once has; a file that says otherwise is not believed.
const MAXIMUM: u64 = 64 << 20;

/// A file, or what the kernel gives every program instead of one. It is read, never mapped: a file that is truncated meanwhile
/// then costs names, not this process.
#[derive(Debug)]
pub(super) enum Source {
    /// A file.
    File(File),
    /// What was read of a process's memory.
    Memory(Vec<u8>),
}

impl Source {
    /// Its length in bytes; 0 if that is not known.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Fills the buffer from there on; false if there is less.
    pub(super) fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        match self {
            Self::File(file) => file.read_exact_at(buffer, offset).is_ok(),
            Self::Memory(bytes) => match piece(bytes, offset, buffer.len()) {
                Some(piece) => {
                    buffer.copy_from_slice(piece);
                    true
                }
                None => false,
            },
        }
    }

    /// So many bytes from there on; nothing if there are fewer, or more than may be asked for.
    pub(super) fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        if length > MAXIMUM || offset.checked_add(length)? > self.size() {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.fill(offset, &mut bytes).then_some(bytes)
    }

    /// A string that ends with a zero byte, of at most `limit` bytes; nothing if it is longer, empty or not UTF-8.
    pub(super) fn string(&self, offset: u64, limit: usize) -> Option<String> {
        let mut length = 128.min(limit);
        loop {
            let available = usize::try_from(self.size().checked_sub(offset)?).ok()?;
            let bytes = self.read(offset, length.min(available) as u64)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                let text = std::str::from_utf8(&bytes[..end]).ok()?;
                return (!text.is_empty()).then(|| text.to_owned());
            }
            if length >= limit.min(available) {
                return None;
            }
            length = (length * 8).min(limit);
        }
    }
}

fn piece(bytes: &[u8], offset: u64, length: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(length)?)
}

/// A number of two bytes, the lowest first.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(at..at.checked_add(2)?)?.try_into().ok()?,
    ))
}

/// A number of four bytes, the lowest first.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

/// A number of eight bytes, the lowest first.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
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
