//! Stacks that are not what they should be.

use std::process;

use ciphertax_profile::{Registers, Stacks};

use crate::look::names;
use crate::own_threads::Waiting;

#[test]
fn a_stack_that_was_cut_off_is_not_complete() {
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    let waiting = Waiting::start();
    let (registers, copy) = waiting.look();
    let whole = stacks.unwind(process::id(), &registers, &copy);
    // Where it says to return to the first function of the thread.
    let address = whole.addresses[whole.addresses.len() - 1].to_le_bytes();
    let end = copy.chunks(8).rposition(|word| word == address).unwrap() * 8;
    for length in (0..end).step_by(24) {
        let stack = stacks.unwind(process::id(), &registers, &copy[..length]);
        assert!(!stack.is_complete, "{length} of {end} bytes: {stack:x?}");
        assert!(stack.addresses.len() < whole.addresses.len());
        assert_eq!(stack.addresses[0], whole.addresses[0]);
    }
    assert!(
        stacks
            .unwind(process::id(), &registers, &copy[..end + 8])
            .is_complete
    );
}

#[test]
fn garbage_is_neither_complete_nor_endless() {
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    let waiting = Waiting::start();
    let (registers, copy) = waiting.look();
    let whole = stacks.unwind(process::id(), &registers, &copy);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..300 {
        let length = random.below(16 << 10);
        let mut garbage: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        if round % 3 == 0 {
            garbage.fill(0);
        }
        let mut registers = registers;
        if round % 2 == 0 {
            registers.are_complete = true;
            for register in 0..16 {
                registers.values[register] = random.next() >> random.below(64);
            }
        }
        if round % 5 == 0 {
            registers.values[16] = random.next();
        }
        let stack = stacks.unwind(process::id(), &registers, &garbage);
        assert!(!stack.is_complete, "{round}: {stack:x?}");
        assert!(stack.addresses.len() <= 512, "{round}");
        names(&mut stacks, process::id(), &stack);
    }
    // Return addresses that are real, where no function left them.
    for round in 0..100 {
        let mut garbage = Vec::new();
        while garbage.len() < 32 << 10 {
            let real = whole.addresses[random.below(whole.addresses.len() - 2)];
            let near = registers.values[7] + random.below(32 << 10) as u64;
            let word = [real, near, 0, random.next()][random.below(4)];
            garbage.extend_from_slice(&word.to_le_bytes());
        }
        let mut registers = registers;
        registers.are_complete = round % 2 == 0;
        registers.values[6] = registers.values[7] + random.below(32 << 10) as u64;
        let stack = stacks.unwind(process::id(), &registers, &garbage);
        assert!(stack.addresses.len() <= 512, "{round}");
    }
}

/// Numbers without a pattern, always the same (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

#[test]
fn registers_alone_are_one_function() {
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    for are_complete in [false, true] {
        let registers = Registers {
            values: [u64::MAX; 17],
            are_complete,
        };
        let stack = stacks.unwind(process::id(), &registers, &[]);
        assert_eq!(stack.addresses, [u64::MAX]);
        assert!(!stack.is_complete);
    }
}
