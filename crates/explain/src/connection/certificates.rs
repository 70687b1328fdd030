//! What was noticed about the certificates of a server and about its key.

use ciphertax_base::ChainCertificate;
use ciphertax_model::CertificateKind;
use ciphertax_records::{ConnectionRecord, Finding};

use super::work;
use crate::findings::{advice, suspicion};

/// Days before its end from which on a certificate is to be renewed: those that are renewed by themselves (ACME) are a
/// month before, so that with three weeks left something has failed.
const RENEW_WITHIN_DAYS: i64 = 21;
/// Certificates that do not hold now, or not for long.
pub(super) fn dates(record: &ConnectionRecord) -> Vec<Finding> {
    let expiries = record.chain.iter().filter_map(expiry);
    expiries.chain(not_yet_valid(record)).collect()
}

fn expiry(certificate: &ChainCertificate) -> Option<Finding> {
    let ChainCertificate {
        subject,
        not_after,
        days_left,
        ..
    } = certificate;
    let evidence = format!("it holds until {not_after}");
    match *days_left {
        days if days >= RENEW_WITHIN_DAYS => None,
        days if days < 0 => Some(suspicion(
            "certificate-expired",
            format!(
                "The certificate of {subject} has expired: clients that verify it refuse to connect. Renew it, or look \
                 whether this machine's clock is right."
            ),
            evidence,
        )),
        days => Some(advice(
            "certificate-expires",
            format!(
                "The certificate of {subject} expires in {days} {}: renew it before.",
                if days == 1 { "day" } else { "days" }
            ),
            evidence,
        )),
    }
}

fn not_yet_valid(record: &ConnectionRecord) -> Option<Finding> {
    let begins_later = |certificate: &&ChainCertificate| certificate.begins_after(&record.started);
    let certificate = record.chain.iter().find(begins_later)?;
    Some(suspicion(
        "certificate-not-yet-valid",
        format!(
            "The certificate of {} does not hold yet: clients that verify it refuse to connect. Look whether this machine's \
             clock is right, and that of whoever signed it.",
            certificate.subject
        ),
        format!(
            "it holds from {} on; here it is {}",
            certificate.not_before, record.started
        ),
    ))
}

/// What everybody who verifies the chain has already.
pub(super) fn root_in_chain(record: &ConnectionRecord) -> Option<Finding> {
    let [_, .., last] = &record.chain[..] else {
        return None;
    };
    (last.subject == last.issuer).then(|| {
        advice("root-in-chain",
            format!(
                "The server sends the certificate of the authority itself, which clients that verify have already and others do \
                 not look at: without it every full handshake is {} bytes shorter.",
                last.bytes
            ),
            format!("the last of {} certificates is {}, signed by itself", record.chain.len(), last.subject),
        )
    })
}

/// What a private operation by an RSA key takes grows with the third power of its bits. Strengths are those of NIST SP 800-57,
/// part 1, table 2.
pub(super) fn large_key(record: &ConnectionRecord) -> Option<Finding> {
    let tls = record.facts.tls.as_ref().filter(|tls| !tls.resumed)?;
    let bits: u32 = tls.certificate.key.strip_prefix("RSA ")?.parse().ok()?;
    let (curve, ecdsa, as_safe_as) = match bits {
        ..=3072 => ("P-256", CertificateKind::EcdsaP256, 3072),
        _ => ("P-384", CertificateKind::EcdsaP384, 7680),
    };
    let uses = match work::sends_secret(tls) {
        true => "decrypts a secret of every full handshake",
        false => "signs every full handshake",
    };
    // Of other sizes none can be measured.
    let measures = format!("rsa-{bits}").parse::<CertificateKind>().ok().map(|rsa| {
        format!(" `ciphertax quick --certificate {ecdsa}` and `--certificate {rsa}` measure both.")
    });
    Some(advice(
        "rsa-key",
        format!(
            "The server {uses} by an RSA key of {bits} bits: an ECDSA key ({curve}) is as safe as RSA {as_safe_as} and takes a \
             fraction of the CPU.{}",
            measures.unwrap_or_default()
        ),
        format!("the certificate's key is {}", tls.certificate.key),
    ))
}
