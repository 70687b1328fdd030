//! What was negotiated, and the certificates.

use ciphertax_records::{ConnectionRecord, Verified};
use ciphertax_stats::format;

use crate::terminal::page::Page;

pub(super) fn negotiated(page: &mut Page, record: &ConnectionRecord) {
    page.heading("Negotiated");
    match &record.facts.tls {
        None if record.address.starts_with('/') => page.item("no TLS: plaintext over a Unix socket"),
        None => page.item("no TLS: plaintext"),
        Some(tls) => {
            let group = match tls.group.as_str() {
                "" => String::new(),
                group => format!(", key exchange by {group}"),
            };
            page.item(&format!("{}, {}{group}", tls.version, tls.cipher));
            let handshake = match (tls.resumed, tls.hello_retry_request) {
                (true, _) => "resumed session",
                (false, false) => "full handshake",
                (false, true) => "full handshake with a second ClientHello (HelloRetryRequest)",
            };
            page.item(&format!(
                "{handshake}, ClientHello of {} B, client library {}",
                format::count(tls.client_hello_bytes.into()),
                tls.client_library
            ));
            page.item(match tls.verification {
                Verified::None => "certificate: not verified",
                Verified::Ca => "certificate: its chain verified, its name not",
                Verified::HostName => "certificate: its chain and its name verified",
            });
        }
    }
    let mut logins: Vec<(String, usize)> = Vec::new();
    for login in &record.logins {
        let words = login.words();
        match logins.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => logins.push((words, 1)),
        }
    }
    let words: Vec<String> = match &logins[..] {
        [(only, _)] => vec![only.clone()],
        several => several
            .iter()
            .map(|(login, count)| format!("{count} × {login}"))
            .collect(),
    };
    page.item(&format!("login: {}", words.join(", ")));
}

pub(super) fn certificates(page: &mut Page, record: &ConnectionRecord) {
    if record.chain.is_empty() {
        return;
    }
    let bytes: u32 = record.chain.iter().map(|certificate| certificate.bytes).sum();
    page.heading(&format!(
        "Certificates: {}, {}",
        record.chain.len(),
        format::bytes(bytes.into())
    ));
    for certificate in &record.chain {
        let date = certificate.not_after.split('T').next().unwrap_or_default();
        let left = match certificate.days_left {
            _ if certificate.begins_after(&record.started) => {
                format!("NOT VALID before {}", certificate.not_before)
            }
            days if days < 0 => format!("EXPIRED on {date}"),
            1 => format!("expires in 1 day, on {date}"),
            days => format!("expires in {} days, on {date}", format::count(days as f64)),
        };
        page.item(&format!(
            "{}: {left}",
            match certificate.subject.as_str() {
                "" => "without a subject",
                subject => subject,
            }
        ));
        page.detail(&format!(
            "{}, signed by {} with {}",
            certificate.key, certificate.issuer, certificate.signature
        ));
        if !certificate.names.is_empty() {
            page.detail(&format!("for {}", certificate.names.join(", ")));
        }
    }
}
