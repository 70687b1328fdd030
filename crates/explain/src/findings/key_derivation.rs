//! What opening an encrypted file takes.

use ciphertax_records::{Finding, MeasuredCell, Phase, Run, Severity};
use ciphertax_stats::format::rounded;

use super::finding::{finding, share};

/// The part of the time to open a file that is worth a word, and the least that it must be, in microseconds.
const WORTH_A_WORD: (f64, f64) = (0.1, 1_000.0);

pub(super) fn key_derivation(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let of_arm = || {
        let rows = run.results.connect_phases.iter();
        rows.filter(|row| row.cell == cell.asked.name && row.arm == arm)
    };
    let derivation = of_arm().find(|row| row.phase == Phase::KeyDerivation)?;
    let all: f64 = of_arm().map(|row| row.mean_us).sum();
    if derivation.mean_us < WORTH_A_WORD.0 * all || derivation.mean_us < WORTH_A_WORD.1 {
        return None;
    }
    let cpu = derivation.client_cpu_us;
    let cpu = cpu.map(|us| format!("; {} of the client's CPU", rounded::microseconds(us)));
    Some(finding(
        "key-derivation",
        Severity::Advice,
        format!(
            "{}: over {arm} the key is derived anew at every open, which takes {}: keep databases open.",
            cell.asked.name,
            rounded::microseconds(derivation.mean_us)
        ),
        format!(
            "{} of the {} from opening to the last answer{}",
            share(derivation.mean_us, all),
            rounded::microseconds(all),
            cpu.unwrap_or_default()
        ),
    ))
}
