//! TLS sessions of which nobody knows with whom.

use ciphertax_records::{ArmRecord, Finding, Run, ServerPlacement, Severity, Verified};

use super::finding::finding;

/// Of a server of the user's own; whether a private one is verified is what a study says.
pub(super) fn unverified(run: &Run) -> Option<Finding> {
    let server = run
        .head
        .servers
        .iter()
        .find(|server| server.placement == ServerPlacement::External)?;
    let option = match server.product.as_str() {
        "MongoDB" => "tlsCAFile",
        "PostgreSQL" => "sslrootcert",
        _ => "ssl-ca",
    };
    let is_unverified = |arm: &&ArmRecord| {
        let mut tls = arm
            .sessions
            .iter()
            .filter_map(|session| session.facts.tls.as_ref());
        tls.any(|tls| tls.verification == Verified::None)
    };
    run.head.arms.iter().find(is_unverified).map(|arm| {
        finding(
            "unverified-server",
            Severity::Advice,
            format!("The TLS sessions were encrypted, but to whom was not verified: give {option}=… in the target."),
            format!("arm {}: verification none", arm.name),
        )
    })
}
