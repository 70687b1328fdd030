//! Unwinding, and names.

mod calls;
mod elf_file;
mod frames;
mod layout;
mod names;
mod space;
mod walk;

use std::collections::HashMap;
use std::io;

use ciphertax_records::why::{ModuleRecord, SymbolId, SymbolRecord, SymbolTable};
use gimli::UnwindContext;

use crate::ProfileError;
use names::Kernel;
use space::{Files, Space};
use walk::{Frame, StackCopy, Walk};

/// What stands for code that belongs to no file.
const UNKNOWN: &str = "[unknown]";
/// Steps of one walk; a stack has as many functions at most.
const BUDGET: u32 = 1024;

/// The registers of a thread in user mode, by the numbers that DWARF gives them on x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8…r15
/// and 16 for the instruction pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers {
    /// Their values; 0 for one that is not known.
    pub values: [u64; 17],
    /// True if all are known; false if only the stack pointer and the instruction pointer are.
    pub are_complete: bool,
}

/// Where a thread was, outermost function last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserStack {
    /// Addresses: first the instruction pointer, then return addresses.
    pub addresses: Vec<u64>,
    /// True if it was unwound to the begin of the thread.
    pub is_complete: bool,
}

/// Unwinds stacks and names addresses, of as many processes as it is told of. What it reads of a file it keeps.
#[derive(Debug, Default)]
pub struct Stacks {
    files: Files,
    processes: HashMap<u32, Process>,
    context: UnwindContext<usize>,
    kernel: Option<Kernel>,
}

#[derive(Debug)]
struct Process {
    /// The lines of its mappings that tell of code, as they were.
    lines: Vec<u8>,
    space: Space,
    /// True if its functions were named by what calls them since it was refreshed.
    has_names: bool,
}

impl Stacks {
    /// Reads which files a process has mapped, anew if they have changed since it was asked last. Of a process that has ended what
    /// was known stays known.
    ///
    /// # Errors
    /// If nothing is known of it and nothing can be read.
    pub fn refresh(&mut self, pid: u32) -> crate::Result<()> {
        if !cfg!(target_arch = "x86_64") {
            return Err(ProfileError::Refused {
                what: "unwinding stacks",
                cause: io::ErrorKind::Unsupported.into(),
                remedy: "it is made for x86-64 alone",
            });
        }
        let lines = match layout::code_of(pid) {
            Ok(lines) if !lines.is_empty() => lines,
            // Of a process that has ended, and of no other, the list is empty.
            other if self.processes.contains_key(&pid) => return other.map(drop).or(Ok(())),
            other => return Err(cannot_read(pid, other.err())),
        };
        match self.processes.get_mut(&pid) {
            Some(process) if process.lines == lines => process.has_names = false,
            _ => self.read(pid, lines),
        }
        Ok(())
    }

    fn read(&mut self, pid: u32, lines: Vec<u8>) {
        let alike = self.processes.values().find(|process| process.lines == lines);
        let process = match alike {
            // It was forked from the same process, and shares what that has loaded.
            Some(process) => Process {
                lines,
                space: process.space.clone(),
                has_names: process.has_names,
            },
            None => {
                let mappings = layout::parse(&lines);
                let before = self.processes.get(&pid).map(|process| &process.space);
                let space = Space::new(pid, &mappings, before, &mut self.files);
                space.name_targets(pid, &mut self.files);
                Process {
                    lines,
                    space,
                    has_names: false,
                }
            }
        };
        self.processes.insert(pid, process);
    }

    /// Forgets a process; what is known of files stays.
    pub fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// Unwinds the stack of a thread of a process that was refreshed. `stack` is its memory from the stack pointer upwards.
    pub fn unwind(&mut self, pid: u32, registers: &Registers, stack: &[u8]) -> UserStack {
        let frame = Frame::first(registers);
        let mut addresses = vec![frame.instruction_pointer()];
        let Some(process) = self.processes.get(&pid) else {
            return UserStack {
                addresses,
                is_complete: false,
            };
        };
        let mut walk = Walk {
            space: &process.space,
            files: &mut self.files,
            context: &mut self.context,
            stack: StackCopy {
                start: frame.stack_pointer(),
                bytes: stack,
            },
            budget: BUDGET,
            is_strict: false,
        };
        let is_complete = match walk.run(frame, &mut addresses) {
            None => true,
            Some(stuck) => walk.search(&stuck, &mut addresses),
        };
        UserStack {
            addresses,
            is_complete,
        }
    }

    /// The symbol of an address in user mode. A return address lies behind its call, which may be the next function already, so it
    /// is looked for one byte before.
    pub fn symbol(
        &mut self,
        pid: u32,
        address: u64,
        is_return_address: bool,
        table: &mut SymbolTable,
    ) -> SymbolId {
        let address = match is_return_address {
            true => address.wrapping_sub(1),
            false => address,
        };
        let process = self.processes.get_mut(&pid);
        let found = process.and_then(|process| Some((process.space.code_at(address)?.clone(), process)));
        let Some((image, process)) = found else {
            return word(UNKNOWN, table);
        };
        let address = address.wrapping_sub(image.bias);
        let mut name = self.files.get_mut(image.file).known_name(address);
        // The loader may choose what a function is only when it is called first.
        if name.is_none() && !process.has_names {
            process.has_names = true;
            process.space.name_targets(pid, &mut self.files);
            name = self.files.get_mut(image.file).known_name(address);
        }
        let file = self.files.get_mut(image.file);
        let name = name.unwrap_or_else(|| file.name(address));
        let module = table.module(file.module());
        table.symbol(SymbolRecord {
            module,
            name: (*name).to_owned(),
        })
    }

    /// The symbol of an address in the kernel, without a name where `/proc/kallsyms` hides them.
    pub fn kernel_symbol(&mut self, address: u64, table: &mut SymbolTable) -> SymbolId {
        let kernel = self.kernel.get_or_insert_with(Kernel::read);
        let module = table.module(module(names::KERNEL));
        table.symbol(SymbolRecord {
            module,
            name: kernel.name(address).to_owned(),
        })
    }

    /// The variable at an address, `NAME` or `NAME+OFFSET`, if it is a named one of a program or library.
    pub fn variable(&mut self, pid: u32, address: u64) -> Option<String> {
        let image = self.processes.get(&pid)?.space.whole_at(address)?;
        self.files
            .get(image.file)
            .variable(address.wrapping_sub(image.bias))
    }
}

fn word(name: &str, table: &mut SymbolTable) -> SymbolId {
    let module = table.module(module(name));
    table.symbol(SymbolRecord {
        module,
        name: name.to_owned(),
    })
}

fn module(name: &str) -> ModuleRecord {
    ModuleRecord {
        name: name.to_owned(),
        build_id: None,
    }
}

fn cannot_read(pid: u32, cause: Option<io::Error>) -> ProfileError {
    match cause {
        Some(cause) if cause.kind() == io::ErrorKind::PermissionDenied => ProfileError::Refused {
            what: "looking into a process of another user",
            cause,
            remedy: "run ciphertax as that user or as root",
        },
        Some(cause) if !matches!(cause.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => {
            ProfileError::Read {
                what: format!("the mappings of process {pid}"),
                cause,
            }
        }
        _ => ProfileError::ProcessEnded(pid),
    }
}
