//! All that is known of one program or library, whichever processes have it loaded.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use ciphertax_records::why::ModuleRecord;

use super::calls::{self, Call, Imports, is_stubs};
use super::frames::Frames;
use super::layout::{Layout, Source};
use super::names::{Symbol, Symbols, readable};

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
        keep(&mut self.calls, address, call);
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
        keep(&mut self.jumps, key, jumps);
        jumps
    }

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

/// Notes an answer. Where there are too many, those before are forgotten.
fn keep<K: Hash + Eq, V>(answers: &mut HashMap<K, V>, key: K, answer: V) {
    if answers.len() >= MAXIMUM_KEPT {
        answers.clear();
    }
    answers.insert(key, answer);
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
