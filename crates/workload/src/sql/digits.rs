//! Digits written into buffers, without formatting.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::session::Query;

/// Length of sysbench's column `c`: ten groups of eleven digits, parted by dashes.
pub(crate) const C_LENGTH: usize = length(10);
/// Length of sysbench's column `pad`: five such groups.
pub(crate) const PAD_LENGTH: usize = length(5);

const GROUP: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

const fn length(groups: usize) -> usize {
    groups * (GROUP + 1) - 1
}

/// Fills text with groups of random digits parted by dashes.
pub(crate) fn fill_groups(text: &mut [u8], random: &mut Pcg64Mcg) {
    for group in text.chunks_mut(GROUP + 1) {
        if let Some(dash) = group.get_mut(GROUP) {
            *dash = b'-';
        }
        let mut value = random.random_range(0..GROUP_VALUES);
        for digit in group.iter_mut().take(GROUP).rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
    }
}

/// Appends a number in decimal.
pub(crate) fn push_number(query: &mut Query, number: u32) {
    const MOST_DIGITS: usize = 10;
    let mut digits = [0; MOST_DIGITS];
    let mut first = MOST_DIGITS;
    let mut rest = number;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    query.push(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn groups_are_eleven_random_digits_each() {
        assert_eq!((C_LENGTH, PAD_LENGTH), (119, 59));
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut texts = [[0; PAD_LENGTH]; 2];
        for text in &mut texts {
            fill_groups(text, &mut random);
            let text = std::str::from_utf8(text).unwrap();
            assert!(text.split('-').all(|group| group.len() == 11), "{text}");
            assert!(
                text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
                "{text}"
            );
        }
        assert_ne!(texts[0], texts[1]);
    }
}
