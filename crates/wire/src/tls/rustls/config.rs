//! From a policy to rustls' settings: its suites, certificates in files, and the verification of the server's.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use ciphertax_model::{Group, TlsVersion};
use openssl::x509::X509;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::aws_lc_rs::{self, ALL_CIPHER_SUITES, kx_group};
use rustls::crypto::{
    CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CipherSuite, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    SupportedProtocolVersion, version,
};

use super::super::policy::{TlsPolicy, Verification, Versions};
use super::super::{certificate, cipher, pem};
use super::failure;
use crate::error::{Result, WireError};

/// Settings of this policy, without resumption.
pub(super) fn prepare(policy: &TlsPolicy) -> Result<ClientConfig> {
    let versions = offered(policy.versions()?)?;
    let provider = Arc::new(provider(policy)?);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(failure)?
        .dangerous()
        .with_custom_certificate_verifier(prepare_verifier(&policy.verification, &provider)?);
    let mut config = match &policy.client_certificate {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let (chain, key) = pem::client(client)?;
            let key = key
                .private_key_to_pkcs8()
                .map_err(|error| client.unusable(&client.key, error))?;
            builder
                .with_client_auth_cert(in_der(chain)?, PrivatePkcs8KeyDer::from(key).into())
                .map_err(|error| client.unusable(&client.key, error))?
        }
    };
    config.resumption = rustls::client::Resumption::disabled();
    config.alpn_protocols = policy
        .alpn
        .iter()
        .map(|protocol| protocol.as_bytes().to_vec())
        .collect();
    Ok(config)
}

fn offered(versions: Versions) -> Result<Vec<&'static SupportedProtocolVersion>> {
    let offered: Vec<_> = [
        (TlsVersion::V1_2, &version::TLS12),
        (TlsVersion::V1_3, &version::TLS13),
    ]
    .into_iter()
    .filter(|(version, _)| (versions.lowest..=versions.highest).contains(version))
    .map(|(_, offered)| offered)
    .collect();
    if offered.is_empty() {
        return Err(WireError::TlsSettings(format!(
            "rustls does not speak {}; it speaks {} and {}, and the library openssl speaks all versions",
            versions.highest,
            TlsVersion::V1_2,
            TlsVersion::V1_3
        )));
    }
    Ok(offered)
}

/// The library's own cryptography, narrowed to the suite and the group asked for.
fn provider(policy: &TlsPolicy) -> Result<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(wanted) = &policy.cipher {
        provider
            .cipher_suites
            .retain(|suite| openssl_name(suite.suite()) == wanted);
        if provider.cipher_suites.is_empty() {
            let known = openssl_names();
            return Err(WireError::TlsSettings(format!(
                "rustls has no cipher suite {wanted}; the nearest it has are {}",
                cipher::nearest(wanted, known)
            )));
        }
    }
    if let Some(group) = policy.group {
        provider.kx_groups = vec![key_exchange(group)];
    }
    Ok(provider)
}

fn key_exchange(group: Group) -> &'static dyn SupportedKxGroup {
    match group {
        Group::X25519 => kx_group::X25519,
        Group::P256 => kx_group::SECP256R1,
        Group::P384 => kx_group::SECP384R1,
        Group::X25519MlKem768 => kx_group::X25519MLKEM768,
    }
}

/// The verifier of a policy: by host name as rustls does it, and less where less is asked for.
///
/// In every mode the server must prove that it has the key of its certificate, as with OpenSSL.
pub(super) fn prepare_verifier(
    verification: &Verification,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>> {
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
) -> Result<Arc<WebPkiServerVerifier>> {
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

/// Made once: the look-up is too slow for every connection.
static NAMES: LazyLock<Vec<(CipherSuite, &'static str)>> = LazyLock::new(|| {
    let named = |suite: CipherSuite| {
        // rustls writes `TLS13_` where the registry of IANA has `TLS_`.
        let registered = suite.as_str()?.replacen("TLS13_", "TLS_", 1);
        Some((suite, cipher::openssl_name(&registered)?))
    };
    ALL_CIPHER_SUITES
        .iter()
        .filter_map(|suite| named(suite.suite()))
        .collect()
});

/// OpenSSL's name of a suite; empty for one that OpenSSL does not know.
///
/// Both sides of a session are compared by it.
pub(super) fn openssl_name(suite: CipherSuite) -> &'static str {
    NAMES
        .iter()
        .find(|(known, _)| *known == suite)
        .map_or("", |(_, name)| name)
}

/// OpenSSL's names of all suites that rustls has.
pub(super) fn openssl_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(_, name)| *name)
}

type Chain = Vec<CertificateDer<'static>>;

/// Those of a CA file that this library takes too, one at least.
fn read_authorities(path: &Path) -> Result<RootCertStore> {
    let mut authorities = RootCertStore::empty();
    let (taken, _) = authorities.add_parsable_certificates(in_der(pem::authorities(path)?)?);
    match taken {
        0 => Err(pem::unusable(
            path,
            "rustls takes none of its certificates".into(),
        )),
        _ => Ok(authorities),
    }
}

fn in_der(certificates: Vec<X509>) -> Result<Chain> {
    let der = |certificate: X509| Ok(certificate.to_der().map_err(certificate::unreadable)?.into());
    certificates.into_iter().map(der).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_its_openssl_name() {
        assert_eq!(NAMES.len(), ALL_CIPHER_SUITES.len());
        for (suite, name) in [
            (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
            (
                CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                "ECDHE-RSA-CHACHA20-POLY1305",
            ),
            (
                CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                "ECDHE-ECDSA-AES128-GCM-SHA256",
            ),
        ] {
            assert_eq!(openssl_name(suite), name);
        }
    }
}
