//! What `make test-all` runs: every server of the catalogue, clusters and distances.

mod catalogue;
mod clusters;
mod install;
mod mongodb_at_a_distance;
mod mongodb_catalogue;
mod mysql_router;
mod servers_on_file_systems;

use ciphertax_lab::catalogue::Capabilities;
use ciphertax_model::{Arm, CertificateKind, Resumption, TlsLibrary, TlsVersion};

/// True if the catalogue promises what an arm asks of TLS with such a certificate. Ed25519 has no place before TLS 1.2, and rustls
/// knows neither older versions nor short keys.
fn can(capabilities: &Capabilities, arm: &Arm, kind: CertificateKind) -> bool {
    let newest = capabilities.tls_versions.last().copied();
    let version = arm.transport.tls_version().or(newest).unwrap();
    let (is_new, tls) = (version >= TlsVersion::V1_2, &arm.tls);
    capabilities.tls_versions.contains(&version)
        && capabilities.certificates.contains(&kind)
        && (is_new || kind != CertificateKind::Ed25519)
        && (tls.library == TlsLibrary::OpenSsl || is_new && kind != CertificateKind::Rsa1024)
        && tls.group.is_none_or(|group| capabilities.groups.contains(&group))
        && tls
            .cipher
            .as_ref()
            .is_none_or(|cipher| capabilities.ciphers.has(cipher))
        && (tls.resumption == Resumption::Off || capabilities.resumed_by(version).contains(&tls.resumption))
}
