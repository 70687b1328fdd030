//! What was sampled of a slice: code by CPU time, waits of threads, with their symbols.

use std::collections::{BTreeMap, HashMap};

use ciphertax_base::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::SliceId;

/// Who used CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfiledSide {
    /// The database's processes.
    Server,
    /// The load threads.
    Client,
}

/// Where the CPU time of one slice went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Which slice.
    #[serde(flatten)]
    pub slice: SliceId,
    /// By side; a side that cannot be profiled is absent.
    pub sides: BTreeMap<ProfiledSide, SideProfile>,
}

/// The samples of one side. Each stands for `1 / hz` seconds of CPU time; the share of a stack in all of them is its share of the
/// CPU time that the meters read in the slice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SideProfile {
    /// Samples a second of CPU time.
    pub hz: u32,
    /// Samples that were taken, of all stacks together.
    pub samples: u64,
    /// Samples that the kernel could not keep, since the ring was full. A slice with any tells nothing of its shares.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// How many of `samples` were unwound to the begin of their thread, or were in the kernel alone.
    pub complete: u64,
    /// What they comprise.
    #[serde(default, skip_serializing_if = "Complete::is_whole")]
    pub comprises: Complete,
    /// How many samples had which stack. The kernel's functions come before those of the program that called it.
    pub stacks: BTreeMap<StackId, u64>,
}

/// What the samples of a profile comprise, which is a matter of privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Complete {
    /// All CPU time, with the kernel's functions by name.
    #[default]
    Whole,
    /// All CPU time; the kernel's functions have no names.
    KernelUnnamed,
    /// The time outside of the kernel alone.
    UserOnly,
}

impl Complete {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What was seen of a server's threads in one slice, by looking at all of them again and again without stopping any. A
/// thread's share of the rounds in a state is its share of the slice's time in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Which slice.
    #[serde(flatten)]
    pub slice: SliceId,
    /// How often all threads were looked at.
    pub rounds: u64,
    /// Looks at threads that serve sessions and that ran or could have run, over all rounds.
    pub running: u64,
    /// The same of threads that serve none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub background_running: u64,
    /// Looks at threads that serve sessions and waited for their client's next request.
    pub idle: u64,
    /// Looks in which a thread waited, and went on before its stack was copied: its state is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inconsistent: u64,
    /// Looks at waiting threads whose stack could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// What the others waited for.
    pub blocked: Vec<Blocked>,
    /// What the server itself said that its sessions waited for, where it says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<WaitEvents>,
}

/// What a server itself said that its sessions waited for, asked again and again in one slice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WaitEvents {
    /// How often it was asked.
    pub rounds: u64,
    /// How many sessions at work it named for each event, over all rounds: by the server's names, type before event as in
    /// `LWLock:WALWrite`. Those that waited for nothing are under the empty name.
    pub sessions: BTreeMap<String, u64>,
}

impl Waits {
    /// Of a slice in which nobody looked at threads.
    pub fn unseen(slice: SliceId) -> Self {
        Self {
            slice,
            rounds: 0,
            running: 0,
            background_running: 0,
            idle: 0,
            inconsistent: 0,
            unreadable: 0,
            blocked: Vec::new(),
            events: None,
        }
    }
}

/// Threads that waited with one stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// In which system call, by its name, such as `futex` or `fdatasync`; its number where it has no name here.
    pub call: String,
    /// The variable that a `futex` is part of, where it has a name, such as `LOCK_log` or `COND_manager+40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Where, in the program.
    pub stack: StackId,
    /// How many looks found a thread so.
    pub seen: u64,
    /// How many of these stacks were unwound to the begin of their thread.
    pub complete: u64,
    /// True of threads that serve no sessions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// The number of a module, from 0.
pub type ModuleId = u32;
/// The number of a symbol, from 0.
pub type SymbolId = u32;
/// The number of a stack, from 0.
pub type StackId = u32;

/// A program, a library, or the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleRecord {
    /// The name of its file without folders, such as `libcrypto.so.3`; `[kernel]` for the kernel and all of its modules,
    /// `[vdso]` for what it gives every program, `[unknown]` for code that belongs to no file.
    pub name: String,
    /// Its build ID in hexadecimal digits, which tells builds apart; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SymbolRecord {
    /// Where it is.
    pub module: ModuleId,
    /// Its name, demangled and without the types of its arguments; for a function without a name the module's name and where it
    /// begins there, such as `libcrypto.so.3+0x2424c0`.
    pub name: String,
}

/// The functions of a stack, the one that ran or waited first, its caller second. One that was not unwound to its end has
/// fewer.
pub type StackRecord = Box<[SymbolId]>;

/// Modules, symbols and stacks by number. Numbers are given once and stay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SymbolTable {
    modules: Vec<ModuleRecord>,
    symbols: Vec<SymbolRecord>,
    stacks: Vec<StackRecord>,
    module_ids: HashMap<ModuleRecord, ModuleId>,
    symbol_ids: HashMap<SymbolRecord, SymbolId>,
    stack_ids: HashMap<StackRecord, StackId>,
}

impl SymbolTable {
    /// The number of a module.
    pub fn module(&mut self, module: ModuleRecord) -> ModuleId {
        number_of(module, &mut self.modules, &mut self.module_ids)
    }

    /// The number of a symbol, whose module must have one.
    pub fn symbol(&mut self, symbol: SymbolRecord) -> SymbolId {
        number_of(symbol, &mut self.symbols, &mut self.symbol_ids)
    }

    /// The number of a stack, whose symbols must have theirs.
    pub fn stack(&mut self, stack: &[SymbolId]) -> StackId {
        match self.stack_ids.get(stack) {
            Some(id) => *id,
            None => number_of(stack.into(), &mut self.stacks, &mut self.stack_ids),
        }
    }

    /// All modules, by number.
    pub fn modules(&self) -> &[ModuleRecord] {
        &self.modules
    }

    /// All symbols, by number.
    pub fn symbols(&self) -> &[SymbolRecord] {
        &self.symbols
    }

    /// All stacks, by number.
    pub fn stacks(&self) -> &[StackRecord] {
        &self.stacks
    }

    /// The names of a stack and of their modules, the function that ran or waited first; none for a number that was not given.
    pub fn names(&self, stack: StackId) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        let symbols = self
            .stacks
            .get(stack as usize)
            .map_or(&[][..], |stack| &stack[..]);
        symbols.iter().filter_map(|symbol| {
            let symbol = self.symbols.get(*symbol as usize)?;
            let module = self.modules.get(symbol.module as usize)?;
            Some((symbol.name.as_str(), module.name.as_str()))
        })
    }
}

fn number_of<T: Clone + Eq + std::hash::Hash>(value: T, all: &mut Vec<T>, ids: &mut HashMap<T, u32>) -> u32 {
    *ids.entry(value).or_insert_with_key(|value| {
        all.push(value.clone());
        all.len() as u32 - 1
    })
}

/// What a flame graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlameOf {
    /// CPU time of one side.
    Cpu(ProfiledSide),
    /// What sessions wait for.
    Waits,
}

/// The stacks of a variant in a cell beside the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Flame {
    /// Name of the cell.
    pub cell: String,
    /// Name of the variant.
    pub arm: String,
    /// What it shows.
    pub of: FlameOf,
    /// What all stacks begin at.
    pub root: FlameFrame,
}

/// A function where it was called from, with all that it calls.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameFrame {
    /// Its name.
    pub name: String,
    /// The name of its module.
    pub module: String,
    /// Microseconds of an operation of the baseline.
    pub baseline_us: f64,
    /// Microseconds of an operation of the variant.
    pub variant_us: f64,
    /// Variant less baseline, paired by block; absent with too few blocks.
    pub difference: Option<Interval>,
    /// True if the difference is no noise: its interval excludes zero, and it is more than the baseline differs from itself.
    pub is_significant: bool,
    /// What it calls, by name; what takes less than a thousandth of the whole in both arms is left out.
    pub calls: Vec<FlameFrame>,
}

/// How one figure of a cell went in the course of a run, all arms together.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Name of the cell.
    pub cell: String,
    /// What was counted.
    pub of: CourseOf,
    /// Seconds since the run began, and the figure in the block measured then.
    pub points: Vec<[f64; 2]>,
}

/// What is counted in the course of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CourseOf {
    /// Share of the time in which the device had something to do, as a fraction.
    DeviceBusy,
    /// Bytes read from it, per second.
    DeviceRead,
    /// Bytes written to it, per second.
    DeviceWritten,
    /// A counter of the server, per second.
    Counter(String),
}

/// What is shown besides figures; it is made of samples and looks each time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pictures {
    /// Flame graphs.
    pub flames: Vec<Flame>,
    /// Courses, by cell.
    pub courses: Vec<Course>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_has_the_same_number_and_its_names_are_found_again() {
        let mut table = SymbolTable::default();
        let module = |name: &str| ModuleRecord {
            name: name.to_owned(),
            build_id: None,
        };
        let (ssl, server) = (
            table.module(module("libssl.so.3")),
            table.module(module("mariadbd")),
        );
        let symbol = |module, name: &str| SymbolRecord {
            module,
            name: name.to_owned(),
        };
        let write = table.symbol(symbol(ssl, "SSL_write"));
        let query = table.symbol(symbol(server, "dispatch_command"));
        let stack = table.stack(&[write, query]);
        assert_eq!(table.module(module("libssl.so.3")), ssl);
        assert_eq!(table.symbol(symbol(ssl, "SSL_write")), write);
        assert_eq!(table.stack(&[write, query]), stack);
        assert_ne!(table.stack(&[query]), stack);
        let names: Vec<_> = table.names(stack).collect();
        assert_eq!(
            names,
            [("SSL_write", "libssl.so.3"), ("dispatch_command", "mariadbd")]
        );
        assert_eq!(table.names(99).count(), 0);
    }
}
