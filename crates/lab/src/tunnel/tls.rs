//! What the tunnels over TLS have in common.

use std::collections::BTreeMap;
use std::path::Path;

use ciphertax_model::CertificateKind;

use crate::certificates::{Authority, CertificateFiles};
use crate::error::Result;

/// The TLS version of both halves, as their settings name it.
pub(super) const VERSION: &str = "TLSv1.3";

/// The cipher suite of both halves: the first that OpenSSL offers. Only this one is allowed, so that no other can be
/// measured.
pub(super) const SUITE: &str = "TLS_AES_256_GCM_SHA384";

/// What is recorded of a program that carries connections in TLS.
pub(super) fn facts(program: &str, library: &str, suite: &str) -> BTreeMap<String, String> {
    [
        ("program", program.to_owned()),
        ("library", library.to_owned()),
        ("cipher", format!("{VERSION} {suite}")),
        ("topology", "one TLS connection for each, sessions resumed".into()),
    ]
    .map(|(name, fact)| (name.to_owned(), fact))
    .into()
}

/// Puts a certificate for this machine into `folder`, with the authority that the client half trusts.
pub(super) fn issue_certificate(folder: &Path) -> Result<CertificateFiles> {
    Authority::new(CertificateKind::EcdsaP256)?.issue_for_localhost(folder)
}
