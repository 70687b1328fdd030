//! Whether the kernel lets this user sample which code uses CPU time.

use std::io;
use std::time::Duration;

use ciphertax_profile::{CpuProfiler, ProfileError, has_hardware_counters};
use ciphertax_records::why::Complete;
use ciphertax_records::{Check, CheckStatus};

use crate::look::CPU_HZ;

const SLICE: Duration = Duration::from_millis(100);

const SYSLOG: &str = "sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\"";

pub(super) fn look() -> Vec<Check> {
    vec![
        profiler(CpuProfiler::open(CPU_HZ, SLICE).map(|profiler| profiler.comprises())),
        hardware_counters(has_hardware_counters()),
    ]
}

/// Nothing is measured by them, so their want is nothing to mend.
fn hardware_counters(found: io::Result<bool>) -> Check {
    let found = match found {
        Ok(true) => "there: instructions and cycles can be counted, as by perf stat".to_owned(),
        Ok(false) => "none: this CPU shows programs no counters, as is usual in virtual machines".to_owned(),
        Err(error) => format!("unknown: {error}"),
    };
    let means = "what work costs is measured in CPU time, which needs none of them";
    Check::good("hardware-counters", "counters", found, means)
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
        assert!(found(hardware_counters(Err(io::ErrorKind::PermissionDenied.into()))).starts_with("unknown"));
        let ended = profiler(Err(ProfileError::ProcessEnded { pid: 1 }));
        assert!(ended.found.starts_with("none: "), "{}", ended.found);
    }
}
