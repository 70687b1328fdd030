//! Samples that were taken, as stacks by name and how often each was seen.

use std::collections::{BTreeMap, HashMap};

use ciphertax_records::why::{Complete, ProfiledSide, SideProfile, SymbolId, SymbolTable};

use super::collector::Collected;
use super::taken::{Taken, User};
use super::watch::Watch;
use crate::stacks::Stacks;

/// The profiles of the sides that were watched.
pub(super) fn fold(
    collected: Collected,
    hz: u32,
    comprises: Complete,
    stacks: &mut Stacks,
    symbols: &mut SymbolTable,
) -> BTreeMap<ProfiledSide, SideProfile> {
    let Collected { watch, samples, lost } = collected;
    let kept_hz = u64::from(hz) / samples.one_in();
    let empty = SideProfile {
        // No more than it was.
        hz: kept_hz.max(1) as u32,
        lost,
        comprises,
        ..SideProfile::default()
    };
    let mut sides: BTreeMap<_, _> = watch.sides().map(|side| (side, empty.clone())).collect();
    let mut naming = Naming {
        stacks,
        symbols,
        watch: &watch,
        memories: HashMap::new(),
        kernel: HashMap::new(),
        user: HashMap::new(),
        stack: Vec::new(),
    };
    for taken in samples.into_taken() {
        let Some(side) = sides.get_mut(&taken.side) else {
            continue;
        };
        let is_complete = naming.name(&taken);
        side.samples += 1;
        side.complete += u64::from(is_complete);
        let stack = naming.symbols.stack(&naming.stack);
        *side.stacks.entry(stack).or_default() += 1;
    }
    sides
}

/// Names the functions of samples of one slice, each address once.
struct Naming<'a> {
    stacks: &'a mut Stacks,
    symbols: &'a mut SymbolTable,
    watch: &'a Watch,
    /// Whose files a process has mapped: its own, or those of whom it has its memory from.
    memories: HashMap<u32, u32>,
    kernel: HashMap<u64, SymbolId>,
    /// By process, address, and whether it is one to return to.
    user: HashMap<(u32, u64, bool), SymbolId>,
    /// The functions of the sample that was named last, innermost first.
    stack: Vec<SymbolId>,
}

impl Naming<'_> {
    /// Names a sample's functions; false if they are not all that there were.
    fn name(&mut self, taken: &Taken) -> bool {
        self.stack.clear();
        for (depth, address) in taken.kernel.iter().enumerate() {
            // A function returns to behind its call, which may be the next function already.
            let address = address.saturating_sub(u64::from(depth > 0));
            let symbol = *self
                .kernel
                .entry(address)
                .or_insert_with(|| self.stacks.kernel_symbol(address, self.symbols));
            self.stack.push(symbol);
        }
        let (registers, stack) = match &taken.user {
            User::Stack(registers, stack) => (registers, stack),
            User::None => return true,
            User::Unreadable => return false,
        };
        let pid = self.memory(taken.pid);
        let user = self.stacks.unwind(pid, registers, stack);
        for (depth, address) in user.addresses.iter().enumerate() {
            let is_return_address = depth > 0;
            let symbol = *self
                .user
                .entry((pid, *address, is_return_address))
                .or_insert_with(|| self.stacks.symbol(pid, *address, is_return_address, self.symbols));
            self.stack.push(symbol);
        }
        user.is_complete
    }

    /// The process by whose number the memory of another is known.
    fn memory(&mut self, pid: u32) -> u32 {
        if let Some(memory) = self.memories.get(&pid) {
            return *memory;
        }
        // It may have loaded a library meanwhile. Its number is another's if it has ended.
        let is_known = !self.watch.has_ended(pid) && self.stacks.refresh(pid).is_ok();
        let memory = match self.watch.parent(pid) {
            // Who has its memory from whom is a tree: each began after its parent.
            Some(parent) if !is_known => {
                self.memories.insert(pid, parent);
                self.memory(parent)
            }
            _ => pid,
        };
        self.memories.insert(pid, memory);
        memory
    }
}
