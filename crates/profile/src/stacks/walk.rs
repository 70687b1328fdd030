//! From function to caller, to the begin of the thread. Where the caller does not follow from the registers, since the frame pointer
//! is not known or what is said of a function is wrong, it is looked for in the copy of the stack.

use std::ops::Range;

use gimli::{
    CfaRule, EhFrame, Encoding, EndianSlice, EvaluationResult, Format, LittleEndian, Location, RegisterRule,
    UnwindContext, UnwindExpression, Value,
};

use super::calls::Call;
use super::frames::{IP, Row};
use super::layout::u64_at;
use super::space::{Files, Image, Space};
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
        let evaluate = |value, initial| value_of_expression(value, &section, initial, frame, &self.stack);
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

/// So many searches may follow from each other: code that is described wrongly, then a frame pointer that it has lost.
const MAXIMUM_SEARCHES: u32 = 3;
/// Steps of all walks of a search together.
const BUDGET: u32 = 4000;
/// Places of a kind that are tried from one frame on.
const MAXIMUM_TRIED: usize = 96;

/// What a call that returns to a place says of the function that got stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It calls that function, or one that ends with a jump into it.
    Sure,
    /// It calls what a register, memory or the loader says.
    Possible,
    /// It calls another function. What a function left behind looks like that, but so does a chain of jumps.
    Unlikely,
}

/// A function, and where it is loaded.
struct Function {
    image: Image,
    /// In the addresses of its file.
    bounds: Range<u64>,
}

impl Walk<'_> {
    /// Goes on from where it got stuck; true if it came to the begin of the thread. Otherwise `path` is as it was.
    pub(super) fn search(&mut self, stuck: &Frame, path: &mut Vec<u64>) -> bool {
        self.is_strict = true;
        // One search that suffices is likelier right than two.
        (1..=MAXIMUM_SEARCHES).any(|searches| {
            self.budget = BUDGET;
            self.search_within(stuck, path, searches)
        })
    }

    fn search_within(&mut self, stuck: &Frame, path: &mut Vec<u64>, searches: u32) -> bool {
        let function = self.function_of(stuck);
        [Fit::Sure, Fit::Possible, Fit::Unlikely]
            .into_iter()
            .any(|fit| self.search_for(fit, stuck, function.as_ref(), path, searches))
    }

    fn search_for(
        &mut self,
        fit: Fit,
        stuck: &Frame,
        function: Option<&Function>,
        path: &mut Vec<u64>,
        searches: u32,
    ) -> bool {
        let start = stuck.stack_pointer();
        let mut tried = 0;
        for place in self.stack.words_from(start) {
            if tried == MAXIMUM_TRIED || self.budget == 0 {
                break;
            }
            let Some(word) = self.stack.word(place) else { break };
            if self.fit(word, function) != Some(fit) {
                continue;
            }
            tried += 1;
            // Functions push the frame pointer first: it is below the return address.
            if stuck.get(BP).is_none() && place - start >= 8 {
                let mut frame = *stuck;
                frame.set(BP, place - 8);
                if self.leads_on(frame, None, path, searches) {
                    return true;
                }
            }
            if self.leads_on(Frame::caller(place + 8, word), Some(word), path, searches) {
                return true;
            }
        }
        false
    }

    /// True if the begin of the thread is found from a frame on, whose address is added first.
    fn leads_on(&mut self, frame: Frame, address: Option<u64>, path: &mut Vec<u64>, searches: u32) -> bool {
        let depth = path.len();
        path.extend(address);
        let is_found = match self.run(frame, path) {
            None => true,
            Some(stuck) => searches > 1 && self.budget > 0 && self.search_within(&stuck, path, searches - 1),
        };
        if !is_found {
            path.truncate(depth);
        }
        is_found
    }

    fn function_of(&self, frame: &Frame) -> Option<Function> {
        let image = self.space.code_at(frame.inside())?;
        let frames = &self.files.get(image.file).frames;
        let bounds = frames.function(frame.inside().wrapping_sub(image.bias))?;
        Some(Function {
            image: image.clone(),
            bounds,
        })
    }

    /// How well a word of the stack fits as what a function returns to; nothing if no call is before that.
    fn fit(&mut self, word: u64, function: Option<&Function>) -> Option<Fit> {
        let image = self.space.code_at(word.wrapping_sub(1))?;
        let file = self.files.get_mut(image.file);
        let Call::Direct(target) = file.call_before(word.wrapping_sub(image.bias))? else {
            return Some(Fit::Possible);
        };
        if file.is_stub(target) {
            return Some(Fit::Possible);
        }
        let is_sure = function.is_some_and(|function| {
            let is_same_file = function.image.file == image.file && function.image.bias == image.bias;
            is_same_file && (function.bounds.contains(&target) || file.jumps_into(target, &function.bounds))
        });
        Some(if is_sure { Fit::Sure } else { Fit::Unlikely })
    }
}

/// Memory from `start` on, as it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackCopy<'a> {
    pub(super) start: u64,
    pub(super) bytes: &'a [u8],
}

impl StackCopy<'_> {
    /// The eight bytes at an address, if they were copied.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        u64_at(self.bytes, self.offset(address)?)
    }

    /// The bytes at an address as a number, up to eight.
    pub(super) fn number(&self, address: u64, length: u8) -> Option<u64> {
        let start = self.offset(address)?;
        let bytes = self.bytes.get(start..start.checked_add(length.into())?)?;
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    /// The addresses of all words from one on.
    pub(super) fn words_from(&self, address: u64) -> impl Iterator<Item = u64> + use<> {
        let first = address
            .max(self.start)
            .checked_next_multiple_of(8)
            .unwrap_or(u64::MAX);
        let end = self.start.saturating_add(self.bytes.len() as u64);
        (first..end.saturating_sub(7)).step_by(8)
    }

    fn offset(&self, address: u64) -> Option<usize> {
        usize::try_from(address.checked_sub(self.start)?).ok()
    }
}

/// No honest expression takes as many steps.
const MAXIMUM_STEPS: u32 = 500;

const ENCODING: Encoding = Encoding {
    format: Format::Dwarf32,
    version: 4,
    address_size: 8,
};

/// What an expression of the section yields for a frame: an address, or the value itself. `initial` is put on its stack first.
fn value_of_expression(
    expression: &UnwindExpression<usize>,
    section: &EhFrame<EndianSlice<'_, LittleEndian>>,
    initial: Option<u64>,
    frame: &Frame,
    stack: &StackCopy<'_>,
) -> Option<u64> {
    let mut evaluation = expression.get(section).ok()?.evaluation(ENCODING);
    evaluation.set_max_iterations(MAXIMUM_STEPS);
    if let Some(initial) = initial {
        evaluation.set_initial_value(initial);
    }
    let mut result = evaluation.evaluate().ok()?;
    loop {
        let next = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = frame.get(register.0.into())?;
                evaluation.resume_with_register(Value::Generic(value))
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let value = stack.number(address, size)?;
                evaluation.resume_with_memory(Value::Generic(value))
            }
            _ => return None,
        };
        result = next.ok()?;
    }
    match evaluation.result().first()?.location {
        Location::Address { address } => Some(address),
        _ => None,
    }
}
