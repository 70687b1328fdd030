//! Calls, jumps, and values that compilers describe by small programs.

use std::ops::Range;

use gimli::{
    EhFrame, Encoding, EndianSlice, EvaluationResult, Format, LittleEndian, Location, UnwindExpression, Value,
};

use super::maps::u32_at;
use super::stack_copy::StackCopy;
use super::walk::Frame;

/// So many bytes before a return address tell whether a call is there.
pub(super) const LONGEST: usize = 7;

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Of the function at this address.
    Direct(u64),
    /// Of whatever a register or memory says.
    Indirect,
}

/// The call that ends with the code, behind which is `address`.
pub(super) fn before(code: &[u8; LONGEST], address: u64) -> Option<Call> {
    if code[2] == 0xe8 {
        let offset = u32_at(code, 3)? as i32;
        return Some(Call::Direct(address.wrapping_add_signed(offset.into())));
    }
    let is_indirect = (2..=LONGEST).any(|length| indirect_length(&code[LONGEST - length..]) == Some(length));
    is_indirect.then_some(Call::Indirect)
}

/// How long an indirect call (`ff /2`) at the begin of the code is.
fn indirect_length(code: &[u8]) -> Option<usize> {
    let [0xff, modes, ..] = *code else { return None };
    let (mode, operation, register) = (modes >> 6, (modes >> 3) & 7, modes & 7);
    if operation != 2 {
        return None;
    }
    let index = usize::from(mode != 3 && register == 4);
    let offset = match mode {
        0 if register == 5 || (register == 4 && code.get(2)? & 7 == 5) => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(2 + index + offset)
}

/// True if code from `address` on seems to have a jump, with or without a condition, to one of these addresses.
pub(super) fn jumps_into(code: &[u8], address: u64, targets: &Range<u64>) -> bool {
    (0..code.len()).any(|at| {
        let length = match code[at..] {
            [0xe9, ..] => 1,
            [0x0f, 0x80..=0x8f, ..] => 2,
            _ => return false,
        };
        let Some(offset) = u32_at(code, at + length) else {
            return false;
        };
        let behind = address.wrapping_add((at + length + 4) as u64);
        targets.contains(&behind.wrapping_add_signed((offset as i32).into()))
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_form_are_found_and_other_code_is_not() {
        for (code, expected) in [
            (
                &[0xe8, 0xfb, 0xff, 0xff, 0xff][..],
                Some(Call::Direct(0x1000 - 5)),
            ),
            (&[0xff, 0xd0], Some(Call::Indirect)),
            (&[0x41, 0xff, 0xd4], Some(Call::Indirect)),
            (&[0xff, 0x50, 0x18], Some(Call::Indirect)),
            (&[0xff, 0x90, 0x18, 1, 0, 0], Some(Call::Indirect)),
            (&[0xff, 0x15, 0x18, 1, 0, 0], Some(Call::Indirect)),
            (&[0xff, 0x14, 0xc7], Some(Call::Indirect)),
            (&[0xff, 0x54, 0x24, 0x08], Some(Call::Indirect)),
            (&[0xff, 0x94, 0x24, 8, 1, 0, 0], Some(Call::Indirect)),
            (&[0xff, 0x14, 0xc5, 0, 0x10, 0x40, 0], Some(Call::Indirect)),
            (&[0xff, 0x25, 0x18, 1, 0, 0], None),
            (&[0x48, 0x89, 0xe5], None),
            (&[0xff, 0x50], None),
        ] {
            let mut bytes = [0x90; LONGEST];
            bytes[LONGEST - code.len()..].copy_from_slice(code);
            assert_eq!(before(&bytes, 0x1000), expected, "{code:x?}");
        }
    }

    #[test]
    fn jumps_out_of_a_function_are_found() {
        let code = [0x90, 0x0f, 0x85, 0xf9, 0x0f, 0, 0, 0xe9, 0xf4, 0xff, 0xff, 0xff];
        assert!(jumps_into(&code, 0x1000, &(0x2000..0x2001)));
        assert!(jumps_into(&code, 0x1000, &(0x1000..0x1001)));
        assert!(!jumps_into(&code, 0x1000, &(0x2001..0x3000)));
        assert!(!jumps_into(&code[..10], 0x1000, &(0x1000..0x1001)));
    }
}
