//! Latency histograms: their bounds, and their text in the format other HDR tools read.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds: the finest latency told apart.
const LOWEST: u64 = 100;
/// Nanoseconds: the longest latency kept; longer ones count as this.
const HIGHEST: u64 = 60_000_000_000;
/// Bytes before what was deflated: a cookie, and the length of the deflated bytes.
pub(crate) const OUTER_HEADER: usize = 8;
/// Bytes of counts: ten times what a histogram with these bounds takes if each of its counts takes nine.
const MOST_BYTES: u64 = 2 << 20;
/// Significant decimal digits.
const DIGITS: u8 = 3;

/// An HDR histogram in the compressed interchange format that other HDR tools read
/// (V2, deflate, base64: <https://github.com/HdrHistogram>).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HistogramText(pub String);

/// Why a histogram cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("a histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HDR histogram.
    #[error("a histogram is not in the HDR V2 format: {0}")]
    Format(String),
}

/// An empty latency histogram: nanoseconds from 100 ns to one minute, three significant digits.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS)
        .expect("the bounds are constants that the library allows")
}

/// A histogram as text.
pub fn encode(histogram: &Histogram<u64>) -> HistogramText {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory does not fail, and counts of a slice fit the format");
    HistogramText(STANDARD.encode(bytes))
}

/// A histogram from text.
///
/// # Errors
/// When the text is not one, or claims to be larger than any is.
pub fn decode(text: &HistogramText) -> Result<Histogram<u64>, HistogramError> {
    let bytes = STANDARD.decode(&text.0)?;
    // The library makes room for what is claimed before it reads that.
    if claimed_bytes(&bytes).is_some_and(|bytes| bytes > MOST_BYTES) {
        return Err(HistogramError::Format(format!(
            "it claims to have more than {MOST_BYTES} bytes"
        )));
    }
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| HistogramError::Format(format!("{error:?}")))
}

/// How many bytes of counts a deflated histogram claims to have: the second word of what was deflated; `None` where there is none.
fn claimed_bytes(bytes: &[u8]) -> Option<u64> {
    let mut words = [0; 8];
    let deflated = bytes.get(OUTER_HEADER..)?;
    ZlibDecoder::new(deflated).read_exact(&mut words).ok()?;
    let [_, _, _, _, claimed @ ..] = words;
    Some(u32::from_be_bytes(claimed).into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::V2Serializer;

    use super::*;

    #[test]
    fn text_holds_the_whole_histogram() {
        let mut histogram = empty();
        for latency in [100, 1_000, 12_345, 59_000_000_000] {
            histogram.saturating_record(latency);
        }
        assert_eq!(decode(&encode(&histogram)).unwrap(), histogram);
    }

    #[test]
    fn a_histogram_that_claims_four_gigabytes_is_refused_before_there_is_room_for_them() {
        let mut plain = Vec::new();
        V2Serializer::new().serialize(&empty(), &mut plain).unwrap();
        plain[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(&plain).unwrap();
        let deflated = deflated.finish().unwrap();
        let mut bytes = STANDARD.decode(&encode(&empty()).0).unwrap();
        bytes.truncate(4);
        bytes.extend((deflated.len() as u32).to_be_bytes());
        bytes.extend(deflated);
        let refused = decode(&HistogramText(STANDARD.encode(bytes)))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("claims to have more than"), "{refused}");
    }

    #[test]
    fn text_that_is_no_histogram_is_an_error() {
        for text in ["", "!", "AAAA", "HISTFAAAAAB4nA=="] {
            assert!(decode(&HistogramText(text.into())).is_err(), "{text}");
        }
    }
}
