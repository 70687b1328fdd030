//! Proofs of every arm: a matrix of arms and witnesses, everything they said, and what stays readable on the disk.

use ciphertax_base::format;
use ciphertax_base::{Proof, SessionFacts, Witness};
use ciphertax_records::{ArmRecord, ArmRole, Readability, Run};
use serde::Serialize;

use super::figure::{ArmName, Item};
use crate::storage::{meaning, tables};

/// Arms down, witnesses across.
#[derive(Serialize)]
pub(super) struct Matrix {
    witnesses: Vec<Witness>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    arm: ArmName,
    role: &'static str,
    /// What was negotiated, in a line.
    negotiated: String,
    /// Proofs of each witness, over all servers.
    proofs: Vec<usize>,
    proved: bool,
}

impl Matrix {
    pub(super) fn of(run: &Run) -> Self {
        let mut witnesses: Vec<Witness> = Vec::new();
        for proof in run.head.arms.iter().flat_map(proofs) {
            if !witnesses.contains(&proof.witness) {
                witnesses.push(proof.witness);
            }
        }
        let rows = run
            .head
            .arms
            .iter()
            .map(|arm| Row {
                arm: ArmName::of(run, &arm.name),
                role: role(arm),
                negotiated: negotiated(run, arm),
                proofs: witnesses
                    .iter()
                    .map(|witness| proofs(arm).filter(|proof| proof.witness == *witness).count())
                    .collect(),
                proved: proofs(arm).next().is_some(),
            })
            .collect();
        Self { witnesses, rows }
    }
}

fn proofs(arm: &ArmRecord) -> impl Iterator<Item = &Proof> {
    arm.sessions.iter().flat_map(|session| &session.proofs)
}

fn role(arm: &ArmRecord) -> &'static str {
    match arm.role {
        ArmRole::Baseline => "baseline",
        ArmRole::BaselineAgain => "noise floor",
        ArmRole::Variant => "",
    }
}

/// How bytes travelled; empty where they did not.
fn transport(run: &Run, arm: &ArmRecord) -> String {
    let asked = run.head.asked(arm).filter(|_| !run.head.is_embedded());
    asked.map_or_else(String::new, |asked| asked.transport.to_string())
}

/// How a database that runs in its client was opened.
fn opened_as(run: &Run, arm: &ArmRecord) -> String {
    let sqlcipher = run.head.asked(arm).and_then(|asked| asked.at_rest.sqlcipher);
    sqlcipher.map_or_else(|| "plaintext".to_owned(), |sqlcipher| sqlcipher.to_string())
}

/// `TLSv1.3, TLS_AES_256_GCM_SHA384, x25519`, once if all servers have the same.
fn negotiated(run: &Run, arm: &ArmRecord) -> String {
    if run.head.is_embedded() {
        return opened_as(run, arm);
    }
    let mut texts: Vec<String> = Vec::new();
    for session in &arm.sessions {
        let facts = &session.facts;
        let login = facts.authentication.words();
        let text = match &facts.tls {
            None => format!("{}; {login}", transport(run, arm)),
            Some(tls) => {
                let parts = [&tls.version, &tls.cipher, &tls.group, &tls.certificate.key];
                let parts: Vec<&str> = parts
                    .into_iter()
                    .map(String::as_str)
                    .filter(|part| !part.is_empty())
                    .collect();
                format!("{}; {login}", parts.join(", "))
            }
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.len() {
        0..=2 => texts.join(" / "),
        n => format!("{} / {} more, by server", texts[0], n - 1),
    }
}

/// Everything that was proved of an arm and what it negotiated.
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
    pub(super) fn of(run: &Run, arm: &ArmRecord) -> Self {
        let several = run.head.servers.len() > 1;
        Self {
            name: ArmName::of(run, &arm.name),
            role: role(arm),
            transport: transport(run, arm),
            sessions: arm
                .sessions
                .iter()
                .map(|session| SessionView {
                    server: if several {
                        session.server.clone()
                    } else {
                        String::new()
                    },
                    facts: facts(run, &session.facts),
                    proofs: session.proofs.clone(),
                })
                .collect(),
        }
    }
}

fn facts(run: &Run, facts: &SessionFacts) -> Vec<Item> {
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
        items.push(Item::new("verified", tls.verification.to_string()));
        items.push(Item::new("client library", &tls.client_library));
    }
    if !run.head.is_embedded() {
        let login = &facts.authentication;
        items.push(Item::new(
            "login",
            format!("{}, {} path", login.method, login.path),
        ));
    }
    items
}

/// The tables, and what their words mean.
#[derive(Serialize)]
pub(super) struct ReadableView {
    meaning: String,
    tables: Vec<ServerTable>,
}

#[derive(Serialize)]
struct ServerTable {
    /// Empty where there is only one.
    server: String,
    columns: Vec<Vec<ArmName>>,
    rows: Vec<KindRow>,
}

#[derive(Serialize)]
struct KindRow {
    kind: String,
    cells: Vec<Option<KindCell>>,
}

#[derive(Serialize)]
struct KindCell {
    word: String,
    /// By which readers of the page tell it at a glance.
    is_encrypted: bool,
}

impl ReadableView {
    /// `None` where no arm is about the disk.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let name = |arm: &str| ArmName::of(run, arm);
        let cell = |readability: Readability| KindCell {
            word: readability.to_string(),
            is_encrypted: readability == Readability::Encrypted,
        };
        let tables: Vec<ServerTable> = tables(run)
            .into_iter()
            .map(|table| ServerTable {
                server: table.server.unwrap_or_default().to_owned(),
                columns: table
                    .columns
                    .iter()
                    .map(|arms| arms.iter().copied().map(name).collect())
                    .collect(),
                rows: table
                    .rows
                    .into_iter()
                    .map(|(kind, found)| KindRow {
                        kind: kind.to_owned(),
                        cells: found.into_iter().map(|found| found.map(cell)).collect(),
                    })
                    .collect(),
            })
            .collect();
        (!tables.is_empty()).then_some(Self {
            meaning: meaning(run),
            tables,
        })
    }
}
