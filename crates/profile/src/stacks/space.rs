//! What a process has loaded and mapped, where, and how it is read.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::elf_file::{ElfFile, Layout};

/// The number of a file among all that were read.
pub(super) type FileId = usize;

/// Which file it is, where, and as of when.
type Key = (Box<str>, u64, u64, i64, Option<String>);

/// All files that were read, of whichever processes.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: Vec<ElfFile>,
    ids: HashMap<Key, FileId>,
}

impl Files {
    /// The file of a mapping, read unless it is known.
    fn of(&mut self, pid: u32, mapping: &Mapping) -> FileId {
        let source = source_of(pid, mapping);
        let read = source.and_then(|source| Some((Layout::read(&source)?, source)));
        let (device, inode) = (mapping.device.clone(), mapping.inode);
        let Some((layout, source)) = read else {
            let key = (device, inode, 0, 0, Some(mapping.name().to_owned()));
            return self.add(key, || ElfFile::unreadable(mapping.name()));
        };
        // A number is given to another file once its own is deleted.
        let (size, changed) = match &source {
            Source::File(file) => file.metadata().map_or((0, 0), |metadata| {
                (
                    metadata.len(),
                    metadata.mtime().wrapping_mul(1_000_000_000) + metadata.mtime_nsec(),
                )
            }),
            Source::Memory(bytes) => (bytes.len() as u64, 0),
        };
        let key = (device, inode, size, changed, layout.build_id.clone());
        self.add(key, || ElfFile::read(mapping.name(), source, layout))
    }

    fn add(&mut self, key: Key, read: impl FnOnce() -> ElfFile) -> FileId {
        *self.ids.entry(key).or_insert_with(|| {
            self.files.push(read());
            self.files.len() - 1
        })
    }

    pub(super) fn get(&self, id: FileId) -> &ElfFile {
        &self.files[id]
    }

    pub(super) fn get_mut(&mut self, id: FileId) -> &mut ElfFile {
        &mut self.files[id]
    }
}

/// A file, or a part of it, where it is loaded.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) addresses: Range<u64>,
    /// What is added to the file's own addresses.
    pub(super) bias: u64,
    pub(super) file: FileId,
}

/// The address space of a process, as far as it is code, and what belongs to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    /// Code, by address.
    code: Vec<Image>,
    /// Files with their data, by address.
    whole: Vec<Image>,
    /// Code of no file, by address.
    anonymous: Vec<Range<u64>>,
    /// Which mappings the files of `code` are of.
    known: HashMap<(Box<str>, u64, Box<str>), FileId>,
}

impl Space {
    /// Of a process with these mappings. `before` is what it was.
    pub(super) fn new(pid: u32, mappings: &[Mapping], before: Option<&Self>, files: &mut Files) -> Self {
        let mut space = Self::default();
        for mapping in mappings {
            let is_file = mapping.inode != 0 || &*mapping.path == "[vdso]";
            if !is_file {
                space.anonymous.push(mapping.addresses.clone());
                continue;
            }
            let key = (mapping.device.clone(), mapping.inode, mapping.path.clone());
            let known = space.known.get(&key).or_else(|| before?.known.get(&key));
            let file = match known {
                Some(file) => *file,
                None => files.of(pid, mapping),
            };
            space.known.insert(key, file);
            space.add(mapping, file, &files.get(file).layout);
        }
        space.whole.sort_unstable_by_key(|image| image.addresses.start);
        space.whole.dedup_by_key(|image| (image.file, image.bias));
        space
    }

    fn add(&mut self, mapping: &Mapping, file: FileId, layout: &Layout) {
        let address = layout.address_of(mapping.offset).unwrap_or(mapping.offset);
        let bias = mapping.addresses.start.wrapping_sub(address);
        self.code.push(Image {
            addresses: mapping.addresses.clone(),
            bias,
            file,
        });
        let extent = layout.extent();
        let (start, end) = (extent.start.wrapping_add(bias), extent.end.wrapping_add(bias));
        if start < end {
            self.whole.push(Image {
                addresses: start..end,
                bias,
                file,
            });
        }
    }

    /// The file whose code an address is in.
    pub(super) fn code_at(&self, address: u64) -> Option<&Image> {
        image_at(&self.code, address).or_else(|| {
            // Some programs move their code to larger pages, which belong to no file.
            let is_anonymous = self.is_anonymous(address);
            image_at(&self.whole, address).filter(|_| is_anonymous)
        })
    }

    /// The file whose code or data an address is in.
    pub(super) fn whole_at(&self, address: u64) -> Option<&Image> {
        image_at(&self.whole, address)
    }

    /// True if code is there.
    pub(super) fn is_code(&self, address: u64) -> bool {
        image_at(&self.code, address).is_some() || self.is_anonymous(address)
    }

    fn is_anonymous(&self, address: u64) -> bool {
        let at = self.anonymous.partition_point(|range| range.start <= address);
        self.anonymous[..at]
            .last()
            .is_some_and(|range| range.contains(&address))
    }

    /// Gives functions without names those by which other files call them: which of several functions for the same the loader
    /// has chosen stands in the process's memory alone.
    pub(super) fn name_targets(&self, pid: u32, files: &mut Files) {
        let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else {
            return;
        };
        for image in &self.whole {
            let read = |address, bytes: &mut [u8]| memory.read_exact_at(bytes, address).is_ok();
            for (slot, target) in files.get(image.file).imports.targets(image.bias, read) {
                let Some(to) = self.code_at(target) else { continue };
                let address = target.wrapping_sub(to.bias);
                if files.get(to.file).is_nameless(address)
                    && let Some(name) = files.get(image.file).import(slot)
                {
                    files.get_mut(to.file).add_alias(address, name);
                }
            }
        }
    }
}

fn image_at(images: &[Image], address: u64) -> Option<&Image> {
    let at = images.partition_point(|image| image.addresses.start <= address);
    images[..at]
        .last()
        .filter(|image| image.addresses.contains(&address))
}

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
const MAXIMUM_PIECE: u64 = 64 << 20;

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
        if length > MAXIMUM_PIECE || offset.checked_add(length)? > self.size() {
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
