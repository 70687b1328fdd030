//! Values that compilers describe by small programs.

use gimli::{
    EhFrame, Encoding, EndianSlice, EvaluationResult, Format, LittleEndian, Location, UnwindExpression, Value,
};

use super::stack_copy::StackCopy;
use super::walk::Frame;

/// No honest expression takes as many steps.
const MAXIMUM_STEPS: u32 = 500;

const ENCODING: Encoding = Encoding {
    format: Format::Dwarf32,
    version: 4,
    address_size: 8,
};

/// What an expression of the section yields for a frame: an address, or the value itself. `initial` is put on its stack first.
pub(super) fn value(
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
