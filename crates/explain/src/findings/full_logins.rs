//! Logins that took the slow path.

use std::collections::BTreeMap;

use ciphertax_model::{PasswordCache, Study};
use ciphertax_records::{AuthenticationFacts, Finding, LoginPath, Severity};

use super::finding::{finding, share};
use crate::cell::CellSamples;

/// Logins that took the slow path of a plugin that has a fast one, where that is not what the arm is for.
pub(super) fn full_logins(study: &Study, cells: &[CellSamples<'_>]) -> Option<Finding> {
    let is_cold = |name: &String| {
        let arm = study.arms.iter().find(|arm| arm.name == *name);
        arm.is_some_and(|arm| arm.authentication.password_cache == PasswordCache::Cold)
    };
    let mut logins: BTreeMap<&AuthenticationFacts, u64> = BTreeMap::new();
    for cell in cells {
        for (arm, _) in cell.arms.iter().enumerate().filter(|(_, name)| !is_cold(name)) {
            for (login, count) in &cell.totals(arm).logins {
                *logins.entry(login).or_default() += count;
            }
        }
    }
    let total: u64 = logins.values().sum();
    let full: u64 = logins
        .iter()
        .filter(|(login, _)| login.path == LoginPath::Full)
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
                .map(|(login, count)| format!("{login}: {count}"))
                .collect::<Vec<_>>()
                .join(", "),
        )
    })
}
