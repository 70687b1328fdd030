//! What options take, in the words of the command line.

use ciphertax_model::{CertificateKind, Precision, Profiling, Study};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;

/// The limits are the study's, said here in the words of the command line.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let with_unit = || text.parse().ok().map(|time: SignedDuration| time.as_secs_f64());
    text.parse()
        .ok()
        .or_else(with_unit)
        .filter(|seconds| Study::TIME_S.contains(seconds))
        .ok_or_else(|| "give a time between 1 second and 24 hours: 90, 90s, 2m, 1h30m".to_owned())
}

/// The limits are the study's, said here in the words of the command line.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|fraction| Precision::HALF_WIDTH.contains(fraction))
        .ok_or_else(|| {
            let (least, most) = Precision::HALF_WIDTH.into_inner();
            format!("give a fraction between {least} and {most}: 0.01 is one percent")
        })
}

pub(super) fn certificate_kind() -> impl TypedValueParser<Value = CertificateKind> {
    PossibleValuesParser::new(CertificateKind::ALL.map(CertificateKind::name))
        .try_map(|name| name.parse::<CertificateKind>())
}

pub(super) fn profiling() -> impl TypedValueParser<Value = Profiling> {
    PossibleValuesParser::new(Profiling::ALL.map(Profiling::name)).try_map(|name| name.parse::<Profiling>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, expected) in [
            ("90", 90.0),
            ("2.5", 2.5),
            ("90s", 90.0),
            ("2m", 120.0),
            ("2 min", 120.0),
            ("1h", 3_600.0),
            ("1h30m", 5_400.0),
            ("24h", 86_400.0),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["0", "0s", "25h", "-2m", "2m ago", "soon", "2x", "inf", "nan", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
