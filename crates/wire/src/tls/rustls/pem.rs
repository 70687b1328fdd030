//! Certificates in files.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::WireError;

pub(super) type Chain = Vec<CertificateDer<'static>>;

/// The authorities in a PEM file.
pub(super) fn read_authorities(path: &Path) -> Result<RootCertStore, WireError> {
    let unusable = |problem: String| WireError::CaFile {
        path: path.display().to_string(),
        problem,
    };
    let mut authorities = RootCertStore::empty();
    for certificate in read_certificates(path).map_err(unusable)? {
        authorities
            .add(certificate)
            .map_err(|error| unusable(error.to_string()))?;
    }
    Ok(authorities)
}

/// The certificates in a PEM file, one at least.
pub(super) fn read_certificates(path: &Path) -> Result<Chain, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let certificates: Option<Chain> = CertificateDer::pem_reader_iter(std::io::BufReader::new(file))
        .map(Result::ok)
        .collect();
    certificates
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| "it holds no PEM certificate that can be read".into())
}
