//! From a policy to rustls' settings.

use std::path::Path;
use std::sync::Arc;

use ciphertax_model::{Group, TlsVersion};
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, SupportedProtocolVersion, version};

use super::super::cipher;
use super::super::policy::{ClientCertificate, TlsPolicy, Verification, Versions};
use super::pem::{Chain, read_certificates};
use super::{failure, suites, verifier};
use crate::error::WireError;

/// Settings of this policy, without resumption.
pub(super) fn prepare(policy: &TlsPolicy) -> Result<ClientConfig, WireError> {
    let versions = offered(policy.versions()?)?;
    let provider = Arc::new(provider(policy)?);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(failure)?
        .dangerous()
        .with_custom_certificate_verifier(verifier::prepare(&policy.verification, &provider)?);
    let mut config = match &policy.client_certificate {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let (chain, key) = read_client_certificate(client)?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| unusable(&client.key, error.to_string()))?
        }
    };
    config.resumption = rustls::client::Resumption::disabled();
    config.alpn_protocols = policy
        .alpn
        .iter()
        .map(|protocol| protocol.as_bytes().to_vec())
        .collect();
    config.enable_sni = matches!(policy.verification, Verification::HostName(..));
    Ok(config)
}

fn offered(versions: Versions) -> Result<Vec<&'static SupportedProtocolVersion>, WireError> {
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
fn provider(policy: &TlsPolicy) -> Result<CryptoProvider, WireError> {
    let mut provider = aws_lc_rs::default_provider();
    if let Some(wanted) = &policy.cipher {
        provider
            .cipher_suites
            .retain(|suite| suites::openssl_name(suite.suite()) == wanted);
        if provider.cipher_suites.is_empty() {
            let known = suites::openssl_names();
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

fn read_client_certificate(client: &ClientCertificate) -> Result<(Chain, PrivateKeyDer<'static>), WireError> {
    let path = &client.certificate;
    let chain = read_certificates(path).map_err(|problem| unusable(path, problem))?;
    let key = PrivateKeyDer::from_pem_file(&client.key).map_err(|error| {
        unusable(
            &client.key,
            format!("it holds no PEM key that can be read ({error})"),
        )
    })?;
    Ok((chain, key))
}

fn unusable(path: &Path, problem: String) -> WireError {
    WireError::ClientCertificate {
        path: path.display().to_string(),
        problem,
    }
}
