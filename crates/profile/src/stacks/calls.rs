//! Calls and jumps as they stand in code, and those of a file into others.

use std::ops::Range;

use object::{LittleEndian, elf};

use super::layout::{LE, Layout, Section, Source, u32_at, u64_at};
use super::names::Symbols;

/// So many bytes before a return address tell whether a call is there.
pub(super) const LONGEST_CALL: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Of the function at this address.
    Direct(u64),
    /// Of whatever a register or memory says.
    Indirect,
}

/// The call that ends with the code, behind which is `address`.
pub(super) fn call_before(code: &[u8; LONGEST_CALL], address: u64) -> Option<Call> {
    if code[2] == 0xe8 {
        let offset = u32_at(code, 3)? as i32;
        return Some(Call::Direct(address.wrapping_add_signed(offset.into())));
    }
    let is_indirect =
        (2..=LONGEST_CALL).any(|length| indirect_length(&code[LONGEST_CALL - length..]) == Some(length));
    is_indirect.then_some(Call::Indirect)
}

/// How long an indirect call (`ff /2`) at the begin of the code is.
fn indirect_length(code: &[u8]) -> Option<usize> {
    let [0xff, modes, ..] = *code else { return None };
    let (mode, operation, register) = (modes >> 6, (modes >> 3) & 7, modes & 7);
    if operation != 2 {
        return None;
    }
    let index = usize::from(mode != 3 && register == 4);
    let offset = match mode {
        0 if register == 5 || (register == 4 && code.get(2)? & 7 == 5) => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(2 + index + offset)
}

/// True if code from `address` on seems to have a jump, with or without a condition, to one of these addresses.
pub(super) fn jumps_into(code: &[u8], address: u64, targets: &Range<u64>) -> bool {
    (0..code.len()).any(|at| {
        let length = match code[at..] {
            [0xe9, ..] => 1,
            [0x0f, 0x80..=0x8f, ..] => 2,
            _ => return false,
        };
        let Some(offset) = u32_at(code, at + length) else {
            return false;
        };
        let behind = address.wrapping_add((at + length + 4) as u64);
        targets.contains(&behind.wrapping_add_signed((offset as i32).into()))
    })
}

/// More entries than the largest programs have.
const MAXIMUM_ENTRIES: u64 = 8_000_000;
/// Longest piece of memory with slots that is read at once.
const MAXIMUM_RUN: u64 = 1 << 20;

/// What a slot stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Import {
    /// The exported or imported symbol of this number.
    Symbol(u32),
    /// What the function at this address chooses.
    Resolver(u64),
}

/// The slots of a file, by their addresses before it is loaded.
///
/// The slots are filled by the loader with the addresses of what it chose, and the stubs jump there.
#[derive(Debug, Default)]
pub(super) struct Imports {
    slots: Vec<(u64, Import)>,
}

impl Imports {
    /// Of a file; empty if it has none.
    pub(super) fn read(source: &Source, layout: &Layout) -> Self {
        let mut imports = Self::default();
        let tables = layout.sections.iter();
        for table in tables.filter(|table| table.kind == elf::SHT_RELA.0 && table.address != 0) {
            let entries = source.table::<elf::Rela64<LittleEndian>>(table, MAXIMUM_ENTRIES);
            imports.slots.extend(entries.filter_map(|entry| {
                let import = match entry.r_type(LE, false) {
                    elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT => {
                        Import::Symbol(entry.r_sym(LE, false))
                    }
                    elf::R_X86_64_IRELATIVE => Import::Resolver(entry.r_addend.get(LE).cast_unsigned()),
                    _ => return None,
                };
                Some((entry.r_offset.get(LE), import))
            }));
        }
        imports.slots.sort_unstable_by_key(|(address, _)| *address);
        imports.slots.dedup_by_key(|(address, _)| *address);
        imports.slots.shrink_to_fit();
        imports
    }

    /// Every slot with the address that the loader put there, of a file that is loaded with this bias. `memory` reads the
    /// process's memory.
    pub(super) fn targets(
        &self,
        bias: u64,
        mut memory: impl FnMut(u64, &mut [u8]) -> bool,
    ) -> Vec<(u64, u64)> {
        let mut targets = Vec::new();
        let mut rest = &self.slots[..];
        while let Some((first, _)) = rest.first() {
            let near = |(at, _): &&(u64, Import)| at.wrapping_sub(*first) < MAXIMUM_RUN;
            // Slots stand close together; a gap of more than a page ends a piece.
            let mut last = *first;
            let run = rest.iter().take_while(near).take_while(|(at, _)| {
                let is_close = at - last <= 4096;
                last = *at;
                is_close
            });
            let (run, after) = rest.split_at(run.count().max(1));
            rest = after;
            let length = run.last().map_or(0, |(at, _)| at - first) + 8;
            let mut bytes = vec![0; length as usize];
            if memory(first.wrapping_add(bias), &mut bytes) {
                let values = run
                    .iter()
                    .filter_map(|(at, _)| Some((*at, u64_at(&bytes, (at - first) as usize)?)));
                targets.extend(values);
            }
        }
        targets
    }

    /// The name of what a slot stands for, as the file has it.
    pub(super) fn name(&self, source: &Source, symbols: &Symbols, slot: u64) -> Option<String> {
        let at = self.slots.binary_search_by_key(&slot, |(at, _)| *at).ok()?;
        match self.slots[at].1 {
            Import::Symbol(number) => symbols.exported_name(source, number),
            Import::Resolver(address) => {
                let symbol = symbols.function(address, address, true)?;
                symbols.name(source, symbol, false)
            }
        }
    }

    /// Where the stub at an address begins and the name of what it jumps to; nothing if there is no stub.
    pub(super) fn stub(
        &self,
        source: &Source,
        layout: &Layout,
        symbols: &Symbols,
        address: u64,
    ) -> Option<(u64, Option<String>)> {
        let section = layout.code_at(address)?;
        if !is_stubs(section) {
            return None;
        }
        let size = match section.entry_size {
            size @ (8 | 16) => size,
            _ => 16,
        };
        let start = address - (address - section.address) % size;
        let code = source.read(layout.offset_of(start)?, size)?;
        let name = jump_through(&code, start).and_then(|slot| self.name(source, symbols, slot));
        Some((start, name))
    }
}

pub(super) fn is_stubs(section: &Section) -> bool {
    section.name.starts_with(".plt") || &*section.name == ".iplt"
}

/// The address of the slot that the first `jmp *OFFSET(%rip)` of the code goes through.
fn jump_through(code: &[u8], address: u64) -> Option<u64> {
    let at = code.windows(2).position(|bytes| bytes == [0xff, 0x25])?;
    let offset = u32_at(code, at + 2)? as i32;
    Some(
        address
            .wrapping_add(at as u64 + 6)
            .wrapping_add_signed(offset.into()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_form_are_found_and_other_code_is_not() {
        for (code, expected) in [
            (
                &[0xe8, 0xfb, 0xff, 0xff, 0xff][..],
                Some(Call::Direct(0x1000 - 5)),
            ),
            (&[0xff, 0xd0], Some(Call::Indirect)),
            (&[0x41, 0xff, 0xd4], Some(Call::Indirect)),
            (&[0xff, 0x50, 0x18], Some(Call::Indirect)),
            (&[0xff, 0x90, 0x18, 1, 0, 0], Some(Call::Indirect)),
            (&[0xff, 0x15, 0x18, 1, 0, 0], Some(Call::Indirect)),
            (&[0xff, 0x14, 0xc7], Some(Call::Indirect)),
            (&[0xff, 0x54, 0x24, 0x08], Some(Call::Indirect)),
            (&[0xff, 0x94, 0x24, 8, 1, 0, 0], Some(Call::Indirect)),
            (&[0xff, 0x14, 0xc5, 0, 0x10, 0x40, 0], Some(Call::Indirect)),
            (&[0xff, 0x25, 0x18, 1, 0, 0], None),
            (&[0x48, 0x89, 0xe5], None),
            (&[0xff, 0x50], None),
        ] {
            let mut bytes = [0x90; LONGEST_CALL];
            bytes[LONGEST_CALL - code.len()..].copy_from_slice(code);
            assert_eq!(call_before(&bytes, 0x1000), expected, "{code:x?}");
        }
    }

    #[test]
    fn jumps_out_of_a_function_are_found() {
        let code = [0x90, 0x0f, 0x85, 0xf9, 0x0f, 0, 0, 0xe9, 0xf4, 0xff, 0xff, 0xff];
        assert!(jumps_into(&code, 0x1000, &(0x2000..0x2001)));
        assert!(jumps_into(&code, 0x1000, &(0x1000..0x1001)));
        assert!(!jumps_into(&code, 0x1000, &(0x2001..0x3000)));
        assert!(!jumps_into(&code[..10], 0x1000, &(0x1000..0x1001)));
    }

    #[test]
    fn slots_are_read_in_few_pieces_and_those_that_cannot_be_read_are_left_out() {
        let slot = |at| (at, Import::Symbol(0));
        let imports = Imports {
            slots: vec![
                slot(0x1000),
                slot(0x1008),
                slot(0x1020),
                slot(0x9000),
                slot(u64::MAX - 3),
            ],
        };
        let mut pieces = Vec::new();
        let targets = imports.targets(0x10_0000, |address, bytes| {
            pieces.push((address, bytes.len()));
            bytes.fill(7);
            address < 0x20_0000
        });
        assert_eq!(pieces[..2], [(0x10_1000, 0x28), (0x10_9000, 8)]);
        let value = 0x0707_0707_0707_0707;
        assert_eq!(
            targets[..4],
            [(0x1000, value), (0x1008, value), (0x1020, value), (0x9000, value)]
        );
    }

    #[test]
    fn stubs_with_and_without_a_landing_place_jump_through_their_slot() {
        let plain = [0xff, 0x25, 0x02, 0x01, 0, 0, 0x68, 0, 0, 0, 0];
        assert_eq!(jump_through(&plain, 0x1000), Some(0x1108));
        let marked = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf0, 0xff, 0xff, 0xff];
        assert_eq!(jump_through(&marked, 0x1000), Some(0xffb));
        assert_eq!(jump_through(&[0xff, 0x25, 1], 0), None);
        assert_eq!(jump_through(&[0xe9, 0, 0, 0, 0], 0), None);
    }
}
