//! What messages are made of, where it was received.

/// A text that ends with a zero, and what follows it.
pub(super) fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Two bytes as a number, and what follows them.
pub(super) fn int2(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), rest))
}

/// Four bytes as a number, and what follows them.
pub(super) fn int4(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((i32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_read_of_bytes_is_never_more_than_there_is(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some((text, rest)) = text(&bytes) {
                prop_assert_eq!([text, &[0], rest].concat(), &bytes[..]);
            }
            if let Some((number, rest)) = int2(&bytes) {
                prop_assert_eq!([&number.to_be_bytes()[..], rest].concat(), &bytes[..]);
            }
            if let Some((number, rest)) = int4(&bytes) {
                prop_assert_eq!([&number.to_be_bytes()[..], rest].concat(), &bytes[..]);
            }
        }
    }
}
