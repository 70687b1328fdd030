//! Verification of the server's certificate: by host name as rustls does it, and less where less is asked for.
//!
//! In every mode the server must prove that it has the key of its certificate, as with OpenSSL.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::super::policy::Verification;
use super::pem::read_authorities;
use crate::error::WireError;

pub(super) fn prepare(
    verification: &Verification,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, WireError> {
    let algorithms = provider.signature_verification_algorithms;
    Ok(match verification {
        Verification::None => Arc::new(AnyName {
            authorities: None,
            algorithms,
        }),
        Verification::Ca(path) => Arc::new(AnyName {
            authorities: Some(read_authorities(path)?),
            algorithms,
        }),
        Verification::HostName(path, _) => webpki_verifier(read_authorities(path)?, provider)?,
    })
}

/// The verifier that rustls itself would use for a host name.
fn webpki_verifier(
    authorities: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, WireError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider))
        .build()
        .map_err(|error| WireError::Tls(error.to_string()))
}

/// Takes any certificate for any name; whose key it is must be proved all the same.
pub fn any_certificate(provider: &CryptoProvider) -> Arc<dyn ServerCertVerifier> {
    Arc::new(AnyName {
        authorities: None,
        algorithms: provider.signature_verification_algorithms,
    })
}

/// Takes a certificate for any name: one whose chain leads to an authority, or any at all.
#[derive(Debug)]
struct AnyName {
    authorities: Option<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(authorities) = &self.authorities {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                authorities,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
