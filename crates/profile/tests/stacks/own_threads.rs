//! Threads of this process, whose calls are known.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{PipeReader, Read, Write, pipe};
use std::process;
use std::sync::mpsc;
use std::thread;

use ciphertax_profile::{Registers, Stacks};
use ciphertax_testkit::{PATIENCE, is_root, not_tested, temporary_folder, within};

use crate::look::{look_in, names};

/// A thread that waits below three functions until it is dropped.
pub(crate) struct Waiting {
    pub(crate) thread: u32,
    end: Option<(std::io::PipeWriter, thread::JoinHandle<()>)>,
}

impl Waiting {
    pub(crate) fn start() -> Self {
        let (reader, writer) = pipe().unwrap();
        let (tell, told) = mpsc::channel();
        let handle = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32)
                .unwrap();
            outermost_of_three(reader);
        });
        Self {
            thread: told.recv().unwrap(),
            end: Some((writer, handle)),
        }
    }

    /// Its registers and stack, once it waits.
    pub(crate) fn look(&self) -> (Registers, Vec<u8>) {
        look_in("0", process::id(), self.thread)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((mut writer, handle)) = self.end.take() {
            writer.write_all(&[1]).unwrap();
            handle.join().unwrap();
        }
    }
}

#[inline(never)]
fn outermost_of_three(reader: PipeReader) {
    let large = black_box([1_u8; 700]);
    middle_of_three(reader);
    black_box(&large);
}

#[inline(never)]
fn middle_of_three(reader: PipeReader) {
    let mut large = black_box(vec![1_u8; 70]);
    innermost_of_three(reader, &mut large);
    black_box(&large);
}

#[inline(never)]
fn innermost_of_three(mut reader: PipeReader, buffer: &mut [u8]) {
    let read = reader.read(&mut buffer[..1]).unwrap();
    black_box(read);
}

#[test]
fn a_waiting_thread_of_this_process_is_unwound_to_its_begin() {
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    let waiting = Waiting::start();
    let (registers, copy) = waiting.look();
    assert!(!registers.are_complete);
    let stack = stacks.unwind(process::id(), &registers, &copy);
    let names = names(&mut stacks, process::id(), &stack);
    assert!(stack.is_complete, "{names:?}");
    let place = |name: &str| {
        let mut found = names
            .iter()
            .enumerate()
            .filter(|(_, other)| other.ends_with(name));
        let (place, _) = found.next().unwrap_or_else(|| panic!("{name} in {names:?}"));
        assert_eq!(found.count(), 0, "{name} in {names:?}");
        place
    };
    let order = [
        place("::innermost_of_three"),
        place("::middle_of_three"),
        place("::outermost_of_three"),
    ];
    assert!(order.is_sorted(), "{names:?}");
    assert_eq!(names[0], "read", "{names:?}");
    assert!(names.iter().all(|name| !name.contains("::h")), "{names:?}");
}

#[test]
fn a_process_that_was_not_refreshed_or_has_ended_is_unknown() {
    let mut stacks = Stacks::default();
    let mut child = process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let error = stacks.refresh(child.id()).unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
    let registers = Registers::default();
    let stack = stacks.unwind(child.id(), &registers, &[]);
    assert_eq!(stack.addresses, [0]);
    assert!(!stack.is_complete);
    assert_eq!(names(&mut stacks, child.id(), &stack), ["[unknown]"]);
}

#[test]
fn of_a_process_that_has_ended_stays_known_what_was() {
    let mut stacks = Stacks::default();
    let mut child = process::Command::new("sleep").arg("1000").spawn().unwrap();
    // clock_nanosleep
    let (registers, copy) = look_in("230", child.id(), child.id());
    stacks.refresh(child.id()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    stacks.refresh(child.id()).unwrap();
    let stack = stacks.unwind(child.id(), &registers, &copy);
    let all = names(&mut stacks, child.id(), &stack);
    assert!(stack.is_complete, "{all:?}");
    assert!(all[0].ends_with("clock_nanosleep"), "{all:?}");
    assert!(all.iter().any(|name| name.contains("libc_start")), "{all:?}");
    stacks.forget(child.id());
    assert!(!stacks.unwind(child.id(), &registers, &copy).is_complete);
}

#[test]
fn the_kernels_functions_have_names_where_they_are_shown() {
    let mut stacks = Stacks::default();
    let mut table = ciphertax_records::why::SymbolTable::default();
    let symbol = stacks.kernel_symbol(u64::MAX, &mut table);
    let record = &table.symbols()[symbol as usize];
    assert_eq!(table.modules()[record.module as usize].name, "[kernel]");
    assert!(!record.name.is_empty());
    let mut list = String::new();
    File::open("/proc/kallsyms")
        .unwrap()
        .read_to_string(&mut list)
        .unwrap();
    let line = list.lines().find(|line| line.ends_with(" do_sys_openat2"));
    let address = line.and_then(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok());
    let Some(address) = address.filter(|address| *address != 0) else {
        return not_tested("the kernel hides where its functions are");
    };
    let symbol = stacks.kernel_symbol(address + 1, &mut table);
    assert_eq!(table.symbols()[symbol as usize].name, "do_sys_openat2");
}

#[test]
fn variables_are_found_by_their_bounds() {
    #[unsafe(no_mangle)]
    static VARIABLE_OF_CIPHERTAX_TEST: [u64; 16] = [7; 16];
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    let address = black_box(&VARIABLE_OF_CIPHERTAX_TEST).as_ptr() as u64;
    let mut name = |address| stacks.variable(process::id(), address);
    assert_eq!(name(address).as_deref(), Some("VARIABLE_OF_CIPHERTAX_TEST"));
    let found = name(address + 40).unwrap();
    assert_eq!(found, "VARIABLE_OF_CIPHERTAX_TEST+40");
    let on_the_stack = 0_u8;
    assert_eq!(name(&raw const on_the_stack as u64), None);
}

#[test]
fn a_process_with_a_root_and_numbers_of_its_own_is_unwound_as_any_other() {
    if !is_root() {
        return not_tested("only root may give a process a root of its own");
    }
    // Beside its program only what the loader needs is there.
    let root = temporary_folder();
    let program = process::Command::new("sh")
        .args(["-c", "command -v sleep; ldd $(command -v sleep)"])
        .output()
        .unwrap();
    let needed = String::from_utf8(program.stdout).unwrap();
    for word in needed
        .split_ascii_whitespace()
        .filter(|word| word.starts_with('/'))
    {
        let copy = root.path().join(word.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(word, copy).unwrap();
    }
    let sleep = needed.lines().next().unwrap();
    let mut child = process::Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "chroot"])
        .arg(root.path())
        .args([sleep, "1000"])
        .spawn()
        .unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let grandchild = || fs::read_to_string(&children).ok()?.trim().parse::<u32>().ok();
    let sleeps =
        |pid| fs::read_to_string(format!("/proc/{pid}/syscall")).is_ok_and(|call| call.starts_with("230 "));
    assert!(within(PATIENCE, || grandchild().is_some_and(sleeps)));
    let pid = grandchild().unwrap();
    let mut stacks = Stacks::default();
    stacks.refresh(pid).unwrap();
    let (registers, copy) = look_in("230", pid, pid);
    let stack = stacks.unwind(pid, &registers, &copy);
    let all = names(&mut stacks, pid, &stack);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stack.is_complete, "{all:?}");
    assert!(all[0].ends_with("clock_nanosleep"), "{all:?}");
}
