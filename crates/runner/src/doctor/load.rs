//! What others use of this machine: other programs, and other machines on the same hardware.

use std::time::Duration;

use ciphertax_base::format::{plain, rounded};
use ciphertax_observe::{SystemCpu, host};
use ciphertax_reactor::stop;
use ciphertax_records::{Check, CheckStatus};

/// How long is waited while ciphertax does nothing.
const WAIT: Duration = Duration::from_millis(1_500);
/// Parts of all CPUs that other programs may use.
const BUSY: f64 = 0.05;
const TOO_BUSY: f64 = 0.50;
/// Parts of the CPU time that may be stolen.
const STOLEN: f64 = 0.01;
const TOO_MUCH_STOLEN: f64 = 0.10;

pub(super) fn look() -> Vec<Check> {
    let before = SystemCpu::now();
    stop::sleep(WAIT);
    match (before, SystemCpu::now()) {
        (Ok(before), Ok(after)) => vec![others(after.since(&before), host().cpus)],
        _ => Vec::new(),
    }
}

fn others(passed: SystemCpu, cpus: u32) -> Check {
    let part = |ns: u64| ns as f64 / passed.total_ns.max(1) as f64;
    let busy = (1.0 - part(passed.idle_ns) - part(passed.steal_ns)).clamp(0.0, 1.0);
    let check = Check::good(
        "other-load",
        "load of others",
        format!("{} of the CPUs, while ciphertax waited", rounded::share(busy)),
        "other programs take CPU time from those that are measured, and make it vary",
    )
    .with("busy_cpus", busy * f64::from(cpus));
    let remedy = format!(
        "stop the other programs, which use {} of {cpus} CPUs (`top` shows them)",
        plain(busy * f64::from(cpus))
    );
    match busy {
        busy if busy > TOO_BUSY => check.but(CheckStatus::Bad, remedy),
        busy if busy > BUSY => check.but(CheckStatus::Limited, remedy),
        _ => check,
    }
}

/// Over all that was done.
pub(super) fn steal(passed: SystemCpu) -> Check {
    let stolen = passed.steal_ns as f64 / (passed.total_ns.saturating_sub(passed.idle_ns)).max(1) as f64;
    let check = Check::good(
        "steal",
        "steal",
        format!("{} of the CPU time that was wanted", rounded::share(stolen)),
        "what the hypervisor gives to other machines; slices with too much of it do not count",
    )
    .with("stolen_share", stolen);
    let remedy = "take a machine with CPUs of its own (dedicated vCPUs), or another time";
    match stolen {
        stolen if stolen > TOO_MUCH_STOLEN => check.but(CheckStatus::Bad, remedy),
        stolen if stolen > STOLEN => check.but(CheckStatus::Limited, remedy),
        _ => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(steal_ns: u64, idle_ns: u64) -> SystemCpu {
        SystemCpu {
            total_ns: 1_000,
            steal_ns,
            idle_ns,
        }
    }

    #[test]
    fn the_more_others_use_the_worse_it_is() {
        for (idle, status) in [
            (990, CheckStatus::Good),
            (900, CheckStatus::Limited),
            (300, CheckStatus::Bad),
        ] {
            let check = others(passed(0, idle), 2);
            let found = (check.status, check.remedy.is_some());
            assert_eq!(found, (status, status != CheckStatus::Good));
        }
        // What is stolen is not what others use here.
        assert_eq!(others(passed(600, 400), 2).status, CheckStatus::Good);
    }

    #[test]
    fn steal_is_a_part_of_the_time_that_was_wanted() {
        assert_eq!(steal(passed(0, 500)).status, CheckStatus::Good);
        assert_eq!(steal(passed(20, 500)).status, CheckStatus::Limited);
        let bad = steal(passed(100, 500));
        assert_eq!((bad.status, bad.figures["stolen_share"]), (CheckStatus::Bad, 0.2));
    }
}
