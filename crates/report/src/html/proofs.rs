//! Proofs of every arm: a matrix of arms and witnesses, everything they said, and what stays readable on the disk.

use ciphertax_base::format;
use ciphertax_base::{Proof, SessionFacts, Witness};
use ciphertax_model::Resumption;
use ciphertax_records::{ArmRecord, ArmRole, Readability, Run};
use serde::Serialize;

use super::figure::{ArmName, Item};
use crate::storage::{ReadableTable, tables};

/// Arms down, witnesses across.
#[derive(Serialize)]
pub(super) struct Matrix {
    /// Who vouches for how many arms.
    summary: String,
    witnesses: Vec<Witness>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    arm: ArmName,
    role: &'static str,
    what: String,
    /// What was negotiated, in a line.
    negotiated: String,
    /// By each witness: how many, over all servers, and why there may be none.
    proofs: Vec<(usize, String)>,
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
        let arms = &run.head.arms;
        let by = |arm: &ArmRecord, witness: Witness| {
            let count = proofs(arm).filter(|proof| proof.witness == witness).count();
            (count, no_proof(run, arm, witness))
        };
        let of_witness = |witness: &Witness| match arms.iter().filter(|arm| by(arm, *witness).0 > 0).count() {
            all if all == arms.len() => witness.to_string(),
            some => format!("{witness} ({some})"),
        };
        let all: Vec<String> = witnesses.iter().map(of_witness).collect();
        let summary = match all.is_empty() {
            true => "not proved, the run ended before".to_owned(),
            false => format!("{} arms, proved by {}", arms.len(), all.join(", ")),
        };
        let rows = arms
            .iter()
            .map(|arm| Row {
                arm: ArmName::of(run, &arm.name),
                role: role(arm),
                what: what(run, arm),
                negotiated: negotiated(run, arm),
                proofs: witnesses.iter().map(|witness| by(arm, *witness)).collect(),
                proved: proofs(arm).next().is_some(),
            })
            .collect();
        Self {
            summary,
            witnesses,
            rows,
        }
    }
}

fn proofs(arm: &ArmRecord) -> impl Iterator<Item = &Proof> {
    arm.sessions.iter().flat_map(|session| &session.proofs)
}

const FORBIDDEN: &str = "--no-wrong-logins";

/// Why a witness says nothing of an arm.
fn no_proof(run: &Run, arm: &ArmRecord, witness: Witness) -> String {
    let unproved = || arm.sessions.iter().find_map(|session| session.unproved.clone());
    match witness {
        Witness::Server => unproved().unwrap_or_else(|| "cannot be asked".into()),
        Witness::Authentication if run.head.command.contains(FORBIDDEN) => {
            format!("forbidden by {FORBIDDEN}")
        }
        Witness::Authentication => "no secret to get wrong".into(),
        Witness::AccessControl => "on no server that has it".into(),
        Witness::Disk => "encrypts no files".into(),
        Witness::Tunnel | Witness::Pooler => format!("no {witness}"),
        Witness::Kernel => "no CPUs to keep to".into(),
        Witness::Client | Witness::Wire => "not tried".into(),
    }
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

/// What an arm is, in a line: all in which the arms of the run differ, or how its bytes travel.
pub(super) fn what(run: &Run, arm: &ArmRecord) -> String {
    let of_all: Vec<_> = run.head.arms.iter().map(|arm| parts(run, arm)).collect();
    let differ = |slot: usize| {
        let mut values: Vec<&str> = of_all.iter().map(|parts| parts[slot].as_str()).collect();
        // What all arms over TLS have alike is no news of any.
        values.retain(|value| slot > OF_TLS || !value.is_empty());
        values.iter().any(|value| *value != values[0])
    };
    let [way, ..] = parts(run, arm);
    let of_arm = parts(run, arm).into_iter().enumerate();
    let of_arm = of_arm.filter(|(slot, part)| !part.is_empty() && differ(*slot));
    let differing: Vec<String> = of_arm.map(|(_, part)| part).collect();
    if differing.is_empty() {
        way
    } else {
        differing.join(", ")
    }
}

/// After how bytes travel, so many parts are of TLS.
const OF_TLS: usize = 4;

/// What arms may differ in; empty where an arm has nothing of the kind.
fn parts(run: &Run, arm: &ArmRecord) -> [String; 14] {
    fn word(part: Option<impl ToString>) -> String {
        part.map_or_else(String::new, |part| part.to_string())
    }
    let facts = arm.sessions.first().map(|session| &session.facts);
    let tls = facts.and_then(|facts| facts.tls.as_ref());
    let asked = run.head.asked(arm);
    let resumption = asked.and_then(|arm| match arm.tls.resumption {
        Resumption::Off => None,
        Resumption::SessionId => Some("resumes by session id"),
        Resumption::Ticket => Some("resumes by ticket"),
    });
    let iterations = asked.and_then(|arm| arm.authentication.scram_iterations);
    let on_disk = asked.filter(|arm| !run.head.is_embedded() && !arm.at_rest.is_default());
    let of_nodes = asked.filter(|arm| arm.cluster_tls);
    // Servers have methods of their own where arms ask for none.
    let mut others = run.head.study.arms.iter();
    let logins = facts
        .filter(|_| others.any(|arm| Some(&arm.authentication) != asked.map(|asked| &asked.authentication)));
    [
        match run.head.is_embedded() {
            true => opened_as(run, arm),
            false => transport(run, arm),
        },
        word(tls.map(|tls| &tls.cipher)),
        word(tls.map(|tls| &tls.group)),
        word(tls.map(|tls| &tls.certificate.key)),
        word(tls.map(|tls| &tls.client_library)),
        word(resumption),
        word(logins.map(|facts| facts.authentication.words())),
        word(iterations.map(|count| format!("{} iterations", format::count(count.into())))),
        word(asked.and_then(|arm| arm.tunnel)),
        word(asked.and_then(|arm| arm.pooler)),
        word(of_nodes.map(|_| "TLS between nodes")),
        word(on_disk.map(|arm| &arm.at_rest)),
        word(asked.and_then(|arm| arm.columns.as_ref())),
        word(asked.and_then(|arm| arm.probe.as_ref())),
    ]
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
    sessions: Vec<SessionView>,
}

/// What an arm was on one server.
#[derive(Serialize)]
struct SessionView {
    /// Where there are several.
    server: Option<String>,
    facts: Vec<Item>,
    proofs: Vec<Proof>,
}

impl ArmView {
    pub(super) fn of(run: &Run, arm: &ArmRecord) -> Self {
        let several = run.head.servers.len() > 1;
        Self {
            name: ArmName::of(run, &arm.name),
            role: role(arm),
            sessions: arm
                .sessions
                .iter()
                .map(|session| SessionView {
                    server: Some(session.server.clone()).filter(|_| several),
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
        let retry = match tls.hello_retry_request {
            true => ", hello retry request",
            false => "",
        };
        let protocol = format!("{}, {resumed}{retry}", tls.version);
        items.push(Item::new("protocol", protocol));
        items.push(Item::new("cipher", &tls.cipher));
        if !tls.group.is_empty() {
            items.push(Item::new("key exchange", &tls.group));
        }
        let certificate = &tls.certificate;
        let chain = format!(
            "{}, {}, {} in {} certificate{}",
            certificate.key,
            certificate.signature,
            format::bytes(certificate.chain_bytes.into()),
            certificate.chain_length,
            if certificate.chain_length == 1 { "" } else { "s" }
        );
        items.push(Item::new("certificate", chain));
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

/// What stays readable on the disks of arms that are compared.
#[derive(Serialize)]
pub(super) struct ServerTable {
    /// Empty where there is only one.
    server: String,
    columns: Vec<Vec<ArmName>>,
    /// What was found of every kind of file; `None` where a server has none of it.
    rows: Vec<(String, Vec<Option<String>>)>,
}

impl ServerTable {
    /// One for all servers that are alike; none where no arm is about the disk.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let name = |arm: &str| ArmName::of(run, arm);
        let words = |found: Vec<Option<Readability>>| {
            let word = |readability: Option<Readability>| readability.map(|found| found.to_string());
            found.into_iter().map(word).collect()
        };
        let mut of_servers: Vec<(Vec<&str>, ReadableTable<'_>)> = Vec::new();
        for table in tables(run) {
            let alike = of_servers
                .iter_mut()
                .find(|(_, other)| (&other.columns, &other.rows) == (&table.columns, &table.rows));
            match alike {
                Some((servers, _)) => servers.extend(table.server),
                None => of_servers.push((table.server.into_iter().collect(), table)),
            }
        }
        of_servers
            .into_iter()
            .map(|(servers, table)| Self {
                server: servers.join("; "),
                columns: table
                    .columns
                    .iter()
                    .map(|arms| arms.iter().copied().map(name).collect())
                    .collect(),
                rows: (table.rows.into_iter())
                    .map(|(kind, found)| (kind.to_owned(), words(found)))
                    .collect(),
            })
            .collect()
    }
}
