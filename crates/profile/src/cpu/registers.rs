//! The registers of x86-64, by the numbers that the kernel gives them and by those of DWARF.

use crate::stacks::Registers;

/// Those that come with a sample, as bits by the kernel's numbers: ax bx cx dx si di bp sp ip (0–8) and r8–r15 (16–23).
pub(super) const MASK: u64 = 0x1ff | 0xff << 16;

/// How many these are.
pub(super) const COUNT: usize = MASK.count_ones() as usize;

/// DWARF's number of each, in the order in which they stand in a sample.
const DWARF: [usize; COUNT] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15];

/// The registers of a sample, in DWARF's order.
pub(super) fn from_sample(values: [u64; COUNT]) -> Registers {
    let mut registers = Registers {
        are_complete: true,
        ..Registers::default()
    };
    for (value, number) in values.into_iter().zip(DWARF) {
        registers.values[number] = value;
    }
    registers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_register_has_the_place_that_dwarf_gives_it() {
        // By the kernel's order: ax bx cx dx si di bp sp ip r8 … r15.
        let registers = from_sample(std::array::from_fn(|index| index as u64));
        assert_eq!(
            registers.values,
            [0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8]
        );
        assert!(registers.are_complete);
    }
}
