//! The summary of a slice's looks, once their stacks are unwound.

use std::collections::{BTreeMap, HashMap};

use ciphertax_records::SliceId;
use ciphertax_records::why::{Blocked, StackId, SymbolId, SymbolTable, Waits};

use super::call::Call;
use super::copies::StackCopy;
use super::roles::{Begin, Role, Roles, StacksOfThread};
use super::round::{Seen, SeenThread};
use super::thread::Who;
use crate::stacks::{Registers, Stacks};

/// DWARF's numbers of the stack pointer and of the instruction pointer.
const STACK_POINTER: usize = 7;
const INSTRUCTION_POINTER: usize = 16;

/// Outermost functions of a thread that belong to the system's libraries: `clone` and `start_thread`.
const OF_THE_SYSTEM: usize = 2;

pub(super) fn waits(
    slice: SliceId,
    seen: Seen,
    roles: &mut Roles,
    stacks: &mut Stacks,
    symbols: &mut SymbolTable,
) -> Waits {
    let Seen {
        rounds,
        threads,
        copies,
        ..
    } = seen;
    let mut reader = Reader::new(&threads, stacks, symbols);
    let copies: Vec<Waiting> = copies
        .all
        .into_iter()
        .map(|copy| reader.read(&threads, copy))
        .collect();
    let mut of_threads = vec![StacksOfThread::default(); threads.len()];
    for copy in &copies {
        let of_thread = &mut of_threads[copy.thread];
        of_thread.has_waited |= copy.seen > 0;
        if let Some(begin) = copy.is_complete.then(|| begin(symbols, copy.stack)).flatten() {
            of_thread.begins.insert(begin);
        }
    }
    let roles = roles.of(&threads, &of_threads);
    let mut waits = Waits {
        rounds,
        blocked: blocked(copies, &roles, symbols),
        ..Waits::unseen(slice)
    };
    for (thread, role) in threads.iter().zip(&roles) {
        if *role == Role::Background {
            waits.background_running += thread.running;
            continue;
        }
        waits.running += thread.running;
        waits.idle += thread.idle;
        waits.inconsistent += thread.inconsistent;
        waits.unreadable += thread.unreadable;
    }
    waits
}

/// Looks at a thread that waited.
#[derive(Debug)]
struct Waiting {
    thread: usize,
    call: Call,
    object: Option<String>,
    stack: StackId,
    is_complete: bool,
    seen: u64,
}

fn blocked(copies: Vec<Waiting>, roles: &[Role], symbols: &SymbolTable) -> Vec<Blocked> {
    let mut all = BTreeMap::new();
    for copy in copies.into_iter().filter(|copy| copy.seen > 0) {
        let is_background = roles[copy.thread] == Role::Background || is_parked(symbols, copy.stack);
        let key = (copy.call.name(), copy.object, copy.stack, is_background);
        let (seen, complete) = all.entry(key).or_insert((0, 0));
        *seen += copy.seen;
        *complete += if copy.is_complete { copy.seen } else { 0 };
    }
    let blocked = |((call, object, stack, background), (seen, complete))| Blocked {
        call: String::into(std::borrow::Cow::into_owned(call)),
        object,
        stack,
        seen,
        complete,
        background,
    };
    all.into_iter().map(blocked).collect()
}

/// The functions in which a thread's own work begins.
fn begin(symbols: &SymbolTable, stack: StackId) -> Option<Begin> {
    let mut outermost = symbols.names(stack).rev().skip(OF_THE_SYSTEM);
    let [one, two] = [outermost.next()?, outermost.next()?];
    Some([one.0.into(), two.0.into()])
}

/// Functions of MySQL and MariaDB that wait themselves only for the next connection of a thread that has none; some compilers put
/// what waits into the function that serves a connection.
const PARKED: [&str; 6] = [
    "block_until_new_connection",
    "cache_thread",
    "do_handle_one_connection",
    "handle_one_connection",
    "one_thread_per_connection_end",
    "park",
];

fn is_parked(symbols: &SymbolTable, stack: StackId) -> bool {
    let is_of_server = |(_, module): &(&str, &str)| !module.starts_with("lib") && !module.starts_with('[');
    let innermost = symbols.names(stack).find(is_of_server);
    innermost.is_some_and(|(name, _)| PARKED.contains(&last_part(name)))
}

/// `park` of `Thread_cache::park`.
fn last_part(name: &str) -> &str {
    let name = name.split('(').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

/// Unwinds and names.
struct Reader<'a> {
    stacks: &'a mut Stacks,
    symbols: &'a mut SymbolTable,
    /// Whose files are mapped as in a process.
    maps: HashMap<u32, u32>,
    known: HashMap<(u32, u64, bool), SymbolId>,
    objects: HashMap<(u32, u64), Option<String>>,
}

impl<'a> Reader<'a> {
    fn new(threads: &[SeenThread], stacks: &'a mut Stacks, symbols: &'a mut SymbolTable) -> Self {
        let mut maps = HashMap::new();
        for thread in threads {
            let Who { process, root, .. } = thread.who;
            maps.entry(process).or_insert_with(|| {
                // One that has ended had what it was started from.
                match stacks.refresh(process) {
                    Ok(()) => process,
                    Err(_) => root,
                }
            });
        }
        Self {
            stacks,
            symbols,
            maps,
            known: HashMap::new(),
            objects: HashMap::new(),
        }
    }

    fn read(&mut self, threads: &[SeenThread], copy: StackCopy) -> Waiting {
        let process = threads[copy.thread].who.process;
        let pid = self.maps.get(&process).copied().unwrap_or(process);
        let mut registers = Registers::default();
        registers.values[STACK_POINTER] = copy.call.stack_pointer;
        registers.values[INSTRUCTION_POINTER] = copy.call.instruction_pointer;
        let unwound = self.stacks.unwind(pid, &registers, &copy.stack);
        let addresses = unwound.addresses.iter().enumerate();
        let functions: Vec<SymbolId> = addresses
            .map(|(depth, address)| self.symbol(pid, *address, depth > 0))
            .collect();
        Waiting {
            thread: copy.thread,
            call: copy.call,
            object: copy.call.futex().and_then(|address| self.object(pid, address)),
            stack: self.symbols.stack(&functions),
            is_complete: unwound.is_complete,
            seen: copy.seen,
        }
    }

    fn symbol(&mut self, pid: u32, address: u64, is_return_address: bool) -> SymbolId {
        let Self {
            stacks,
            symbols,
            known,
            ..
        } = self;
        *known
            .entry((pid, address, is_return_address))
            .or_insert_with(|| stacks.symbol(pid, address, is_return_address, symbols))
    }

    fn object(&mut self, pid: u32, address: u64) -> Option<String> {
        let Self { stacks, objects, .. } = self;
        objects
            .entry((pid, address))
            .or_insert_with(|| stacks.variable(pid, address))
            .clone()
    }
}
