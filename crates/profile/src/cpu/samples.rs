//! Samples of a slice: kept until it is over, then counted as stacks by name.

use std::collections::{BTreeMap, HashMap};

use ciphertax_records::why::{Complete, ProfiledSide, SideProfile, SymbolId, SymbolTable};

use super::collector::Collected;
use super::event::Sample;
use super::watch::Watch;
use crate::stacks::{Registers, Stacks};

/// Bytes of all samples of a slice. It is about 10,000 of a database server, whose stacks are some 14 KiB deep: the
/// shares of so many are off by half a percentage point.
const MOST_BYTES: usize = 128 << 20;

/// One sample, as it came.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) side: ProfiledSide,
    pub(super) pid: u32,
    /// Addresses of the kernel's functions, innermost first.
    pub(super) kernel: Box<[u64]>,
    pub(super) user: User,
}

/// What a sample has of the program.
#[derive(Debug)]
pub(super) enum User {
    /// Nothing, since there is nothing: the thread was about to end.
    None,
    /// Nothing, although there is something: a program of 32 bits.
    Unreadable,
    /// Registers, and the stack from the stack pointer upwards.
    Stack(Registers, Box<[u8]>),
}

impl Taken {
    fn bytes(&self) -> usize {
        let stack = match &self.user {
            User::Stack(_, stack) => stack.len(),
            User::None | User::Unreadable => 0,
        };
        size_of::<Self>() + size_of_val(&*self.kernel) + stack
    }
}

/// The samples of a slice: all of them, or where that would be too much every second, fourth, …, so that those that stay are
/// spread over the slice as all were.
#[derive(Debug)]
pub(super) struct Samples {
    taken: Vec<Taken>,
    bytes: usize,
    most_bytes: usize,
    seen: u64,
    one_in: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::up_to(MOST_BYTES)
    }
}

impl Samples {
    fn up_to(most_bytes: usize) -> Self {
        Self {
            taken: Vec::new(),
            bytes: 0,
            most_bytes,
            seen: 0,
            one_in: 1,
        }
    }

    /// Takes a sample of one side, or passes it over.
    pub(super) fn take(&mut self, side: ProfiledSide, sample: &Sample<'_>) {
        let is_passed_over = !self.seen.is_multiple_of(self.one_in);
        self.seen += 1;
        if is_passed_over {
            return;
        }
        let user = match &sample.registers {
            Some(registers) => User::Stack(*registers, sample.stack.into()),
            None if sample.has_user_part => User::Unreadable,
            None => User::None,
        };
        let taken = Taken {
            side,
            pid: sample.pid,
            kernel: sample.kernel().collect(),
            user,
        };
        self.bytes += taken.bytes();
        self.taken.push(taken);
        while self.bytes > self.most_bytes && self.taken.len() > 1 {
            self.halve();
        }
    }

    /// Every how manieth was kept.
    pub(super) fn one_in(&self) -> u64 {
        self.one_in
    }

    pub(super) fn into_taken(self) -> Vec<Taken> {
        self.taken
    }

    fn halve(&mut self) {
        let mut is_kept = false;
        self.taken.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.bytes = self.taken.iter().map(Taken::bytes).sum();
        self.one_in *= 2;
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::event::tests::{RecordedSample, sample_record};
    use crate::cpu::event::{Record, parse};

    #[test]
    fn what_would_be_too_much_is_thinned_evenly() {
        let mut samples = Samples::up_to(100_000);
        for number in 0..1000 {
            let record = sample_record(&RecordedSample {
                pid: number,
                stack: vec![0; 4000],
                ..RecordedSample::default()
            });
            let Some(Record::Sample(sample)) = parse(&record) else {
                panic!()
            };
            samples.take(ProfiledSide::Server, &sample);
        }
        assert_eq!(samples.one_in(), 64);
        let kept: Vec<u32> = samples.into_taken().iter().map(|taken| taken.pid).collect();
        let expected: Vec<u32> = (0..1000).step_by(64).collect();
        assert_eq!(kept, expected);
    }
}
