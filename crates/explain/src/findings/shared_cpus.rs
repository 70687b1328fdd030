//! Client and server on the same CPUs.

use ciphertax_model::Placement;
use ciphertax_records::{Finding, Run, Severity};

use super::finding::finding;

pub(super) fn shared_cpus(run: &Run) -> Option<Finding> {
    let same_host = run.head.servers.iter().any(|server| server.same_host);
    let evidence = match (same_host, run.head.study.placement) {
        (false, _) => return None,
        (true, Placement::Together) => "the server and the load threads were kept on one CPU".to_owned(),
        (true, Placement::Free) => {
            format!(
                "the server ran on this machine, which has {} CPUs",
                run.head.host.cpus
            )
        }
    };
    Some(finding(
        "shared-cpus",
        Severity::Cause,
        "Client and server shared the CPUs: throughput and latency are figures of both together; CPU per operation is \
         the primary metric."
            .into(),
        evidence,
    ))
}
