//! Names of functions and variables: those that a file has, the kernel's, and how programmers write them.

use std::{fmt, fs};

use cpp_demangle::{DemangleOptions, ParseOptions};
use object::{LittleEndian, elf};

use super::layout::{LE, Layout, Section, Source};

/// More than the largest programs have; what comes after has no names.
const MAXIMUM_SYMBOLS: u64 = 4_000_000;
/// Mangled names can be long; longer ones are not shown.
const MAXIMUM_NAME: usize = 32 << 10;
/// Names of one address that are compared.
const MAXIMUM_ALIASES: usize = 32;
/// Marks a name of the table of exported symbols.
const EXPORTED: u32 = 1 << 31;
/// Marks a size of a symbol without a type.
const UNTYPED: u32 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    pub(super) address: u64,
    size: u32,
    name: u32,
}

impl Symbol {
    fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < u64::from(self.size & !UNTYPED)
    }

    fn has_size(&self) -> bool {
        self.size & !UNTYPED != 0
    }
}

/// All of them, by address.
///
/// Kept are places, not names: a program with debug symbols has two hundred thousand, of which a run sees a few hundred.
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
                for entry in source.table(section, MAXIMUM_SYMBOLS) {
                    symbols.add(&entry, layout, at == 1);
                }
            }
        }
        for all in [&mut symbols.functions, &mut symbols.variables] {
            all.sort_unstable();
            all.dedup();
            all.shrink_to_fit();
        }
        symbols
    }

    fn add(&mut self, entry: &elf::Sym64<LittleEndian>, layout: &Layout, exported: bool) {
        let name = entry.st_name.get(LE);
        if exported {
            self.exported.push(name);
        }
        let section = entry.st_shndx.get(LE);
        if name == 0 || name >= EXPORTED || section == elf::SHN_UNDEF {
            return;
        }
        let in_code = layout
            .sections
            .get(usize::from(section.0))
            .is_some_and(Section::is_code);
        let size = entry.st_size.get(LE).min(u64::from(UNTYPED - 1)) as u32;
        let is_untyped_code = entry.st_type() == elf::STT_NOTYPE && in_code;
        let symbol = Symbol {
            address: entry.st_value.get(LE),
            size: if is_untyped_code { size | UNTYPED } else { size },
            name: if exported { name | EXPORTED } else { name },
        };
        match entry.st_type() {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => self.functions.push(symbol),
            elf::STT_NOTYPE if is_untyped_code => self.functions.push(symbol),
            elf::STT_OBJECT | elf::STT_COMMON => self.variables.push(symbol),
            _ => {}
        }
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
            .then(|| last.address.saturating_add(u64::from(last.size & !UNTYPED)))
    }

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
            .filter_map(|symbol| Some((symbol.size & UNTYPED, self.text(source, symbol.name)?)));
        let best = names.min_by_key(|(untyped, name)| (*untyped, rank(name), name.clone()));
        best.map(|(_, name)| name)
    }

    pub(super) fn exported_name(&self, source: &Source, number: u32) -> Option<String> {
        let name = *self.exported.get(number as usize)?;
        if name == 0 {
            return None;
        }
        self.text(source, name | EXPORTED)
    }

    fn text(&self, source: &Source, name: u32) -> Option<String> {
        let (offset, size) = self.names[usize::from(name & EXPORTED != 0)];
        let at = u64::from(name & !EXPORTED);
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

const KERNEL_SYMBOLS: &str = "/proc/kallsyms";
/// What stands for all of them where their names are hidden.
pub(super) const KERNEL: &str = "[kernel]";

/// Where the kernel's functions begin, with their names; empty where `/proc/kallsyms` hides that.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Address, and where in `names` the name begins; by address.
    functions: Vec<(u64, u32)>,
    /// Names, each with a line end behind it.
    names: String,
}

impl Kernel {
    /// The running kernel's.
    pub(super) fn read() -> Self {
        let list = fs::read(KERNEL_SYMBOLS).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&list))
    }

    fn parse(list: &str) -> Self {
        let mut kernel = Self::default();
        for line in list.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            let is_code = matches!(kind, "t" | "T" | "w" | "W");
            if address != 0
                && is_code
                && let Ok(at) = u32::try_from(kernel.names.len())
            {
                kernel.functions.push((address, at));
                kernel.names.push_str(name);
                kernel.names.push('\n');
            }
        }
        let names = &kernel.names;
        kernel
            .functions
            .sort_unstable_by_key(|(address, at)| (*address, underscores(name_at(names, *at)), *at));
        kernel.functions.dedup_by_key(|(address, _)| *address);
        kernel.functions.shrink_to_fit();
        kernel
    }

    /// The name of the function that an address is in.
    pub(super) fn name(&self, address: u64) -> &str {
        let at = self.functions.partition_point(|(start, _)| *start <= address);
        match self.functions[..at].last() {
            Some((_, name)) => name_at(&self.names, *name),
            None => KERNEL,
        }
    }
}

fn name_at(names: &str, at: u32) -> &str {
    names[at as usize..].lines().next().unwrap_or(KERNEL)
}

fn underscores(name: &str) -> usize {
    name.len() - name.trim_start_matches('_').len()
}

/// Longer names are cut.
const LONGEST_NAME: usize = 200;
/// Longer mangled names are left as they are, up to [`LONGEST_NAME`].
const MAXIMUM_MANGLED: usize = 4096;
/// What is demangled before it is cut.
const MAXIMUM_DEMANGLED: usize = 16 << 10;
/// How deep a name may be nested.
const MAXIMUM_NESTING: u32 = 96;

/// The name without versions, types of arguments and what compilers add to parts and copies of a function, in at most 200 bytes.
pub(super) fn readable(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    let whole = without_suffixes(name);
    let demangled = match whole.len() <= MAXIMUM_MANGLED {
        true => rust(whole).or_else(|| cpp(whole)),
        false => None,
    };
    shortened(demangled.as_deref().unwrap_or(whole))
}

/// Such as `.cold`, `.isra.0`, `.part.3.lto_priv.0`.
fn without_suffixes(name: &str) -> &str {
    const SUFFIXES: [&str; 8] = [
        ".cold",
        ".isra.",
        ".part.",
        ".constprop.",
        ".lto_priv.",
        ".localalias",
        ".llvm.",
        ".clone.",
    ];
    let ends = SUFFIXES.iter().filter_map(|suffix| name.find(suffix));
    match ends.min() {
        Some(end) if end > 0 => &name[..end],
        _ => name,
    }
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    // What is too long is cut there.
    let _ = fmt::write(&mut out, format_args!("{demangled:#}"));
    Some(out.text).filter(|text| !text.is_empty())
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(MAXIMUM_NESTING);
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .recursion_limit(MAXIMUM_NESTING);
    let symbol = cpp_demangle::Symbol::new_with_options(name.as_bytes(), &parse).ok()?;
    let mut out = Bounded::default();
    let is_whole = symbol.structured_demangle(&mut out, &options).is_ok();
    (is_whole || out.is_full)
        .then_some(out.text)
        .filter(|text| !text.is_empty())
}

/// Text that grows up to a limit: a short mangled name can stand for an endless one.
#[derive(Default)]
struct Bounded {
    text: String,
    is_full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > MAXIMUM_DEMANGLED {
            self.is_full = true;
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

/// At most [`LONGEST_NAME`] bytes: first without what templates are made of, then cut.
fn shortened(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let name = without_template_arguments(name);
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let end = (0..=LONGEST_NAME - '…'.len_utf8())
        .rev()
        .find(|end| name.is_char_boundary(*end));
    format!("{}…", &name[..end.unwrap_or(0)])
}

fn without_template_arguments(name: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut before = ' ';
    for character in name.chars() {
        // Of `operator<`, `operator<<` and `operator->` the brackets are part of the name.
        let is_operator = depth == 0 && matches!(character, '<' | '>') && is_operator(&out);
        match character {
            '<' if !is_operator => {
                depth += 1;
                if depth == 1 {
                    out.push_str("<…");
                }
            }
            '>' if depth > 0 && before != '-' => {
                depth -= 1;
                if depth == 0 {
                    out.push('>');
                }
            }
            _ if depth == 0 => out.push(character),
            _ => {}
        }
        before = character;
    }
    out
}

fn is_operator(before: &str) -> bool {
    let name = before.trim_end_matches(['<', '>', '-', '=']);
    name.ends_with("operator")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let kernel = Kernel::parse(
            "ffffffff81000200 t tcp_sendmsg\n\
             ffffffff81000100 T __futex_wait\n\
             ffffffff81000100 T futex_wait\n\
             ffffffff81000180 d some_data\n\
             ffffffffc0000000 t nft_do_chain\t[nf_tables]\n\
             nonsense\n",
        );
        assert_eq!(kernel.name(0xffff_ffff_8100_0100), "futex_wait");
        assert_eq!(kernel.name(0xffff_ffff_8100_01ff), "futex_wait");
        assert_eq!(kernel.name(0xffff_ffff_8100_0200), "tcp_sendmsg");
        assert_eq!(kernel.name(0xffff_ffff_c000_0010), "nft_do_chain");
        assert_eq!(kernel.name(0xffff_ffff_8000_0000), KERNEL);
    }

    #[test]
    fn hidden_names_leave_one_for_all() {
        let kernel = Kernel::parse("0000000000000000 T futex_wait\n0000000000000000 T tcp_sendmsg\n");
        assert_eq!(kernel.name(0xffff_ffff_8100_0100), KERNEL);
        assert_eq!(Kernel::parse("").name(1), KERNEL);
    }

    #[test]
    fn names_have_neither_types_of_arguments_nor_hashes_nor_versions() {
        for (name, expected) in [
            ("memcpy@@GLIBC_2.14", "memcpy"),
            (
                "_Z16dispatch_command19enum_server_commandP3THDPcjb",
                "dispatch_command",
            ),
            (
                "_ZN13MYSQL_BIN_LOG34write_transaction_to_binlog_eventsEPNS_12group_commitE",
                "MYSQL_BIN_LOG::write_transaction_to_binlog_events",
            ),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z3foov.isra.0.cold", "foo"),
            ("mtr_commit.part.0", "mtr_commit"),
            (".cold", ".cold"),
            ("_Znot_mangled", "_Znot_mangled"),
            ("", ""),
        ] {
            assert_eq!(readable(name), expected, "{name}");
        }
    }

    #[test]
    fn long_names_lose_what_their_templates_are_made_of() {
        let argument = "std::allocator<char>, ".repeat(20);
        let name = format!("mongo::map<{argument}int>::operator->");
        assert_eq!(shortened(&name), "mongo::map<…>::operator->");
        let name = format!("operator<< <{argument}>::end");
        assert_eq!(shortened(&name), "operator<< <…>::end");
        let endless = "é".repeat(1000);
        assert!(shortened(&endless).len() <= LONGEST_NAME);
    }

    #[test]
    fn a_name_that_stands_for_an_endless_one_is_cut() {
        // Each S_ stands for all before it.
        let mut name = "_Z1fI".to_owned();
        name.push_str("St4pairIiiE");
        for n in 0..30 {
            let last = char::from_digit(n % 36, 36).map(|digit| digit.to_ascii_uppercase());
            name.push_str(&format!("St4pairIS{0}_S{0}_E", last.unwrap()));
        }
        name.push_str("Evv");
        assert!(readable(&name).len() <= LONGEST_NAME);
    }
}
