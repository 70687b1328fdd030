//! Latency histograms: their bounds, and their text in the format other HDR tools read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds: the finest latency told apart.
const LOWEST: u64 = 100;
/// Nanoseconds: the longest latency kept; longer ones count as this.
const HIGHEST: u64 = 60_000_000_000;
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
/// When the text is not one.
pub fn decode(text: &HistogramText) -> Result<Histogram<u64>, HistogramError> {
    let bytes = STANDARD.decode(&text.0)?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| HistogramError::Format(format!("{error:?}")))
}

#[cfg(test)]
mod tests {
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
    fn text_that_is_no_histogram_is_an_error() {
        for text in ["", "!", "AAAA", "HISTFAAAAAB4nA=="] {
            assert!(decode(&HistogramText(text.into())).is_err(), "{text}");
        }
    }
}
