//! The counts in the text of a histogram, without making room for the buckets that hold nothing.

use std::io::Read;
use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};

use crate::histogram::{HistogramText, OUTER_HEADER, empty};

/// Bytes of the header in the V2 format: cookie, length of what follows, normalising offset, digits, lowest and highest value,
/// ratio (<https://github.com/HdrHistogram/HdrHistogram>, `AbstractHistogram.java`).
const HEADER: usize = 40;
/// Where in both the length is.
const LENGTH: Range<usize> = 4..8;
/// Bytes that a number takes at most.
const LONGEST_NUMBER: usize = 9;

/// The header of all histograms with the bounds of [`empty`], but for the length.
static OURS: LazyLock<Vec<u8>> = LazyLock::new(|| header_by(&mut V2Serializer::new(), HEADER));
/// The header before the deflated bytes, but for the length.
static OURS_OUTER: LazyLock<Vec<u8>> =
    LazyLock::new(|| header_by(&mut V2DeflateSerializer::new(), OUTER_HEADER));

/// The lowest value of every bucket in nanoseconds, ascending.
pub(super) static LOWEST_VALUES: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let buckets = empty();
    let all = buckets.iter_all();
    all.map(|step| buckets.lowest_equivalent(step.value_iterated_to()))
        .collect()
});

/// The lowest value of every bucket that has a count, ascending, and the count; `None` if the text is no histogram or one with
/// other bounds than [`empty`], of which the library can tell.
pub(super) fn recorded(text: &HistogramText) -> Option<Vec<(u64, u64)>> {
    let bytes = STANDARD.decode(&text.0).ok()?;
    let most = HEADER + LONGEST_NUMBER * LOWEST_VALUES.len();
    let mut plain = Vec::with_capacity(4 << 10);
    ZlibDecoder::new(after(&OURS_OUTER, &bytes)?)
        .take(most as u64)
        .read_to_end(&mut plain)
        .ok()?;
    let mut numbers = after(&OURS, &plain)?;
    let mut recorded = Vec::with_capacity(numbers.len());
    let mut bucket = 0_usize;
    while !numbers.is_empty() {
        // So many buckets without any, or the count of one.
        match number(&mut numbers)? {
            without @ ..0 => bucket = bucket.checked_add(usize::try_from(without.unsigned_abs()).ok()?)?,
            count => {
                if count > 0 {
                    recorded.push((*LOWEST_VALUES.get(bucket)?, count.unsigned_abs()));
                }
                bucket = bucket.checked_add(1)?;
            }
        }
    }
    Some(recorded)
}

/// What comes after a header, if it is this one and the length in it is right.
fn after<'a>(expected: &[u8], bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (header, rest) = bytes.split_at_checked(expected.len())?;
    let length = u32::from_be_bytes(header[LENGTH].try_into().ok()?);
    let is_expected =
        header[..LENGTH.start] == expected[..LENGTH.start] && header[LENGTH.end..] == expected[LENGTH.end..];
    (is_expected && length as usize == rest.len()).then_some(rest)
}

/// What a serializer writes before anything else of an empty histogram.
fn header_by(serializer: &mut impl Serializer, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = serializer.serialize(&empty(), &mut bytes);
    debug_assert!(written.is_ok(), "writing to memory does not fail");
    bytes.truncate(length);
    bytes
}

/// The number that bytes begin with, which are then those after it: seven bits in each byte, the lowest first, with the highest
/// bit set in all but the last, and eight in the ninth; the lowest bit of the number is its sign ("ZigZag LEB128-64b9B").
fn number(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for at in 0..LONGEST_NUMBER {
        let byte = *bytes.get(at)?;
        let is_last = byte < 0x80 || at + 1 == LONGEST_NUMBER;
        let bits = if at + 1 == LONGEST_NUMBER {
            byte
        } else {
            byte & 0x7f
        };
        value |= u64::from(bits) << (7 * at);
        if is_last {
            *bytes = &bytes[at + 1..];
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}
