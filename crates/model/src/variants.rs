//! All values of a type that has few.

use strum::VariantArray;

/// Every variant, in the order in which they are written; `N` is how many there are.
pub(crate) const fn all<T: VariantArray + Copy, const N: usize>() -> [T; N] {
    match T::VARIANTS.first_chunk() {
        Some(all) if T::VARIANTS.len() == N => *all,
        _ => panic!("another number of variants"),
    }
}
