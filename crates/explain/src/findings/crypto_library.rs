//! Whose cryptographic library makes encryption at rest dear.

use ciphertax_records::{Finding, MeasuredCell, Run, ServerRecord, Severity};
use ciphertax_stats::format::rounded;

use super::at_rest::encrypts_at_rest_alone;
use super::finding::{finding, is_sure};
use super::pays_most::{Payer, ahead_of, floor_us, groups_of_servers, payers, server_cpu};
use crate::cell::CellSamples;
use crate::error::ExplainError;

/// A library that computes AES by tables, and knows nothing of the instructions that a CPU has for it.
const WITHOUT_AES_INSTRUCTIONS: &str = "yaSSL";

/// For every operation that servers with several libraries are asked.
pub(super) fn crypto_library(
    run: &Run,
    cells: &[CellSamples<'_>],
    arm: &str,
) -> Result<Vec<Finding>, ExplainError> {
    let mut findings = Vec::new();
    if !encrypts_at_rest_alone(run, arm) {
        return Ok(findings);
    }
    for group in groups_of_servers(run, cells) {
        findings.extend(of_group(run, &group, arm)?);
    }
    Ok(findings)
}

/// Servers encrypt what lies on the disk by the library that they have for TLS.
fn of_group(
    run: &Run,
    group: &[(MeasuredCell<'_>, &CellSamples<'_>)],
    arm: &str,
) -> Result<Option<Finding>, ExplainError> {
    let metric = server_cpu(run, group);
    let payers = payers(run, group, arm, metric, |_| true);
    let Some(most) = payers
        .first()
        .filter(|most| is_sure(most.row) && most.row.low > 0.0)
    else {
        return Ok(None);
    };
    let mut others = Vec::new();
    for other in payers
        .iter()
        .filter(|other| library(other.server) != library(most.server))
    {
        if let Some(ahead) = ahead_of(most, other, arm, metric)? {
            let is_sure = ahead.interval.low > 0.0 && ahead.interval.value > floor_us(most) + floor_us(other);
            others.extend(is_sure.then_some((other, ahead.interval)));
        }
    }
    // Those that pay least say most clearly what the library makes of it.
    let Some((least, ahead)) = others.last() else {
        return Ok(None);
    };
    let why = match library(most.server) {
        WITHOUT_AES_INSTRUCTIONS => " yaSSL computes AES without the instructions that the CPU has for it.",
        _ => "",
    };
    Ok(Some(finding(
        "crypto-library",
        Severity::Cause,
        format!(
            "{}, {arm}: the server's library decides: {}, {}.{why}",
            most.cell.asked.workload.name(),
            told(most),
            told(least),
        ),
        format!(
            "{} takes {} more than {}, for the same operation",
            most.name,
            rounded::microseconds_between(*ahead),
            least.name
        ),
    )))
}

fn told(payer: &Payer<'_>) -> String {
    format!(
        "with {} ({}) it takes {} more CPU per operation",
        payer.server.tls_library,
        payer.name,
        rounded::microseconds_between(payer.more_us)
    )
}

/// Its name, without the version.
fn library(server: &ServerRecord) -> &str {
    server.tls_library.split_whitespace().next().unwrap_or_default()
}
