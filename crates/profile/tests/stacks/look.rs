//! A look at a thread that waits, and what it shows.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use ciphertax_profile::{Registers, Stacks, UserStack};
use ciphertax_records::why::SymbolTable;
use ciphertax_testkit::{PATIENCE, within};

/// So much of a stack is copied.
const COPIED: usize = 64 << 10;

/// Where a thread waits in the kernel, and its stack; nothing of one that runs.
pub(crate) fn look(pid: u32, thread: u32) -> Option<(Registers, Vec<u8>)> {
    let path = format!("/proc/{pid}/task/{thread}/syscall");
    let call = fs::read_to_string(&path).ok()?;
    let words: Vec<&str> = call.split_ascii_whitespace().collect();
    let [.., stack, instruction] = words[..] else {
        return None;
    };
    let mut registers = Registers::default();
    for (register, word) in [(7, stack), (16, instruction)] {
        registers.values[register] = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
    }
    let mut copy = vec![0; COPIED];
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let length = memory.read_at(&mut copy, registers.values[7]).ok()?;
    copy.truncate(length);
    // It could have gone on meanwhile.
    (fs::read_to_string(&path).ok()? == call).then_some((registers, copy))
}

/// All threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads
        .into_iter()
        .flatten()
        .filter_map(|thread| thread.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// The names of the functions of a stack, innermost first.
pub(crate) fn names(stacks: &mut Stacks, pid: u32, stack: &UserStack) -> Vec<String> {
    let mut table = SymbolTable::default();
    let symbols: Vec<_> = stack
        .addresses
        .iter()
        .enumerate()
        .map(|(at, address)| stacks.symbol(pid, *address, at > 0, &mut table))
        .collect();
    symbols
        .iter()
        .map(|symbol| table.symbols()[*symbol as usize].name.clone())
        .collect()
}

/// The name of one address.
pub(crate) fn name(stacks: &mut Stacks, pid: u32, address: u64) -> String {
    let mut table = SymbolTable::default();
    let symbol = stacks.symbol(pid, address, false, &mut table);
    table.symbols()[symbol as usize].name.clone()
}

/// A look at a thread once it is in the system call of this number.
pub(crate) fn look_in(call: &str, pid: u32, thread: u32) -> (Registers, Vec<u8>) {
    let path = format!("/proc/{pid}/task/{thread}/syscall");
    let is_there = || {
        let there = fs::read_to_string(&path).unwrap();
        there.split(' ').next() == Some(call)
    };
    assert!(within(PATIENCE, is_there));
    look(pid, thread).unwrap()
}
