//! Arms that no server can have together with the baseline.

use ciphertax_records::{Finding, Run, ServerPlacement, ServerRecord, Severity};

use super::finding::finding;

/// More names than this say nothing to a reader.
const LISTED: usize = 4;

/// Arms that no server can have together with the baseline.
pub(super) fn servers_of_their_own(run: &Run) -> Option<Finding> {
    let mut apart: Vec<&str> = Vec::new();
    for arm in run.head.variants() {
        if arm.sessions.iter().any(|session| session.beside.is_some()) {
            apart.push(&arm.name);
        }
    }
    let are_processes = |server: &ServerRecord| server.placement != ServerPlacement::Embedded;
    (!apart.is_empty() && run.head.servers.iter().any(are_processes)).then(|| {
        let names: Vec<&str> = run.head.servers.iter().map(|server| server.name.as_str()).collect();
        let which = match names.len() {
            ..=LISTED => names.join("; "),
            many => format!("{many} of them, with the same settings but for what their arms ask for"),
        };
        finding(
            "different-servers",
            Severity::Cause,
            format!(
                "{} and the baseline need different servers, so two processes are compared; the noise floor is that of two \
                 identical ones, side by side like these.",
                apart.join(", ")
            ),
            format!("servers with equal memory and the same data: {which}"),
        )
    })
}
