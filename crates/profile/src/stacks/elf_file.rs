//! All that is known of one program or library, whichever processes have it loaded, and what lies where in it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ciphertax_records::why::ModuleRecord;
use object::elf;

use super::calls::{self, Call, Imports, is_stubs};
use super::frames::Frames;
use super::names::{Symbol, Symbols, readable};
use super::space::{Source, u16_at, u32_at, u64_at};

/// So many answers of a kind are kept.
const MAXIMUM_KEPT: usize = 200_000;
/// So much of a function is searched for jumps.
const MAXIMUM_FUNCTION: u64 = 64 << 10;

/// One program or library. Addresses are its own, before it is loaded anywhere.
#[derive(Debug)]
pub(super) struct ElfFile {
    name: String,
    source: Source,
    pub(super) layout: Layout,
    pub(super) frames: Frames,
    symbols: Symbols,
    pub(super) imports: Imports,
    /// What others call functions that have no name here, by where they begin.
    aliases: HashMap<u64, String>,
    /// Names that were given, by where the function begins: once given they stay.
    given: HashMap<u64, Arc<str>>,
    /// What stands before return addresses.
    calls: HashMap<u64, Option<Call>>,
    /// Which functions jump into which others, by where they begin.
    jumps: HashMap<(u64, u64), bool>,
}

/// What names a function.
enum Label {
    Symbol(Symbol),
    /// A stub that jumps to what others call so.
    Stub(Option<String>),
    Nothing,
}

impl ElfFile {
    /// Reads a file whose layout was read.
    pub(super) fn read(name: &str, source: Source, layout: Layout) -> Self {
        Self {
            frames: Frames::read(&source, &layout),
            symbols: Symbols::read(&source, &layout),
            imports: Imports::read(&source, &layout),
            name: name.to_owned(),
            source,
            layout,
            aliases: HashMap::new(),
            given: HashMap::new(),
            calls: HashMap::new(),
            jumps: HashMap::new(),
        }
    }

    /// One of which nothing but the name is known.
    pub(super) fn unreadable(name: &str) -> Self {
        Self::read(name, Source::Memory(Vec::new()), Layout::default())
    }

    /// How it is recorded.
    pub(super) fn module(&self) -> ModuleRecord {
        ModuleRecord {
            name: self.name.clone(),
            build_id: self.layout.build_id.clone(),
        }
    }

    /// The name of the function at an address, if it has one or was given one.
    pub(super) fn known_name(&mut self, address: u64) -> Option<Arc<str>> {
        let (start, label) = self.function(address);
        if let Some(name) = self.given.get(&start) {
            return Some(name.clone());
        }
        let name = match label {
            Label::Symbol(symbol) => readable(&self.symbols.name(&self.source, &symbol, false)?),
            Label::Stub(name) => format!("{}@plt", readable(&name?)),
            Label::Nothing => readable(self.aliases.get(&start)?),
        };
        Some(self.give(start, name))
    }

    /// The name of the function at an address, or what stands for one.
    pub(super) fn name(&mut self, address: u64) -> Arc<str> {
        if let Some(name) = self.known_name(address) {
            return name;
        }
        if self.layout.segments.is_empty() {
            return self.name.as_str().into();
        }
        let (start, _) = self.function(address);
        self.give(start, format!("{}+{start:#x}", self.name))
    }

    /// The variable at an address: its name, and how far into it.
    pub(super) fn variable(&self, address: u64) -> Option<String> {
        let symbol = self.symbols.variable(address)?;
        let name = readable(&self.symbols.name(&self.source, symbol, true)?);
        Some(match address - symbol.address {
            0 => name,
            offset => format!("{name}+{offset}"),
        })
    }

    /// True if there is code at an address and no symbol.
    pub(super) fn is_nameless(&self, address: u64) -> bool {
        let section = self.layout.code_at(address);
        section.is_some_and(|section| !is_stubs(section)) && !self.symbols.has_function(address)
    }

    /// The name of what a slot stands for, as the file has it.
    pub(super) fn import(&self, slot: u64) -> Option<String> {
        self.imports.name(&self.source, &self.symbols, slot)
    }

    /// Notes what another file calls a function. Of several names it is the first by the alphabet, whatever the order.
    pub(super) fn add_alias(&mut self, address: u64, name: String) {
        if self.aliases.len() >= MAXIMUM_KEPT {
            return;
        }
        let known = self.aliases.entry(address).or_insert_with(|| name.clone());
        if name < *known {
            *known = name;
        }
    }

    /// The call before a return address; nothing if there is none.
    pub(super) fn call_before(&mut self, address: u64) -> Option<Call> {
        if let Some(call) = self.calls.get(&address) {
            return *call;
        }
        let mut code = [0; calls::LONGEST_CALL];
        let start = address.wrapping_sub(calls::LONGEST_CALL as u64);
        let offset = self.layout.offset_of(start);
        let call = offset
            .filter(|_| self.layout.code_at(address.wrapping_sub(1)).is_some())
            .filter(|offset| self.source.fill(*offset, &mut code))
            .and_then(|_| calls::call_before(&code, address));
        if self.calls.len() >= MAXIMUM_KEPT {
            self.calls.clear();
        }
        self.calls.insert(address, call);
        call
    }

    /// True if the function that begins at an address jumps into another, which then returns for it.
    pub(super) fn jumps_into(&mut self, function: u64, other: &Range<u64>) -> bool {
        let key = (function, other.start);
        if let Some(known) = self.jumps.get(&key) {
            return *known;
        }
        let end = self.frames.function(function).map(|bounds| bounds.end);
        let length = end.map_or(0, |end| end.saturating_sub(function).min(MAXIMUM_FUNCTION));
        let code = self
            .layout
            .offset_of(function)
            .and_then(|offset| self.source.read(offset, length));
        let jumps = code.is_some_and(|code| calls::jumps_into(&code, function, other));
        if self.jumps.len() >= MAXIMUM_KEPT {
            self.jumps.clear();
        }
        self.jumps.insert(key, jumps);
        jumps
    }

    /// True of an address in a stub.
    pub(super) fn is_stub(&self, address: u64) -> bool {
        self.layout.code_at(address).is_some_and(is_stubs)
    }

    /// True if the symbols say that a thread or program begins in the function at this address.
    pub(super) fn is_outermost(&mut self, address: u64) -> bool {
        const OUTERMOST: [&str; 6] = ["_start", "clone", "clone3", "start_thread", "__clone", "__clone3"];
        self.known_name(address)
            .is_some_and(|name| OUTERMOST.contains(&&*name))
    }

    /// Where the function at an address begins, or what of the file is nearest before it, and what names it.
    fn function(&self, address: u64) -> (u64, Label) {
        let stub = self
            .imports
            .stub(&self.source, &self.layout, &self.symbols, address);
        if let Some((start, name)) = stub {
            return (start, Label::Stub(name));
        }
        let bounds = self.frames.function(address);
        let is_certain = bounds.is_some();
        let begin = bounds.map_or_else(|| self.earliest_begin(address), |bounds| bounds.start);
        match self.symbols.function(address, begin, is_certain) {
            Some(symbol) => (symbol.address, Label::Symbol(*symbol)),
            None => (begin, Label::Nothing),
        }
    }

    /// Where code begins that no frame describes: behind what is known.
    fn earliest_begin(&self, address: u64) -> u64 {
        let section = self.layout.code_at(address).map(|section| section.address);
        let before = [
            section,
            self.frames.end_before(address),
            self.symbols.end_before(address),
        ];
        let before = before.into_iter().flatten().filter(|end| *end <= address);
        before.max().unwrap_or_else(|| self.layout.extent().start)
    }

    fn give(&mut self, start: u64, name: String) -> Arc<str> {
        if self.given.len() >= MAXIMUM_KEPT {
            self.given.clear();
        }
        self.given.entry(start).or_insert_with(|| name.into()).clone()
    }
}

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

#[cfg(test)]
mod tests {
    use std::fs;

    use gimli::UnwindContext;

    use super::*;

    /// A library with all that is read, of a few hundred KiB.
    fn library() -> Option<Vec<u8>> {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
        let path = paths.find(|path| path.contains("/libgcc_s.so") || path.contains("/ld-linux"))?;
        fs::read(path).ok()
    }

    /// Asks everything of a file, at addresses all over it.
    fn ask(bytes: Vec<u8>) -> usize {
        let source = Source::Memory(bytes);
        let Some(layout) = Layout::read(&source) else {
            return 0;
        };
        let extent = layout.extent();
        let mut file = ElfFile::read("library", source, layout);
        let mut context = UnwindContext::new();
        let step = ((extent.end - extent.start) / 300).max(1);
        let mut rows = 0;
        for n in 0..300 {
            let address = extent.start.wrapping_add(n * step);
            file.frames.prepare(address, &mut context);
            rows += usize::from(file.frames.row(address).is_some());
            assert!(file.name(address).len() <= 210);
            file.variable(address);
            if let Some(Call::Direct(target)) = file.call_before(address) {
                file.jumps_into(target, &(address..address.saturating_add(100)));
            }
        }
        for (slot, _) in file.imports.targets(0, |_, _| true) {
            file.import(slot);
        }
        rows
    }

    #[test]
    fn a_damaged_file_costs_names_and_nothing_else() {
        let Some(library) = library() else { return };
        assert!(ask(library.clone()) > 100);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |end: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % end as u64) as usize
        };
        for round in 0..150 {
            let mut damaged = library.clone();
            if round % 5 == 0 {
                damaged.truncate(below(library.len()));
            }
            // In the headers, which are at the begin and the end, and anywhere.
            let end = [1024, damaged.len(), damaged.len()][round % 3]
                .min(damaged.len())
                .max(1);
            for _ in 0..[4, 2000, 20_000][round % 3] {
                let mut at = below(end);
                if round % 6 == 1 {
                    at = damaged.len().saturating_sub(1 + at % 4096);
                }
                if let Some(byte) = damaged.get_mut(at) {
                    *byte = [0xff, 0, 0x80, below(256) as u8][below(4)];
                }
            }
            ask(damaged);
        }
    }
}
