//! What findings are made with.

use ciphertax_records::{EstimateRow, Finding, Severity};
use ciphertax_stats::{Rule, Verdict};

/// One with its evidence; the identifier stays the same from release to release.
pub(crate) fn finding(id: &str, severity: Severity, summary: String, evidence: String) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        summary,
        evidence,
    }
}

/// True if the change is one: it has the verdict, or lacks it only because the figure is not the server's alone.
pub(super) fn is_sure(row: &EstimateRow) -> bool {
    match row.verdict {
        Verdict::Costs | Verdict::Gains => true,
        Verdict::NoCost => false,
        Verdict::CannotTell => row.rule == Rule::ClientBound && (row.low > 0.0 || row.high < 0.0),
    }
}

/// A part of a whole as percent.
pub(super) fn share(part: f64, whole: f64) -> String {
    format!("{:.0} %", part / whole * 100.0)
}
