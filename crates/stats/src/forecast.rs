//! How many blocks something will take.

/// Nobody measures longer than this: more than two days of blocks of four half-second slices.
const MOST_BLOCKS: u32 = 100_000;

/// The first number of blocks, from `least` on and within 2 %, at which `is_enough` holds.
pub(crate) fn first_block_count(least: u32, is_enough: impl Fn(u32) -> bool) -> Option<u32> {
    std::iter::successors(Some(least), |blocks| Some(blocks + (blocks / 50).max(1)))
        .take_while(|blocks| *blocks <= MOST_BLOCKS)
        .find(|blocks| is_enough(*blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_within_two_percent() {
        assert_eq!(first_block_count(10, |blocks| blocks >= 10), Some(10));
        assert_eq!(first_block_count(10, |blocks| blocks >= 37), Some(37));
        let found = first_block_count(10, |blocks| blocks >= 5_000).unwrap();
        assert!((5_000..5_100).contains(&found));
        assert_eq!(first_block_count(10, |_| false), None);
    }
}
