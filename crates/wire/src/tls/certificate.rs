//! What a server's certificate says.

use ciphertax_records::CertificateFacts;
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKeyRef, Public};
use openssl::x509::X509Ref;

use super::openssl::bindings;
use crate::error::WireError;

/// Facts of the server's certificates. In a resumed session they are those of the session that was taken up, and none
/// was sent.
pub(super) fn facts<'a>(
    leaf: Option<&X509Ref>,
    chain: impl Iterator<Item = &'a X509Ref>,
    resumed: bool,
) -> Result<CertificateFacts, WireError> {
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
pub(super) fn end_point(leaf: Option<&X509Ref>) -> Result<Vec<u8>, WireError> {
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
