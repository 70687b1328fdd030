//! The names that a file has for its functions and variables. Kept are places, not names: a program with debug symbols has two
//! hundred thousand, of which a run sees a few hundred.

use object::elf;

use super::layout::{Layout, Section};
use super::maps::{Source, u16_at, u32_at, u64_at};

const ENTRY: usize = 24;
/// Entries that are read at once.
const PIECE: u64 = 4096;
/// More than the largest programs have; what comes after has no names.
const MAXIMUM_SYMBOLS: u64 = 4_000_000;
/// Mangled names can be long; longer ones are not shown.
const MAXIMUM_NAME: usize = 32 << 10;
/// Names of one address that are compared.
const MAXIMUM_ALIASES: usize = 32;
/// Marks a name of the table of exported symbols, and a size of a symbol without a type.
const MARK: u32 = 1 << 31;

/// A named place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    pub(super) address: u64,
    size: u32,
    name: u32,
}

impl Symbol {
    fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < u64::from(self.size & !MARK)
    }

    fn has_size(&self) -> bool {
        self.size & !MARK != 0
    }
}

/// All of them, by address.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    /// Where in the file the names are, and how long they are together: of all symbols, and of the exported ones.
    names: [(u64, u64); 2],
    /// Names of the exported symbols by number, for those who refer to them so.
    exported: Vec<u32>,
}

impl Symbols {
    /// Of a file; empty if it has none.
    pub(super) fn read(source: &Source, layout: &Layout) -> Self {
        let mut symbols = Self::default();
        for (at, kind) in [elf::SHT_SYMTAB, elf::SHT_DYNSYM].into_iter().enumerate() {
            let section = layout.sections.iter().find(|section| section.kind == kind.0);
            let names = section.and_then(|section| layout.sections.get(section.link as usize));
            if let (Some(section), Some(names)) = (section, names) {
                symbols.names[at] = (names.offset, names.size);
                // A table that breaks off has the symbols before.
                let _ = symbols.read_table(source, layout, section, at == 1);
            }
        }
        for all in [&mut symbols.functions, &mut symbols.variables] {
            all.sort_unstable();
            all.dedup();
            all.shrink_to_fit();
        }
        symbols
    }

    fn read_table(
        &mut self,
        source: &Source,
        layout: &Layout,
        table: &Section,
        exported: bool,
    ) -> Option<()> {
        let count = (table.size / ENTRY as u64).min(MAXIMUM_SYMBOLS);
        let mut done = 0;
        while done < count {
            let piece = PIECE.min(count - done);
            let bytes = source.read(
                table.offset.checked_add(done * ENTRY as u64)?,
                piece * ENTRY as u64,
            )?;
            for entry in bytes.chunks_exact(ENTRY) {
                self.add(entry, layout, exported)?;
            }
            done += piece;
        }
        Some(())
    }

    fn add(&mut self, entry: &[u8], layout: &Layout, exported: bool) -> Option<()> {
        let (name, kind) = (u32_at(entry, 0)?, *entry.get(4)? & 15);
        if exported {
            self.exported.push(name);
        }
        if name == 0 || name >= MARK {
            return Some(());
        }
        let section = layout.sections.get(usize::from(u16_at(entry, 6)?));
        let is_defined = u16_at(entry, 6)? != 0;
        let size = u64_at(entry, 16)?.min(u64::from(MARK - 1)) as u32;
        let is_function = [elf::STT_FUNC.0, elf::STT_GNU_IFUNC.0].contains(&kind);
        let is_untyped_code = kind == elf::STT_NOTYPE.0 && section.is_some_and(Section::is_code);
        let is_variable = [elf::STT_OBJECT.0, elf::STT_COMMON.0].contains(&kind);
        let symbol = Symbol {
            address: u64_at(entry, 8)?,
            size: if is_untyped_code { size | MARK } else { size },
            name: if exported { name | MARK } else { name },
        };
        if is_defined && (is_function || is_untyped_code) {
            self.functions.push(symbol);
        } else if is_defined && is_variable {
            self.variables.push(symbol);
        }
        Some(())
    }

    /// The symbol of the function at an address, which begins in its own function where bounds are known: no neighbour's.
    /// `begin` is where the function begins, or, if `is_certain` is false, where it could begin at the earliest.
    pub(super) fn function(&self, address: u64, begin: u64, is_certain: bool) -> Option<&Symbol> {
        let before = &self.functions[..self.functions.partition_point(|symbol| symbol.address <= address)];
        let near = before.iter().rev().take(MAXIMUM_ALIASES);
        if let Some(symbol) = near.clone().find(|symbol| symbol.contains(address)) {
            return Some(symbol);
        }
        let nearest = before.last()?;
        let is_own = match is_certain {
            true => nearest.address == begin,
            false => nearest.address >= begin,
        };
        let mut same = near.take_while(|symbol| symbol.address == nearest.address);
        (is_own && (is_certain || same.all(|symbol| !symbol.has_size()))).then_some(nearest)
    }

    /// The symbol of the variable that an address is in.
    pub(super) fn variable(&self, address: u64) -> Option<&Symbol> {
        let before = &self.variables[..self.variables.partition_point(|symbol| symbol.address <= address)];
        let mut near = before.iter().rev().take(MAXIMUM_ALIASES);
        near.find(|symbol| symbol.contains(address))
    }

    /// Where the last function before an address ends by its symbol.
    pub(super) fn end_before(&self, address: u64) -> Option<u64> {
        let at = self.functions.partition_point(|symbol| symbol.address <= address);
        let last = self.functions[..at].last()?;
        last.has_size()
            .then(|| last.address.saturating_add(u64::from(last.size & !MARK)))
    }

    /// True if a function begins there and has a name.
    pub(super) fn has_function(&self, address: u64) -> bool {
        let at = self.functions.partition_point(|symbol| symbol.address < address);
        self.functions
            .get(at)
            .is_some_and(|symbol| symbol.address == address)
    }

    /// The name of a function's or variable's symbol as the file has it; of several for one place always the same, with the
    /// fewest underscores in front and the shortest, as `read` of `__libc_read`.
    pub(super) fn name(&self, source: &Source, symbol: &Symbol, of_variable: bool) -> Option<String> {
        let all = if of_variable {
            &self.variables
        } else {
            &self.functions
        };
        let first = all.partition_point(|other| other.address < symbol.address);
        let same = all[first..]
            .iter()
            .take_while(|other| other.address == symbol.address);
        let names = same
            .take(MAXIMUM_ALIASES)
            .filter_map(|symbol| Some((symbol.size & MARK, self.text(source, symbol.name)?)));
        let best = names.min_by_key(|(untyped, name)| (*untyped, rank(name), name.clone()));
        best.map(|(_, name)| name)
    }

    /// The name of an exported or imported symbol by its number.
    pub(super) fn exported_name(&self, source: &Source, number: u32) -> Option<String> {
        let name = *self.exported.get(number as usize)?;
        if name == 0 {
            return None;
        }
        self.text(source, name | MARK)
    }

    fn text(&self, source: &Source, name: u32) -> Option<String> {
        let (offset, size) = self.names[usize::from(name & MARK != 0)];
        let at = u64::from(name & !MARK);
        if at >= size {
            return None;
        }
        source.string(offset.checked_add(at)?, MAXIMUM_NAME)
    }
}

/// How far a name is from what a programmer would call the function.
fn rank(name: &str) -> (usize, usize) {
    // Of mangled names the first underscores belong to the mangling.
    let underscores = match name.starts_with("_Z") || name.starts_with("_R") {
        true => 0,
        false => name.len() - name.trim_start_matches('_').len(),
    };
    (underscores, name.len())
}
