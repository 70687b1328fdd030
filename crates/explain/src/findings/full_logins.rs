//! Logins that took the slow path.

use std::collections::BTreeMap;

use ciphertax_model::{PasswordCache, Study};
use ciphertax_records::{Finding, Sample, Severity};

use super::{finding, share};
use crate::cell::CellSamples;

/// Logins that took the slow path of a plugin that has a fast one, where that is not what the arm is for.
pub(super) fn full_logins(study: &Study, cells: &[CellSamples<'_>]) -> Option<Finding> {
    let is_cold = |sample: &&Sample| {
        let arm = study.arms.iter().find(|arm| arm.name == sample.arm);
        arm.is_some_and(|arm| arm.authentication.password_cache == PasswordCache::Cold)
    };
    let mut logins: BTreeMap<&str, u64> = BTreeMap::new();
    let samples = cells.iter().flat_map(|cell| cell.samples());
    for (path, count) in samples
        .filter(|sample| !is_cold(sample))
        .flat_map(|sample| &sample.logins)
    {
        *logins.entry(path).or_default() += count;
    }
    let total: u64 = logins.values().sum();
    let full: u64 = logins
        .iter()
        .filter(|(path, _)| path.ends_with("/full"))
        .map(|(_, count)| count)
        .sum();
    (full > 0).then(|| {
        finding(
            "full-logins",
            Severity::Suspicion,
            format!(
                "{} of the logins took the full authentication path.",
                share(full as f64, total as f64)
            ),
            logins
                .iter()
                .map(|(path, count)| format!("{path}: {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        )
    })
}
