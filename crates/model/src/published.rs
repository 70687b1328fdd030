//! Figures published elsewhere, shown beside the measured ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// A figure published elsewhere for a comparison that this study makes too. It says either `change`, or `baseline` and
/// `variant`, or `within`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// On what it was measured: server, library, machine.
    pub source: String,
    /// The cell that measures the same, by its name.
    pub cell: String,
    /// The variant, by its arm's name; it is compared with the study's baseline.
    pub arm: String,
    /// What was compared.
    pub metric: Metric,
    /// The kind of operation it is of, such as `read`; `None` for all kinds together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// variant/baseline − 1, as a fraction: -0.25 is a quarter less than the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// The published value of the baseline, in whatever unit; only the ratio counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// The published value of the variant, in the unit of `baseline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<f64>,
    /// A bound instead of a figure, as a fraction: 0.05 is "no more than five percent, either way".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// What a reader should know who compares it with the measured figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PublishedFigure {
    /// variant/baseline − 1, as a fraction.
    Change(f64),
    /// The change was no larger than this, either way, as a fraction.
    Within(f64),
}

impl Published {
    /// What was published; `None` only where a row says nothing or too much, which no validated study does.
    pub fn figure(&self) -> Option<PublishedFigure> {
        match (self.change, self.baseline, self.variant, self.within) {
            (Some(change), None, None, None) => Some(PublishedFigure::Change(change)),
            (None, Some(baseline), Some(variant), None) => {
                Some(PublishedFigure::Change(variant / baseline - 1.0))
            }
            (None, None, None, Some(bound)) => Some(PublishedFigure::Within(bound)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Published {
        Published {
            source: "elsewhere".into(),
            cell: "connect".into(),
            arm: "tls".into(),
            metric: Metric::Throughput,
            kind: None,
            change: None,
            baseline: None,
            variant: None,
            within: None,
            note: None,
        }
    }

    #[test]
    fn a_pair_of_values_is_a_change() {
        let published = Published {
            baseline: Some(200.0),
            variant: Some(150.0),
            ..row()
        };
        assert_eq!(published.figure(), Some(PublishedFigure::Change(-0.25)));
    }

    #[test]
    fn a_row_that_says_nothing_or_too_much_has_no_figure() {
        assert_eq!(row().figure(), None);
        let published = Published {
            change: Some(-0.1),
            within: Some(0.1),
            ..row()
        };
        assert_eq!(published.figure(), None);
    }
}
