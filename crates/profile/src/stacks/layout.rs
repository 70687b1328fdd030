//! The layout of ELF files, the code that a process has mapped, and how both are read.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use object::pod::{self, Pod};
use object::read::elf::{FileHeader, Note, NoteIterator};
use object::{LittleEndian, elf};
use rustix::fs::{Mode, OFlags, ResolveFlags};

/// The header of a file for 64 bits, whose numbers have the lowest byte first.
type Elf = elf::FileHeader64<LittleEndian>;
pub(super) const LE: LittleEndian = LittleEndian;

const PAGE: u64 = 4096;
/// Names of sections and notes are short; a longer table is not believed.
const MAXIMUM_TABLE: u64 = 1 << 20;

/// A part of the file that is mapped into memory, or that says something of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) is_code: bool,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
}

/// A part of the file with a purpose.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) name: Box<str>,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) entry_size: u64,
}

impl Section {
    pub(super) fn is_code(&self) -> bool {
        let flags = (elf::SHF_ALLOC | elf::SHF_EXECINSTR).0;
        self.flags & flags == flags
    }

    pub(super) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.size
    }
}

/// Segments, sections and build ID. Addresses are the file's own, before it is loaded anywhere.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) segments: Vec<Segment>,
    pub(super) sections: Vec<Section>,
    pub(super) build_id: Option<String>,
}

impl Layout {
    /// Of a file for x86-64; nothing of any other.
    pub(super) fn read(source: &Source) -> Option<Self> {
        let header = source.one::<Elf>(0)?;
        if !header.is_supported() || header.e_machine.get(LE) != elf::EM_X86_64 {
            return None;
        }
        let segments = segments(source, &header)?;
        let mut notes = segments.iter().filter(|segment| segment.kind == elf::PT_NOTE.0);
        let build_id =
            notes.find_map(|segment| build_id(&source.read(segment.offset, bounded(segment.file_size))?));
        Some(Self {
            // What has none can be unwound and has no names.
            sections: sections(source, &header).unwrap_or_default(),
            segments,
            build_id,
        })
    }

    /// The address at which a mapping of code from this offset on begins. Two segments may share a page of the file.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        let segment = self.loaded().filter(|segment| segment.is_code).find(|segment| {
            let start = segment.offset - segment.offset % PAGE;
            (start..segment.offset.saturating_add(segment.file_size)).contains(&offset)
        })?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(segment.offset))
    }

    pub(super) fn offset_of(&self, address: u64) -> Option<u64> {
        let segment = self
            .loaded()
            .find(|segment| address.wrapping_sub(segment.address) < segment.file_size)?;
        segment.offset.checked_add(address - segment.address)
    }

    /// How many bytes the file has of the segment that an address is in, from there on.
    pub(super) fn loaded_after(&self, address: u64) -> Option<u64> {
        let into = |segment: &Segment| address.wrapping_sub(segment.address);
        let segment = self.loaded().find(|segment| into(segment) < segment.file_size)?;
        Some(segment.file_size - into(segment))
    }

    /// All addresses that the file takes.
    pub(super) fn extent(&self) -> Range<u64> {
        let start = self.loaded().map(|segment| segment.address).min().unwrap_or(0);
        let end = self
            .loaded()
            .map(|segment| segment.address.saturating_add(segment.memory_size))
            .max()
            .unwrap_or(0);
        start..end.max(start)
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| &*section.name == name)
    }

    pub(super) fn code_at(&self, address: u64) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.is_code() && section.contains(address))
    }

    fn loaded(&self) -> impl Iterator<Item = &Segment> {
        self.segments
            .iter()
            .filter(|segment| segment.kind == elf::PT_LOAD.0)
    }
}

fn segments(source: &Source, header: &Elf) -> Option<Vec<Segment>> {
    let (count, size) = (header.e_phnum.get(LE), header.e_phentsize.get(LE));
    if usize::from(size) != size_of::<elf::ProgramHeader64<LittleEndian>>() {
        return None;
    }
    let headers = source.all::<elf::ProgramHeader64<LittleEndian>>(header.e_phoff.get(LE), count.into())?;
    let segments = headers.iter().map(|header| Segment {
        kind: header.p_type.get(LE).0,
        is_code: header.p_flags.get(LE).0 & elf::PF_X.0 != 0,
        offset: header.p_offset.get(LE),
        address: header.p_vaddr.get(LE),
        file_size: header.p_filesz.get(LE),
        memory_size: header.p_memsz.get(LE),
    });
    Some(segments.collect())
}

fn sections(source: &Source, header: &Elf) -> Option<Vec<Section>> {
    let (count, size) = (header.e_shnum.get(LE), header.e_shentsize.get(LE));
    if usize::from(size) != size_of::<elf::SectionHeader64<LittleEndian>>() {
        return None;
    }
    let headers = source.all::<elf::SectionHeader64<LittleEndian>>(header.e_shoff.get(LE), count.into())?;
    let names = headers.get(usize::from(header.e_shstrndx.get(LE).0))?;
    let names = source.read(names.sh_offset.get(LE), bounded(names.sh_size.get(LE)))?;
    let sections = headers.iter().map(|header| Section {
        name: name(&names, header.sh_name.get(LE)),
        kind: header.sh_type.get(LE).0,
        flags: header.sh_flags.get(LE).0,
        address: header.sh_addr.get(LE),
        offset: header.sh_offset.get(LE),
        size: header.sh_size.get(LE),
        link: header.sh_link.get(LE),
        entry_size: header.sh_entsize.get(LE),
    });
    Some(sections.collect())
}

fn name(names: &[u8], at: u32) -> Box<str> {
    let name = names.get(at as usize..).unwrap_or_default();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&name[..name.len().min(64)]).into()
}

/// The identifier among the notes.
fn build_id(notes: &[u8]) -> Option<String> {
    let mut notes = NoteIterator::<Elf>::new(LE, 4, notes).ok()?;
    let is_it = |note: &Note<'_, Elf>| {
        note.n_type(LE) == elf::NT_GNU_BUILD_ID && note.name() == elf::ELF_NOTE_GNU && note.desc().len() <= 64
    };
    let id = notes.find_map(|note| note.ok().filter(is_it))?.desc();
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn bounded(size: u64) -> u64 {
    size.min(MAXIMUM_TABLE)
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

    /// So many structures from there on; nothing if there are fewer.
    fn all<T: Pod>(&self, offset: u64, count: u64) -> Option<Vec<T>> {
        let bytes = self.read(offset, count.checked_mul(size_of::<T>() as u64)?)?;
        Some(pod::slice_from_all_bytes(&bytes).ok()?.to_vec())
    }

    fn one<T: Pod>(&self, offset: u64) -> Option<T> {
        self.all(offset, 1)?.pop()
    }

    /// The structures of a table, of which no more than these are believed; of one that breaks off those before.
    pub(super) fn table<T: Pod>(&self, table: &Section, most: u64) -> impl Iterator<Item = T> {
        /// So many are read at once.
        const PIECE: u64 = 4096;
        let size = size_of::<T>() as u64;
        let count = (table.size / size).min(most);
        let begin = table.offset;
        let piece = move |at: usize| {
            let at = at as u64;
            self.all(begin.checked_add(at * size)?, PIECE.min(count - at))
        };
        (0..count as usize)
            .step_by(PIECE as usize)
            .map_while(piece)
            .flatten()
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
