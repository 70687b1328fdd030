//! Frames: the way from a function to its caller, as compilers say it in `.eh_frame`, and where functions begin and end.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameHdr, EhFrameOffset, EndianSlice, FrameDescriptionEntry,
    LittleEndian, RegisterRule, UnwindContext, UnwindSection,
};
use object::elf;

use super::layout::{Layout, Source};

/// The number of the instruction pointer.
pub(super) const IP: usize = 16;
/// So many rows are kept; a program runs through far fewer places.
const MAXIMUM_ROWS: usize = 200_000;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// How one place of a function finds its caller and what the caller had in its registers.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Where the frame begins.
    pub(super) cfa: CfaRule<usize>,
    /// Registers that are not as they were in the caller.
    pub(super) registers: Box<[(usize, RegisterRule<usize>)]>,
    /// True if the kernel made this frame for a signal: what it returns to was not called.
    pub(super) is_signal: bool,
}

/// What one file says of its functions.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    bases: BaseAddresses,
    /// Where functions begin, and where in `bytes` each is described; in order.
    functions: Vec<(u64, u32)>,
    /// Rows by address, and addresses that have none.
    rows: HashMap<u64, Option<Row>>,
}

impl Frames {
    /// Of a file; empty if it says nothing.
    pub(super) fn read(source: &Source, layout: &Layout) -> Self {
        Self::try_read(source, layout).unwrap_or_default()
    }

    fn try_read(source: &Source, layout: &Layout) -> Option<Self> {
        let mut bases = BaseAddresses::default();
        if let Some(text) = layout.section(".text") {
            bases = bases.set_text(text.address);
        }
        let header = layout
            .segments
            .iter()
            .find(|segment| segment.kind == elf::PT_GNU_EH_FRAME.0);
        let header = header.and_then(|header| {
            bases = bases.clone().set_eh_frame_hdr(header.address);
            source.read(header.offset, header.file_size)
        });
        let parsed = header
            .as_ref()
            .and_then(|bytes| EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok());
        let (address, size) = match (layout.section(".eh_frame"), &parsed) {
            (Some(section), _) => (section.address, section.size),
            (None, Some(parsed)) => {
                let address = parsed.eh_frame_ptr().direct().ok()?;
                (address, layout.loaded_after(address)?)
            }
            (None, None) => return None,
        };
        let bases = bases.set_eh_frame(address);
        let bytes = source.read(layout.offset_of(address)?, size)?;
        let table = parsed.as_ref().and_then(|parsed| parsed.table());
        let functions = match table {
            Some(table) => {
                let mut functions = Vec::new();
                let mut entries = table.iter(&bases);
                while let Ok(Some((start, entry))) = entries.next() {
                    let offset = entry.pointer().wrapping_sub(address);
                    functions.extend(u32::try_from(offset).map(|offset| (start.pointer(), offset)));
                }
                functions
            }
            None => functions_of(&bytes, &bases),
        };
        let mut frames = Self {
            bytes,
            bases,
            functions,
            rows: HashMap::new(),
        };
        frames.functions.sort_unstable();
        frames.functions.shrink_to_fit();
        Some(frames)
    }

    /// The bounds of the function that an address is in.
    pub(super) fn function(&self, address: u64) -> Option<Range<u64>> {
        let entry = self.entry(address)?;
        Some(entry.initial_address()..entry.end_address())
    }

    /// Where the last function before an address ends that is known of.
    pub(super) fn end_before(&self, address: u64) -> Option<u64> {
        let at = self.functions.partition_point(|(start, _)| *start <= address);
        let (_, offset) = self.functions[..at].last()?;
        Some(self.parse(*offset)?.end_address())
    }

    /// Makes sure that [`Self::row`] knows of an address.
    pub(super) fn prepare(&mut self, address: u64, context: &mut UnwindContext<usize>) {
        if self.rows.contains_key(&address) {
            return;
        }
        if self.rows.len() >= MAXIMUM_ROWS {
            self.rows.clear();
        }
        let row = self.compute(address, context);
        self.rows.insert(address, row);
    }

    pub(super) fn row(&self, address: u64) -> Option<&Row> {
        self.rows.get(&address)?.as_ref()
    }

    /// The section that expressions are part of.
    pub(super) fn section(&self) -> EhFrame<Bytes<'_>> {
        EhFrame::new(&self.bytes, LittleEndian)
    }

    fn compute(&self, address: u64, context: &mut UnwindContext<usize>) -> Option<Row> {
        let entry = self.entry(address)?;
        if usize::from(entry.cie().return_address_register().0) != IP {
            return None;
        }
        let section = self.section();
        let row = entry
            .unwind_info_for_address(&section, &self.bases, context, address)
            .ok()?;
        let registers = row
            .registers()
            .map(|(register, rule)| (register.0.into(), rule.clone()));
        Some(Row {
            cfa: row.cfa().clone(),
            registers: registers.collect(),
            is_signal: entry.is_signal_trampoline(),
        })
    }

    fn entry(&self, address: u64) -> Option<FrameDescriptionEntry<Bytes<'_>>> {
        let at = self.functions.partition_point(|(start, _)| *start <= address);
        let (_, offset) = self.functions[..at].last()?;
        self.parse(*offset).filter(|entry| entry.contains(address))
    }

    fn parse(&self, offset: u32) -> Option<FrameDescriptionEntry<Bytes<'_>>> {
        let offset = EhFrameOffset(offset as usize);
        self.section()
            .fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
            .ok()
    }
}

/// All functions, where a file has no table of them.
fn functions_of(bytes: &[u8], bases: &BaseAddresses) -> Vec<(u64, u32)> {
    let section = EhFrame::new(bytes, LittleEndian);
    let mut entries = section.entries(bases);
    let mut functions = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(entry) = entry
            && let Ok(entry) = entry.parse(EhFrame::cie_from_offset)
            && let Ok(offset) = u32::try_from(entry.offset())
        {
            functions.push((entry.initial_address(), offset));
        }
    }
    functions
}
