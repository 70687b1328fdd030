//! From function to caller, to the begin of the thread.

use gimli::{CfaRule, RegisterRule, UnwindContext};

use super::call;
use super::frames::{IP, Row};
use super::space::{Files, Image, Space};
use super::stack_copy::StackCopy;
use crate::Registers;

/// The numbers of the frame pointer and the stack pointer.
pub(super) const BP: usize = 6;
pub(super) const SP: usize = 7;
/// Deeper stacks are given up.
const MAXIMUM_DEPTH: usize = 512;

/// The registers of one function of a stack, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    values: [u64; 17],
    /// A bit for each register that is known.
    known: u32,
    /// True if the instruction pointer is where the function is; false if it is behind the call that the function is in.
    is_exact: bool,
}

impl Frame {
    /// The innermost.
    pub(super) fn first(registers: &Registers) -> Self {
        let known = match registers.are_complete {
            true => (1 << 17) - 1,
            false => 1 << SP | 1 << IP,
        };
        Self {
            values: registers.values,
            known,
            is_exact: true,
        }
    }

    /// One of which only this is known.
    pub(super) fn caller(stack_pointer: u64, instruction_pointer: u64) -> Self {
        let mut frame = Self {
            values: [0; 17],
            known: 0,
            is_exact: false,
        };
        frame.set(SP, stack_pointer);
        frame.set(IP, instruction_pointer);
        frame
    }

    /// A register, if it is known.
    pub(super) fn get(&self, register: usize) -> Option<u64> {
        let value = self.values.get(register)?;
        (self.known & 1 << register != 0).then_some(*value)
    }

    pub(super) fn set(&mut self, register: usize, value: u64) {
        if let Some(place) = self.values.get_mut(register) {
            *place = value;
            self.known |= 1 << register;
        }
    }

    fn unset(&mut self, register: usize) {
        if register < self.values.len() {
            self.known &= !(1 << register);
        }
    }

    pub(super) fn stack_pointer(&self) -> u64 {
        self.values[SP]
    }

    pub(super) fn instruction_pointer(&self) -> u64 {
        self.values[IP]
    }

    /// An address in the function: a call can be its last instruction.
    pub(super) fn inside(&self) -> u64 {
        let address = self.values[IP];
        if self.is_exact {
            address
        } else {
            address.wrapping_sub(1)
        }
    }
}

enum Step {
    Caller(Frame),
    /// The thread begins here.
    Begin,
    Stuck,
}

/// Walks one stack.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) space: &'a Space,
    pub(super) files: &'a mut Files,
    pub(super) context: &'a mut UnwindContext<usize>,
    pub(super) stack: StackCopy<'a>,
    /// Steps that may still be taken.
    pub(super) budget: u32,
    /// True if a return address of 0 does not prove that the thread begins there.
    pub(super) is_strict: bool,
}

impl Walk<'_> {
    /// Goes as far as it can and adds where it comes by; nothing if that is the begin of the thread, else where it got stuck.
    pub(super) fn run(&mut self, mut frame: Frame, path: &mut Vec<u64>) -> Option<Frame> {
        loop {
            if path.len() >= MAXIMUM_DEPTH || self.budget == 0 {
                return Some(frame);
            }
            self.budget -= 1;
            match self.step(&frame, path.len() == 1) {
                Step::Caller(caller) => {
                    path.push(caller.instruction_pointer());
                    frame = caller;
                }
                Step::Begin => return None,
                Step::Stuck if self.is_outermost(&frame) => return None,
                Step::Stuck => return Some(frame),
            }
        }
    }

    fn step(&mut self, frame: &Frame, is_first: bool) -> Step {
        let Some(image) = self.space.code_at(frame.inside()).cloned() else {
            return match self.space.is_code(frame.inside()) {
                true => self.by_frame_pointer(frame),
                // What called something that is no code is at least known.
                false if is_first => self.just_called(frame),
                false => Step::Stuck,
            };
        };
        let address = frame.inside().wrapping_sub(image.bias);
        self.files
            .get_mut(image.file)
            .frames
            .prepare(address, self.context);
        match self.files.get(image.file).frames.row(address) {
            Some(row) => self.by_row(frame, row, &image, is_first),
            None => self.by_frame_pointer(frame),
        }
    }

    fn by_row(&self, frame: &Frame, row: &Row, image: &Image, is_first: bool) -> Step {
        if row.registers.contains(&(IP, RegisterRule::Undefined)) {
            return Step::Begin;
        }
        match self.caller_by_row(frame, row, image) {
            Some(caller) if caller.instruction_pointer() == 0 && !is_first && !self.is_strict => Step::Begin,
            Some(caller) if self.space.is_code(caller.inside()) => Step::Caller(caller),
            _ => Step::Stuck,
        }
    }

    fn caller_by_row(&self, frame: &Frame, row: &Row, image: &Image) -> Option<Frame> {
        let section = self.files.get(image.file).frames.section();
        let evaluate = |value, initial| call::value(value, &section, initial, frame, &self.stack);
        let cfa = match &row.cfa {
            CfaRule::RegisterAndOffset { register, offset } => {
                frame.get(register.0.into())?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(value) => evaluate(value, None)?,
        };
        // Each frame lies above the one that it called, so this ends.
        if cfa <= frame.stack_pointer() {
            return None;
        }
        // A register without a rule is as it was in the caller; some code in assembler depends on it even of those that calls
        // may change.
        let mut caller = *frame;
        caller.set(SP, cfa);
        caller.unset(IP);
        caller.is_exact = row.is_signal;
        for (register, rule) in &row.registers {
            let value = match rule {
                RegisterRule::SameValue => continue,
                RegisterRule::Offset(offset) => self.stack.word(cfa.wrapping_add_signed(*offset)),
                RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
                RegisterRule::Register(other) => frame.get(other.0.into()),
                RegisterRule::Expression(value) => {
                    evaluate(value, Some(cfa)).and_then(|address| self.stack.word(address))
                }
                RegisterRule::ValExpression(value) => evaluate(value, Some(cfa)),
                RegisterRule::Constant(value) => Some(*value),
                _ => None,
            };
            match value {
                Some(value) => caller.set(*register, value),
                None => caller.unset(*register),
            }
        }
        caller.get(IP)?;
        (caller.get(SP)? > frame.stack_pointer()).then_some(caller)
    }

    /// Where nothing is said of the code: by the chain of frame pointers.
    fn by_frame_pointer(&self, frame: &Frame) -> Step {
        match frame.get(BP) {
            Some(0) if self.space.is_code(frame.inside()) => Step::Begin,
            Some(pointer) if pointer >= frame.stack_pointer() => {
                match (self.stack.word(pointer), self.stack.word(pointer.wrapping_add(8))) {
                    (Some(saved), Some(address)) if self.space.is_code(address.wrapping_sub(1)) => {
                        let mut caller = Frame::caller(pointer.wrapping_add(16), address);
                        caller.set(BP, saved);
                        Step::Caller(caller)
                    }
                    _ => Step::Stuck,
                }
            }
            _ => Step::Stuck,
        }
    }

    fn just_called(&self, frame: &Frame) -> Step {
        let pointer = frame.stack_pointer();
        match self.stack.word(pointer) {
            Some(address) if self.space.is_code(address.wrapping_sub(1)) => {
                let mut caller = *frame;
                caller.is_exact = false;
                caller.set(IP, address);
                caller.set(SP, pointer.wrapping_add(8));
                Step::Caller(caller)
            }
            _ => Step::Stuck,
        }
    }

    fn is_outermost(&mut self, frame: &Frame) -> bool {
        let Some(image) = self.space.code_at(frame.inside()) else {
            return false;
        };
        let address = frame.inside().wrapping_sub(image.bias);
        self.files.get_mut(image.file).is_outermost(address)
    }
}
