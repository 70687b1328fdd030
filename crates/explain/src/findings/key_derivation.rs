//! Databases that are better kept open, because their key is derived each time.

use ciphertax_model::SqlCipher;
use ciphertax_records::{Finding, MeasuredCell, Phase, PhaseRow, Run, Severity};
use ciphertax_stats::format::{self, rounded};

use super::finding::{finding, share};
use super::slowest_phase::longer;

/// The part of what opening takes longer from which on it is the derivation that is to be saved.
const MOST_OF_IT: f64 = 0.5;

pub(super) fn key_derivation(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let longer = longer(run, cell, arm)?;
    let rows = &run.results.connect_phases;
    let is_it =
        |row: &&PhaseRow| row.phase == Phase::KeyDerivation && row.cell == cell.asked.name && row.arm == arm;
    let derivation = rows.iter().find(is_it)?;
    if derivation.mean_us < MOST_OF_IT * longer.value {
        return None;
    }
    let asked = run.head.study.arms.iter().find(|asked| asked.name == arm)?;
    let sqlcipher = asked.at_rest.sqlcipher?;
    // An arm that has fewer already is not told to take fewer.
    let fewer = match sqlcipher.kdf_iter >= SqlCipher::default().kdf_iter {
        true => "; where the passphrase is random, fewer rounds (kdf_iter) do",
        false => "",
    };
    let cpu = derivation.client_cpu_us.map(rounded::microseconds);
    Some(finding(
        "key-derivation",
        Severity::Advice,
        format!(
            "{}: keep databases open: with {arm} it takes {} longer to open one, {} of it to derive its key{fewer}.",
            cell.asked.name,
            rounded::microseconds_between(longer),
            share(derivation.mean_us, longer.value.max(derivation.mean_us)),
        ),
        format!(
            "key derivation by {} rounds and the first page: {} on average, of which {} CPU",
            format::count(sqlcipher.kdf_iter.into()),
            rounded::microseconds(derivation.mean_us),
            cpu.unwrap_or_else(|| "an unknown part".into())
        ),
    ))
}
