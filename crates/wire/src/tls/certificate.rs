//! The server's certificate, what it says, and the others that were sent, one by one.

use ciphertax_base::{CertificateFacts, ChainCertificate};
use openssl::asn1::{Asn1StringRef, Asn1Time, Asn1TimeRef};
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKeyRef, Public};
use openssl::x509::{X509NameRef, X509Ref};

use super::openssl::bindings;
use crate::error::{Result, WireError};

/// Facts of the server's certificates. In a resumed session they are those of the session that was taken up, and none
/// was sent.
pub(super) fn facts<'a>(
    leaf: Option<&X509Ref>,
    chain: impl Iterator<Item = &'a X509Ref>,
    resumed: bool,
) -> Result<CertificateFacts> {
    let leaf = leaf.ok_or_else(none_sent)?;
    let mut chain_bytes = 0;
    let mut chain_length = 0;
    if !resumed {
        for certificate in chain {
            chain_bytes += certificate.to_der().map_err(unreadable)?.len() as u32;
            chain_length += 1;
        }
    }
    let signature = leaf.signature_algorithm().object().nid();
    Ok(CertificateFacts {
        key: describe_key(&*leaf.public_key().map_err(unreadable)?),
        signature: signature.long_name().unwrap_or("unknown").to_owned(),
        chain_bytes,
        chain_length,
    })
}

/// The hash of a certificate (`tls-server-end-point`, RFC 5929, section 4.1): by the hash of its signature, but by SHA-256
/// for those that are no longer thought safe.
pub(super) fn end_point(leaf: Option<&X509Ref>) -> Result<Vec<u8>> {
    let leaf = leaf.ok_or_else(none_sent)?;
    let digest = match bindings::signature_digest(leaf) {
        Some(Nid::MD5 | Nid::SHA1) => Some(MessageDigest::sha256()),
        Some(digest) => MessageDigest::from_nid(digest),
        None => None,
    };
    let digest = digest.ok_or_else(|| {
        WireError::Tls(
            "the signature of the server's certificate has no hash, so no login can be tied to it (SCRAM-SHA-256-PLUS)"
                .into(),
        )
    })?;
    let der = leaf.to_der().map_err(unreadable)?;
    Ok(hash(digest, &der).map_err(unreadable)?.to_vec())
}

fn none_sent() -> WireError {
    WireError::Tls("the server sent no certificate".into())
}

/// A certificate that is none.
pub(super) fn unreadable(error: ErrorStack) -> WireError {
    WireError::Tls(format!("the server's certificate cannot be read: {error}"))
}

pub(super) fn describe_key(key: &PKeyRef<Public>) -> String {
    match key.id() {
        Id::RSA => format!("RSA {}", key.bits()),
        Id::EC => {
            let curve = key.ec_key().ok().and_then(|key| key.group().curve_name());
            match curve {
                Some(Nid::X9_62_PRIME256V1) => "EC P-256".to_owned(),
                Some(Nid::SECP384R1) => "EC P-384".to_owned(),
                Some(Nid::SECP521R1) => "EC P-521".to_owned(),
                Some(other) => format!("EC {}", other.short_name().unwrap_or("of an unnamed curve")),
                None => format!("EC {}", key.bits()),
            }
        }
        Id::ED25519 => "Ed25519".to_owned(),
        Id::ED448 => "Ed448".to_owned(),
        _ => format!("{} bits", key.bits()),
    }
}

/// Names of a certificate that are kept; one for many hosts may have thousands.
const MOST_NAMES: usize = 20;

/// What each certificate says, the server's own first. A resumed session sends none, and has those of the session that it
/// took up.
pub(super) fn chain<'a>(certificates: impl Iterator<Item = &'a X509Ref>) -> Result<Vec<ChainCertificate>> {
    certificates
        .map(|certificate| described(certificate).map_err(unreadable))
        .collect()
}

fn described(certificate: &X509Ref) -> Result<ChainCertificate, ErrorStack> {
    let signature = certificate.signature_algorithm().object().nid();
    Ok(ChainCertificate {
        subject: in_words(certificate.subject_name()),
        issuer: in_words(certificate.issuer_name()),
        names: names(certificate),
        not_before: rfc_3339(certificate.not_before())?,
        not_after: rfc_3339(certificate.not_after())?,
        days_left: days_left(certificate.not_after())?,
        key: key(certificate),
        signature: signature.long_name().unwrap_or("unknown").to_owned(),
        bytes: certificate.to_der()?.len() as u32,
    })
}

/// Of kinds that OpenSSL does not know there may be some in a chain that somebody else verifies.
fn key(certificate: &X509Ref) -> String {
    certificate
        .public_key()
        .map_or_else(|_| "unknown".to_owned(), |key| describe_key(&key))
}

/// `CN=db.example, O=Example`
fn in_words(name: &X509NameRef) -> String {
    let entries = name.entries().map(|entry| {
        let kind = entry.object().nid().short_name().unwrap_or("?");
        format!("{kind}={}", text(entry.data()))
    });
    entries.collect::<Vec<_>>().join(", ")
}

/// Names may be written in Latin-1 or UTF-16 too (`T61String`, `BMPString`); what is no text is shown as far as it is one.
fn text(name: &Asn1StringRef) -> String {
    name.to_string()
        .unwrap_or_else(|_| String::from_utf8_lossy(name.as_slice()).into_owned())
}

fn names(certificate: &X509Ref) -> Vec<String> {
    let names = certificate.subject_alt_names().into_iter().flatten();
    let text = |name: openssl::x509::GeneralName| {
        let address = name.ipaddress().and_then(|bytes| match bytes.len() {
            4 => <[u8; 4]>::try_from(bytes).ok().map(std::net::IpAddr::from),
            _ => <[u8; 16]>::try_from(bytes).ok().map(std::net::IpAddr::from),
        });
        name.dnsname()
            .map(str::to_owned)
            .or_else(|| address.map(|address| address.to_string()))
    };
    names.filter_map(text).take(MOST_NAMES).collect()
}

/// Whole days until then; negative once it has passed.
fn days_left(time: &Asn1TimeRef) -> Result<i64, ErrorStack> {
    const SECONDS_OF_A_DAY: i64 = 86_400;
    let seconds = seconds_between(&*Asn1Time::days_from_now(0)?, time)?;
    Ok(seconds.div_euclid(SECONDS_OF_A_DAY))
}

/// By the difference to 1970, because OpenSSL has no other number for a time.
fn rfc_3339(time: &Asn1TimeRef) -> Result<String, ErrorStack> {
    let seconds = seconds_between(&*Asn1Time::from_unix(0)?, time)?;
    // Every time of a certificate lies between the years 0 and 9999.
    Ok(jiff::Timestamp::from_second(seconds).map_or_else(|_| time.to_string(), |time| time.to_string()))
}

fn seconds_between(from: &Asn1TimeRef, to: &Asn1TimeRef) -> Result<i64, ErrorStack> {
    let difference = from.diff(to)?;
    Ok(i64::from(difference.days) * 86_400 + i64::from(difference.secs))
}

#[cfg(test)]
mod tests {
    use openssl::asn1::Asn1Type;
    use openssl::nid::Nid;
    use openssl::x509::{X509Builder, X509NameBuilder};

    use super::*;

    fn certificate(valid_for_days: i64) -> openssl::x509::X509 {
        let key = openssl::pkey::PKey::generate_ed25519().unwrap();
        let mut name = X509NameBuilder::new().unwrap();
        name.append_entry_by_text("CN", "db.example").unwrap();
        name.append_entry_by_text("O", "Example").unwrap();
        let name = name.build();
        let now = jiff::Timestamp::now().as_second();
        let mut builder = X509Builder::new().unwrap();
        builder.set_subject_name(&name).unwrap();
        builder.set_issuer_name(&name).unwrap();
        builder.set_pubkey(&key).unwrap();
        builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
        let end = Asn1Time::from_unix(now + valid_for_days * 86_400 + 60).unwrap();
        builder.set_not_after(&end).unwrap();
        let mut names = openssl::x509::extension::SubjectAlternativeName::new();
        let names = names.dns("db.example").ip("192.0.2.1").ip("2001:db8::1");
        let names = names.build(&builder.x509v3_context(None, None)).unwrap();
        builder.append_extension(names).unwrap();
        builder.sign(&key, openssl::hash::MessageDigest::null()).unwrap();
        builder.build()
    }

    #[test]
    fn a_certificate_says_who_it_is_for_and_how_long() {
        let soon = certificate(12);
        let found = chain(std::iter::once(&*soon)).unwrap().remove(0);
        assert_eq!(found.subject, "CN=db.example, O=Example");
        assert_eq!(found.names, ["db.example", "192.0.2.1", "2001:db8::1"]);
        assert_eq!(found.days_left, 12);
        assert_eq!(found.not_before, "1970-01-01T00:00:00Z");
        assert_eq!(found.key, "Ed25519");
        assert_eq!(found.bytes as usize, soon.to_der().unwrap().len());
    }

    #[test]
    fn a_key_of_an_unknown_kind_is_said_to_be_one() {
        const ED25519: [u8; 5] = [0x06, 0x03, 0x2B, 0x65, 0x70];
        let mut der = certificate(12).to_der().unwrap();
        // It stands for the signature, for the key, and for the signature again.
        let places = der.windows(5).enumerate().filter(|(_, bytes)| *bytes == ED25519);
        let of_key = places.map(|(place, _)| place).nth(1).unwrap();
        der[of_key + 4] = 0x7F;
        let unknown = openssl::x509::X509::from_der(&der).unwrap();
        let found = chain(std::iter::once(&*unknown)).unwrap().remove(0);
        let seen = (found.key.as_str(), found.subject.as_str());
        assert_eq!(seen, ("unknown", "CN=db.example, O=Example"));
    }

    #[test]
    fn names_are_read_in_whatever_they_are_written() {
        // Bytes as they are: of a BMPString two for each character.
        for (kind, bytes, name) in [
            (Asn1Type::BMPSTRING, "\0d\0b", "db"),
            (Asn1Type::PRINTABLESTRING, "db", "db"),
            (Asn1Type::UTF8STRING, "Müller", "Müller"),
        ] {
            let mut builder = X509NameBuilder::new().unwrap();
            builder
                .append_entry_by_nid_with_type(Nid::COMMONNAME, bytes, kind)
                .unwrap();
            assert_eq!(in_words(&builder.build()), format!("CN={name}"), "{kind:?}");
        }
        let mut hostile = certificate(1).to_der().unwrap();
        let place = hostile
            .windows(10)
            .position(|bytes| bytes == b"db.example")
            .unwrap();
        hostile[place + 2] = 0;
        let hostile = openssl::x509::X509::from_der(&hostile).unwrap();
        assert!(in_words(hostile.issuer_name()).starts_with("CN=db\0example"));
    }

    #[test]
    fn one_that_has_expired_has_fewer_days_left_than_none() {
        let found = chain(std::iter::once(&*certificate(-3))).unwrap().remove(0);
        assert!((-4..0).contains(&found.days_left), "{}", found.days_left);
    }
}
