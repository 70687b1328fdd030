//! What this machine can measure: one function for each thing that is looked at, which says what it means and what to do.

mod cgroup;
mod cpus;
mod crypto;
mod latency;
mod limits;
mod load;
mod noise;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ciphertax_lab::link::check_rights;
use ciphertax_observe::{SystemCpu, host};
use ciphertax_reactor::stop;
use ciphertax_records::{Check, CheckStatus, DOCTOR_SCHEMA, DoctorRecord, Tool};

use crate::error::{Result, RunError};

/// Something to look at: what is said of it while it is, and how.
type Look = (&'static str, fn() -> Vec<Check>);

/// In this order. The load of others is looked at before there is any of ours.
const LOOKS: [Look; 12] = [
    ("what others use", load::look),
    ("the CPUs", || vec![cpus::cpus(&host())]),
    ("how evenly the CPUs work", cpus::look_at_evenness),
    ("timers and wake-ups", latency::look),
    ("the clocks", cpus::look_at_clocks),
    ("limits", limits::look_at_limits),
    ("control groups", cgroup::look),
    ("the CPUs' instructions", cpus::look_at_instructions),
    ("the TLS libraries", crypto::look),
    ("the profiler", limits::look_at_profiler),
    ("links", || vec![limits::links(&check_rights())]),
    ("the noise, by a target that does nothing", noise::look),
];

/// Looks at everything, in well under half a minute. `progress` hears what is looked at, which of how many.
///
/// # Errors
/// When somebody wants to stop.
pub fn doctor(
    tool: Tool,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&'static str, usize, usize),
) -> Result<DoctorRecord> {
    let (began, started) = (Instant::now(), jiff::Timestamp::now().to_string());
    let before = SystemCpu::now();
    let checks = stop::with_flag(stop, || {
        let mut checks = Vec::new();
        for (index, (what, look)) in LOOKS.into_iter().enumerate() {
            progress(what, index, LOOKS.len());
            checks.extend(look());
            if stop::is_requested() {
                return Err(RunError::Stopped);
            }
        }
        Ok(checks)
    });
    let mut checks = checks?;
    // Whoever works much is stolen from most, so the whole time is looked at.
    if let (Ok(before), Ok(after)) = (before, SystemCpu::now()) {
        checks.insert(1, load::steal(after.since(&before)));
    }
    Ok(DoctorRecord {
        schema: DOCTOR_SCHEMA.to_owned(),
        tool,
        started,
        elapsed_s: began.elapsed().as_secs_f64(),
        host: host(),
        can_measure: checks.iter().all(|check| check.status != CheckStatus::Bad),
        summary: summary(&checks),
        checks,
    })
}

/// What follows from all of it.
fn summary(checks: &[Check]) -> String {
    let names = |status: CheckStatus| {
        let of = checks.iter().filter(|check| check.status == status);
        of.map(|check| check.name.as_str()).collect::<Vec<_>>()
    };
    let (bad, limited) = (names(CheckStatus::Bad), names(CheckStatus::Limited));
    let precision = checks
        .iter()
        .find_map(|check| check.figures.get(noise::IN_TWO_MINUTES));
    let precision = precision.map_or_else(String::new, |half_width| {
        format!(
            ": two minutes of four arms in one cell tell changes of the CPU time per operation to within ± {}",
            ciphertax_base::format::rounded::share(*half_width)
        )
    });
    match (&bad[..], &limited[..]) {
        ([], []) => format!("This machine can measure{precision}."),
        ([], limited) => format!(
            "This machine can measure{precision}. What limits it: {}.",
            limited.join(", ")
        ),
        (bad, _) => format!("Fix before measuring: {}.", bad.join(", ")),
    }
}

/// The part of sorted values that is no larger; 0 of none.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((part * last as f64).round() as usize)
        .copied()
        .unwrap_or(0.0)
}

/// The trimmed text of a file of the kernel's; `None` where there is none.
fn line(path: &str) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;

    use super::*;

    #[test]
    fn what_is_bad_is_said_before_what_is_limited_and_both_by_name() {
        let check = |name: &str| Check::good("id", name, "", "");
        let limited = check("timers").but(CheckStatus::Limited, "wait");
        let bad = check("steal").but(CheckStatus::Bad, "move");
        let precise = check("noise").with(noise::IN_TWO_MINUTES, 0.004);
        assert_eq!(summary(&[check("CPUs")]), "This machine can measure.");
        let found = summary(&[limited.clone(), precise]);
        says(&found, "to within ± 0.4 %. What limits it: timers.");
        let found = summary(&[limited, bad]);
        assert_eq!(found, "Fix before measuring: steal.");
    }
}
