//! Why one server pays more for TLS than another: what of the handshakes and of the records is the same, and so no reason.

use ciphertax_model::Metric;
use ciphertax_records::{Run, ServerRecord, TlsFacts};
use ciphertax_stats::format::{plain, rounded};

use super::pays_most::Payer;

/// What a record of TLS 1.3 adds to what it carries: header, content type, and the tag of AES-GCM or ChaCha20-Poly1305
/// (RFC 8446, 5.2; RFC 5116, 5.1).
const RECORD_BYTES: f64 = 5.0 + 1.0 + 16.0;

/// The product that starts a process for every connection, in every version
/// (<https://www.postgresql.org/docs/current/connect-estab.html>).
const PROCESS_EACH: &str = "PostgreSQL";

/// Sentences, each after a space; `payers` are of one operation on several servers, the one that pays most first.
pub(super) fn why(run: &Run, arm: &str, payers: &[Payer<'_>]) -> String {
    let facts = payers.iter().map(|payer| (payer, facts(run, arm, payer)));
    let facts: Vec<(&Payer<'_>, &TlsFacts)> = facts.filter_map(|(payer, tls)| Some((payer, tls?))).collect();
    if facts.len() < payers.len() {
        return String::new();
    }
    let makes_connections = payers
        .iter()
        .any(|payer| payer.cell.asked.workload.makes_connections());
    let sentences = match makes_connections {
        true => of_connections(run, arm, &facts),
        false => records(run, arm, &facts).into_iter().collect(),
    };
    sentences.iter().map(|sentence| format!(" {sentence}")).collect()
}

fn facts<'a>(run: &'a Run, arm: &str, payer: &Payer<'_>) -> Option<&'a TlsFacts> {
    let arm = run.head.arms.iter().find(|other| other.name == arm)?;
    arm.sessions_in(payer.cell.found)?.facts.tls.as_ref()
}

fn of_connections(run: &Run, arm: &str, facts: &[(&Payer<'_>, &TlsFacts)]) -> Vec<String> {
    let mut sentences = vec![handshakes(run, arm, facts)];
    let Some((most, _)) = facts.first() else {
        return sentences;
    };
    let same_library = facts[1..]
        .iter()
        .map(|(payer, _)| *payer)
        .find(|payer| series(payer.server).is_some() && series(payer.server) == series(most.server));
    if let Some((other, library)) = same_library.zip(series(most.server)) {
        sentences.push(format!(
            "{} computes it by the same library ({library}): what {} pays more is not the cryptography.",
            other.name, most.name
        ));
    }
    let forks = facts
        .iter()
        .find(|(payer, _)| payer.server.product == PROCESS_EACH);
    if let Some((payer, _)) = forks {
        sentences.push(format!(
            "{} starts a process for every connection, which takes it {} without TLS already; every handshake is the first of its \
             process.",
            payer.name,
            rounded::microseconds(payer.row.baseline)
        ));
    }
    sentences
}

/// What a handshake had of something, as it is printed.
type Setting = fn(&TlsFacts) -> String;

/// What the handshakes have in common, and in what they differ.
fn handshakes(run: &Run, arm: &str, facts: &[(&Payer<'_>, &TlsFacts)]) -> String {
    let settings: [(&str, Setting); 6] = [
        ("version", |tls| tls.version.clone()),
        ("group", |tls| tls.group.clone()),
        ("cipher suite", |tls| tls.cipher.clone()),
        ("certificate", |tls| tls.certificate.key.clone()),
        ("HelloRetryRequest", |tls| yes_or_no(tls.hello_retry_request)),
        ("resumed", |tls| yes_or_no(tls.resumed)),
    ];
    let differs: Vec<String> = settings
        .iter()
        .filter(|(_, of)| facts.iter().any(|(_, tls)| of(tls) != of(facts[0].1)))
        .map(|(name, of)| {
            let each = facts
                .iter()
                .map(|(payer, tls)| format!("{} {}", payer.name, of(tls)));
            format!("{name} ({})", each.collect::<Vec<_>>().join(", "))
        })
        .collect();
    if !differs.is_empty() {
        return format!("The handshakes differ in {}.", differs.join(" and "));
    }
    let client = facts.iter().filter_map(|(payer, _)| {
        let row = run
            .results
            .estimate(&payer.cell.asked.name, arm, Metric::ClientCpuPerOp)?;
        Some(row.difference.value)
    });
    let (least, most) = client.fold((f64::INFINITY, 0.0_f64), |(least, most), us| {
        (least.min(us), most.max(us))
    });
    let of_the_client = match least.is_finite() {
        true => format!(
            ", and costs the client {} to {}",
            rounded::microseconds(least),
            rounded::microseconds(most)
        ),
        false => String::new(),
    };
    let tls = facts[0].1;
    format!(
        "The handshake is the same everywhere ({}, {}, {}, {}, {}){of_the_client}.",
        tls.version,
        tls.group,
        tls.cipher,
        tls.certificate.key,
        if tls.resumed { "resumed" } else { "not resumed" }
    )
}

fn yes_or_no(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

/// How many records an operation takes, by the bytes that TLS adds to it.
fn records(run: &Run, arm: &str, facts: &[(&Payer<'_>, &TlsFacts)]) -> Option<String> {
    let counts: Option<Vec<(&str, String)>> = facts
        .iter()
        .map(|(payer, tls)| {
            let row = run
                .results
                .estimate(&payer.cell.asked.name, arm, Metric::BytesPerOp)?;
            let bytes = (tls.version == "TLSv1.3").then_some(row.difference.value)?;
            Some((
                payer.name.as_str(),
                plain((bytes / RECORD_BYTES * 10.0).round() / 10.0),
            ))
        })
        .collect();
    let counts = counts?;
    let (_, first) = counts.first()?;
    let is_alike = counts.iter().all(|(_, count)| count == first);
    Some(match is_alike {
        true => format!(
            "An operation is {first} records everywhere, by the bytes that TLS adds: what differs is how a server reads and writes \
             them."
        ),
        false => {
            let each = counts.iter().map(|(name, count)| format!("{name} {count}"));
            format!(
                "By the bytes that TLS adds, the records of an operation are: {}.",
                each.collect::<Vec<_>>().join(", ")
            )
        }
    })
}

/// A library and the first two numbers of its version, `OpenSSL 3.0`; `None` where they are not known.
fn series(server: &ServerRecord) -> Option<String> {
    let mut words = server.tls_library.split(' ');
    let (name, version) = words.next().zip(words.next())?;
    let mut numbers = version.split('.');
    let (major, minor) = numbers.next().zip(numbers.next())?;
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| format!("{name} {major}.{minor}"))
}
