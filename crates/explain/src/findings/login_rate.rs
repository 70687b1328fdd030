//! From how many logins per second on another authentication takes a tenth of a core.

use ciphertax_model::{Arm, Metric};
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::format::{count, rounded};
use ciphertax_stats::{Interval, Verdict};

use super::finding::finding;

/// The part of a core that is worth a word.
const SHARE: f64 = 0.1;

/// Where it costs anything at all.
pub(super) fn login_rate(run: &Run, arm: &str) -> Option<Finding> {
    let baseline = run.head.study.baseline();
    let of_arm = run.head.study.arms.iter().find(|other| other.name == arm)?;
    // A client's certificate is part of a login by it; everything else of TLS is not the login's.
    let without_login = |arm: &Arm| {
        let mut tls = arm.tls.clone();
        tls.client_certificate = None;
        (arm.transport, arm.tunnel, arm.pooler, tls)
    };
    if of_arm.authentication == baseline.authentication || without_login(of_arm) != without_login(baseline) {
        return None;
    }
    let more = match baseline.authentication.method {
        Some(method) if !method.proves_identity() => String::new(),
        _ => format!(" more than one of {}", baseline.name),
    };
    let makes_connections = |cell: &MeasuredCell<'_>| cell.asked.workload.makes_connections();
    let cell = run.cells().find(makes_connections)?;
    let sides: Vec<(&str, &EstimateRow, Interval)> = [
        ("server", Metric::ServerCpuPerOp),
        ("client", Metric::ClientCpuPerOp),
    ]
    .into_iter()
    .filter_map(|(side, metric)| {
        let row = run.results.estimate(&cell.asked.name, arm, metric)?;
        Some((side, row, row.difference))
    })
    .filter(|(_, row, extra_us)| row.verdict == Verdict::Costs && extra_us.low > 0.0)
    .collect();
    let rates: Vec<String> = sides
        .iter()
        .map(|(side, _, extra_us)| {
            let [rate, low, high] = [extra_us.value, extra_us.high, extra_us.low].map(|us| SHARE * 1e6 / us);
            let [rate, low, high] = [rate, low, high].map(count);
            format!("{rate} [{low}, {high}] logins per second on the {side}")
        })
        .collect();
    let evidence: Vec<String> = sides
        .iter()
        .map(|(side, row, extra_us)| {
            format!(
                "{side} CPU of a connect {} more, {}",
                rounded::microseconds_between(*extra_us),
                rounded::change(row.interval())
            )
        })
        .collect();
    (!rates.is_empty()).then(|| {
        finding(
            "login-rate",
            Severity::Advice,
            format!(
                "{arm}: a login takes a tenth of a core{more} at {}; connections that stay open pay it once.",
                rates.join(" and ")
            ),
            evidence.join("; "),
        )
    })
}
