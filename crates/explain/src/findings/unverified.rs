//! TLS sessions of which nobody knows with whom.

use ciphertax_records::{ArmRecord, Finding, Run, ServerPlacement, Severity, Verified};

use super::finding::finding;
use crate::database::{self, Spoken};

/// Of a server of the user's own; whether a private one is verified is what a study says.
pub(super) fn unverified(run: &Run) -> Option<Finding> {
    let mut servers = run.head.servers.iter();
    servers.find(|server| server.placement == ServerPlacement::External)?;
    let option = match database::of_target(run) {
        Some(Spoken::PostgreSql) => "sslrootcert",
        Some(Spoken::MongoDb) => "tlsCAFile",
        Some(Spoken::MySql) | None => "ssl-ca",
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
            format!(
                "The server's certificate was not verified, so anybody between could have answered and read along; name its CA in \
                 the URL: {option}=FILE."
            ),
            format!("{}: verification none", arm.name),
        )
    })
}
