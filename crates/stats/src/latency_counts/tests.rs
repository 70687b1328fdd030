//! What is held of counts: they are those of the library.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use proptest::prelude::*;

use super::*;
use crate::histogram::encode;

fn text_of(histogram: &Histogram<u64>) -> HistogramText {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .unwrap();
    HistogramText(STANDARD.encode(bytes))
}

proptest! {
    /// Latencies of every size, alone and many alike, and counts that take up to nine bytes.
    #[test]
    fn a_text_has_the_counts_that_the_library_reads(
        values in prop::collection::vec((0..38_u32, 0..1_u64 << 24, 0..55_u32), 0..200)
    ) {
        let mut histogram = empty();
        for (shift, value, count) in values {
            histogram.saturating_record_n((value << shift) >> 24, (1 << count) - 1);
        }
        let text = encode(&histogram);
        prop_assert!(text::recorded(&text).is_some());
        let (counts, known) = (LatencyCounts::try_from(&text).unwrap(), decode(&text).unwrap());
        prop_assert_eq!(&counts, &LatencyCounts::from(&known));
        let mut again = empty();
        counts.add_to(&mut again);
        prop_assert_eq!(&LatencyCounts::from(&again), &counts);
        for quantile in [0.5, 0.95, 0.99, 1.0] {
            prop_assert_eq!(again.value_at_quantile(quantile), known.value_at_quantile(quantile));
        }
    }

    /// Whatever a file holds in its place, the library's verdict stands.
    #[test]
    fn damage_is_what_the_library_takes_it_for(at in 0..120_usize, byte: u8, cut in 0..120_usize) {
        let mut histogram = empty();
        (1..400).for_each(|i| histogram.record(i * i * 977).unwrap());
        let mut bytes = STANDARD.decode(&encode(&histogram).0).unwrap();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(length - cut.saturating_sub(60));
        let text = HistogramText(STANDARD.encode(bytes));
        match decode(&text) {
            Ok(known) => prop_assert_eq!(LatencyCounts::try_from(&text).unwrap(), LatencyCounts::from(&known)),
            Err(_) => prop_assert!(LatencyCounts::try_from(&text).is_err()),
        }
    }
}

#[test]
fn a_histogram_with_other_bounds_is_read_too_and_counts_in_the_buckets_of_ours() {
    let mut other = Histogram::<u64>::new_with_bounds(1, 1 << 40, 2).unwrap();
    for value in [1, 50, 100_000, 100_100, 1 << 39] {
        other.record(value).unwrap();
    }
    let text = text_of(&other);
    assert!(text::recorded(&text).is_none());
    let counts = LatencyCounts::try_from(&text).unwrap();
    assert_eq!(counts.total(), 5);
    let lowest: Vec<u64> = counts.buckets().iter().map(|bucket| bucket.lowest).collect();
    // A hundred nanoseconds more are the same in two digits, and nine minutes are what the last bucket holds.
    assert_eq!(lowest.len(), 3, "{lowest:?}");
    assert_eq!(lowest[0], 0);
    assert!((99_000..=101_000).contains(&lowest[1]));
    assert!((68_600_000_000..=68_720_000_000).contains(&lowest[2]));
}

#[test]
fn what_inflates_without_end_is_no_histogram() {
    let mut deflated = flate2::write::ZlibEncoder::new(vec![0; 8], flate2::Compression::best());
    std::io::Write::write_all(&mut deflated, &vec![0; 64 << 20]).unwrap();
    let text = HistogramText(STANDARD.encode(deflated.finish().unwrap()));
    assert!(LatencyCounts::try_from(&text).is_err());
}

#[test]
fn counts_together_are_those_of_both() {
    let of = |values: &[u64]| {
        let mut histogram = empty();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        LatencyCounts::from(&histogram)
    };
    let (one, other) = (of(&[200, 5_000, 5_000]), of(&[200, 300, 70_000]));
    let both = one.clone().with(other);
    assert_eq!(both, of(&[200, 200, 300, 5_000, 5_000, 70_000]));
    assert_eq!(one.clone().with(LatencyCounts::default()), one);
    assert_eq!(LatencyCounts::default().with(one.clone()), one);
}
