//! Why encryption at rest may cost nothing.

use ciphertax_records::{Finding, MeasuredCell, Run, Severity};
use ciphertax_stats::Verdict;
use ciphertax_stats::format::{bytes, fine, fine_share, rounded};

use super::at_rest::encrypts_at_rest_alone;
use super::finding::finding;

/// Pages moved per operation that are not worth a word.
const FEW: f64 = 0.001;

/// Pages are encrypted where they leave the server's memory and decrypted where they enter it.
pub(super) fn decrypted_in_memory(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let cost = run
        .results
        .estimate(&cell.asked.name, arm, run.results.server_cpu(&cell.asked.name))?;
    let row = run.results.storage(&cell.asked.name, arm)?;
    let (read, hit_rate) = row.pages_read.zip(row.hit_rate)?;
    let is_still = read <= FEW && row.pages_written.is_none_or(|written| written <= FEW);
    if cost.verdict != Verdict::NoCost || !is_still || !encrypts_at_rest_alone(run, arm) {
        return None;
    }
    let data = row.data_bytes.zip(row.data_to_memory).map(|(data, ratio)| {
        format!(
            "; data and indexes of {}, {} × of memory",
            bytes(data as f64),
            fine(ratio)
        )
    });
    Some(finding(
        "decrypted-in-memory",
        Severity::Cause,
        format!(
            "{}: {arm} has no cost, because pages stay decrypted in memory: hit rate {}, {} pages read per operation. With more data \
             than memory it may (less storage.memory_mb, or more rows).",
            cell.asked.name,
            fine_share(hit_rate),
            fine(read)
        ),
        format!(
            "server CPU {}, so none above {}{}",
            rounded::change(cost.interval()),
            rounded::share(cost.margin),
            data.unwrap_or_default()
        ),
    ))
}
