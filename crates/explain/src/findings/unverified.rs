//! TLS sessions of which nobody knows with whom.

use ciphertax_records::{ArmRecord, Finding, Run, ServerPlacement, Severity, Verified};

use super::finding::finding;

/// Of a server of the user's own; whether a private one is verified is what a study says.
pub(super) fn unverified(run: &Run) -> Option<Finding> {
    let mut servers = run.head.servers.iter();
    servers.find(|server| server.placement == ServerPlacement::External)?;
    // Not by the product: those that speak a database's protocol are many.
    let target = run.head.target.as_deref().unwrap_or_default();
    let option = match target.split_once("://") {
        Some(("mongodb", _)) => "tlsCAFile",
        Some(("postgresql", _)) => "sslrootcert",
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
