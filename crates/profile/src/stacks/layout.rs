//! What lies where in an ELF file.

use std::ops::Range;

use object::elf;

use super::maps::{Source, u16_at, u32_at, u64_at};

const PAGE: u64 = 4096;
const HEADER: u64 = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
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
    /// True if it is mapped and may be executed.
    pub(super) fn is_code(&self) -> bool {
        let flags = (elf::SHF_ALLOC | elf::SHF_EXECINSTR).0;
        self.flags & flags == flags
    }

    /// True if the address is in it, once it is mapped.
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
        let header = source.read(0, HEADER)?;
        let is_elf = header.starts_with(&elf::ELFMAG)
            && header.get(4..6) == Some(&[elf::ELFCLASS64.0, elf::ELFDATA2LSB.0])
            && u16_at(&header, 18) == Some(elf::EM_X86_64.0);
        if !is_elf {
            return None;
        }
        let segments = segments(source, &header)?;
        let build_id = segments
            .iter()
            .filter(|segment| segment.kind == elf::PT_NOTE.0)
            .find_map(|segment| build_id(&source.read(segment.offset, bounded(segment.file_size))?));
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

    /// Where in the file an address is.
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

    /// The section of that name.
    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| &*section.name == name)
    }

    /// The section of code that an address is in.
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

fn segments(source: &Source, header: &[u8]) -> Option<Vec<Segment>> {
    let (offset, size, count) = (u64_at(header, 32)?, u16_at(header, 54)?, u16_at(header, 56)?);
    if usize::from(size) != SEGMENT {
        return None;
    }
    let bytes = source.read(offset, u64::from(count) * SEGMENT as u64)?;
    let segments = bytes.chunks_exact(SEGMENT).map(|bytes| {
        Some(Segment {
            kind: u32_at(bytes, 0)?,
            is_code: u32_at(bytes, 4)? & elf::PF_X.0 != 0,
            offset: u64_at(bytes, 8)?,
            address: u64_at(bytes, 16)?,
            file_size: u64_at(bytes, 32)?,
            memory_size: u64_at(bytes, 40)?,
        })
    });
    segments.collect()
}

fn sections(source: &Source, header: &[u8]) -> Option<Vec<Section>> {
    let (offset, size, count) = (u64_at(header, 40)?, u16_at(header, 58)?, u16_at(header, 60)?);
    if usize::from(size) != SECTION {
        return None;
    }
    let bytes = source.read(offset, u64::from(count) * SECTION as u64)?;
    let names = bytes
        .chunks_exact(SECTION)
        .nth(usize::from(u16_at(header, 62)?))?;
    let names = source.read(u64_at(names, 24)?, bounded(u64_at(names, 32)?))?;
    let sections = bytes.chunks_exact(SECTION).map(|bytes| {
        Some(Section {
            name: name(&names, u32_at(bytes, 0)?),
            kind: u32_at(bytes, 4)?,
            flags: u64_at(bytes, 8)?,
            address: u64_at(bytes, 16)?,
            offset: u64_at(bytes, 24)?,
            size: u64_at(bytes, 32)?,
            link: u32_at(bytes, 40)?,
            entry_size: u64_at(bytes, 56)?,
        })
    });
    sections.collect()
}

fn name(names: &[u8], at: u32) -> Box<str> {
    let name = names.get(at as usize..).unwrap_or_default();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(&name[..name.len().min(64)]).into()
}

/// The identifier among the notes: each has the lengths of its name and contents, its kind, and both, padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<String> {
    loop {
        let (name, contents) = (u32_at(notes, 0)? as usize, u32_at(notes, 4)? as usize);
        let start = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = start.checked_add(contents)?;
        if u32_at(notes, 8)? == elf::NT_GNU_BUILD_ID.0 && notes.get(12..16) == Some(b"GNU\0") {
            let id = notes.get(start..end)?;
            return (id.len() <= 64).then(|| id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = notes.get(end.checked_next_multiple_of(4)?..)?;
    }
}

fn bounded(size: u64) -> u64 {
    size.min(MAXIMUM_TABLE)
}
