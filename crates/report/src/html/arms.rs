//! How every arm was proved and what it negotiated.

use ciphertax_model::record::{ArmRecord, ArmRole, Proof, Run, SessionFacts};
use serde::Serialize;

use super::figure::{ArmName, Item};
use crate::format;

/// How an arm was proved and what it negotiated.
#[derive(Serialize)]
pub(super) struct ArmView {
    name: ArmName,
    role: &'static str,
    transport: String,
    sessions: Vec<SessionView>,
}

/// What an arm was on one server.
#[derive(Serialize)]
struct SessionView {
    /// Empty where there is only one server.
    server: String,
    facts: Vec<Item>,
    proofs: Vec<Proof>,
}

impl ArmView {
    pub(super) fn of(run: &Run, (index, arm): (usize, &ArmRecord)) -> Self {
        let several = run.servers.len() > 1;
        Self {
            name: ArmName::at(index, &arm.name),
            role: match arm.role {
                ArmRole::Baseline => "baseline",
                ArmRole::BaselineAgain => "noise floor (A/A)",
                ArmRole::Variant => "variant",
            },
            transport: arm.transport.to_string(),
            sessions: arm
                .sessions
                .iter()
                .map(|session| SessionView {
                    server: if several {
                        session.server.clone()
                    } else {
                        String::new()
                    },
                    facts: facts(&session.facts),
                    proofs: session.proofs.clone(),
                })
                .collect(),
        }
    }
}

fn facts(facts: &SessionFacts) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(tls) = &facts.tls {
        let resumed = if tls.resumed { "resumed" } else { "full handshake" };
        let retry = if tls.hello_retry_request {
            ", hello retry request"
        } else {
            ""
        };
        items.push(Item::new(
            "protocol",
            format!("{}, {resumed}{retry}", tls.version),
        ));
        items.push(Item::new("cipher", &tls.cipher));
        if !tls.group.is_empty() {
            items.push(Item::new("key exchange", &tls.group));
        }
        let certificate = &tls.certificate;
        items.push(Item::new(
            "certificate",
            format!(
                "{}, {}, {} in {} certificate{}",
                certificate.key,
                certificate.signature,
                format::bytes(certificate.chain_bytes.into()),
                certificate.chain_length,
                if certificate.chain_length == 1 { "" } else { "s" }
            ),
        ));
        items.push(Item::new("verified", &tls.verification));
        items.push(Item::new("client library", &tls.client_library));
    }
    let login = &facts.authentication;
    items.push(Item::new(
        "login",
        format!("{}, {} path", login.method, login.path),
    ));
    items
}
