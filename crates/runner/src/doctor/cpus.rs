//! How many CPUs there are.

use ciphertax_observe::host;
use ciphertax_records::{Check, CheckStatus, Host};
use ciphertax_stats::format;

pub(super) fn look() -> Vec<Check> {
    vec![cpus(&host())]
}

fn cpus(host: &Host) -> Check {
    let machine = match host.virtualization.as_str() {
        "none" => "no virtual machine".to_owned(),
        "unknown" => "virtual machine or not: unknown".to_owned(),
        hypervisor => format!("a virtual machine of {hypervisor}"),
    };
    let check = Check::good(
        "cpus",
        "CPUs",
        format!(
            "{} × {}, {} of memory, {machine}",
            host.cpus,
            host.cpu,
            format::bytes(host.memory_bytes as f64)
        ),
        match host.cpus {
            0..=3 => "a private server and the load share them: CPU per operation is the figure to rely on, throughput is of both together",
            _ => "enough for a private server beside the load",
        },
    )
    .with("cpus", host.cpus.into());
    match host.cpus {
        0 | 1 => check.but(
            CheckStatus::Limited,
            "measure throughput and latency on a machine with two CPUs or more",
        ),
        _ => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_cpu_limits_what_can_be_measured() {
        let host = |cpus| Host {
            os: "x".into(),
            kernel: "6.1".into(),
            cpu: "Some CPU".into(),
            cpus,
            memory_bytes: 8_000_000_000,
            virtualization: "kvm".into(),
        };
        let one = cpus(&host(1));
        assert_eq!((one.status, one.remedy.is_some()), (CheckStatus::Limited, true));
        let four = cpus(&host(4));
        assert_eq!(four.status, CheckStatus::Good);
        assert_eq!(
            four.found,
            "4 × Some CPU, 8.00 GB of memory, a virtual machine of kvm"
        );
    }
}
