//! Whether the kernel lets this user sample which code uses CPU time.

use std::io;
use std::time::Duration;

use ciphertax_observe::has_hardware_counters;
use ciphertax_profile::{CpuProfiler, ProfileError};
use ciphertax_records::why::Complete;
use ciphertax_records::{Check, CheckStatus};

use crate::look::CPU_HZ;

const SLICE: Duration = Duration::from_millis(100);

const SYSLOG: &str = "sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\"";

const PARANOID: &str = "sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\", or for all users, of processes of their \
                        own, sudo sysctl kernel.perf_event_paranoid=1";

pub(super) fn look() -> Vec<Check> {
    vec![
        profiler(CpuProfiler::open(CPU_HZ, SLICE).map(|profiler| profiler.comprises())),
        hardware_counters(has_hardware_counters()),
    ]
}

/// They are a further measure of what CPU time tells already, so their want is nothing to mend.
fn hardware_counters(found: io::Result<bool>) -> Check {
    let check = |found: &str| {
        let means = "instructions and cycles per operation are compared where the CPU counts them; CPU time needs no counters";
        Check::good("hardware-counters", "counters", found, means)
    };
    match found {
        Ok(true) => check("there: instructions and cycles are counted, as by perf stat"),
        Ok(false) => check("none: this CPU shows programs no counters, as is usual in virtual machines"),
        Err(error) => check(&format!("refused: {error}")).but(CheckStatus::Limited, PARANOID),
    }
}

fn profiler(opened: Result<Complete, ProfileError>) -> Check {
    let check = |found: &str| {
        Check::good(
            "profiler",
            "profiler",
            found,
            "why a feature costs is told by samples of what runs; what it costs is measured without",
        )
    };
    match opened {
        Ok(Complete::Whole) => check("samples of all code, with the kernel's functions by name"),
        Ok(Complete::KernelUnnamed) => check("samples of all code; the kernel's functions have no names")
            .but(CheckStatus::Limited, SYSLOG),
        Ok(Complete::UserOnly) => {
            check("samples of programs, without the kernel's part").but(CheckStatus::Limited, SYSLOG)
        }
        Err(error) => check(&format!("none: {error}")).but(CheckStatus::Limited, SYSLOG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_sees_less_is_told_how_to_see_all() {
        assert_eq!(profiler(Ok(Complete::Whole)).status, CheckStatus::Good);
        for less in [Complete::KernelUnnamed, Complete::UserOnly] {
            let check = profiler(Ok(less));
            assert_eq!(
                (check.status, check.remedy.as_deref()),
                (CheckStatus::Limited, Some(SYSLOG))
            );
        }
        let found = |check: Check| check.found;
        assert!(found(hardware_counters(Ok(true))).starts_with("there"));
        assert!(found(hardware_counters(Ok(false))).starts_with("none"));
        let refused = hardware_counters(Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(refused.remedy.as_deref(), Some(PARANOID));
        assert!(found(refused).starts_with("refused"));
        let ended = profiler(Err(ProfileError::ProcessEnded { pid: 1 }));
        assert!(ended.found.starts_with("none: "), "{}", ended.found);
    }
}
