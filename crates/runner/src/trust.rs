//! Whom the clients of a server trust, and what they show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ciphertax_lab::certificates::ClientCertificateFiles;
use ciphertax_model::{Arm, CertificateKind, Resumption, Study, TlsVersion, VerificationMode};
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
use serde::{Deserialize, Serialize};

use crate::error::{Result, RunError};

/// Whom the clients of a server trust, and what they show.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Trust {
    /// The server, in words.
    pub(crate) display: String,
    pub(crate) host: String,
    pub(crate) verification: Verification,
    /// True for servers that no client of today trusts by itself.
    pub(crate) legacy: bool,
    /// The clients' own certificates, by key.
    pub(crate) clients: BTreeMap<CertificateKind, ClientCertificate>,
    /// Certificates of the same authority that no account has, for proofs, which one load generator makes.
    #[serde(skip)]
    pub(crate) unknown_clients: BTreeMap<CertificateKind, ClientCertificate>,
    /// The certificate that every client of a target shows, where its URL names one.
    pub(crate) own_client: Option<ClientCertificate>,
    /// The cipher suite that every client of a target has where its arm names none, where the URL names one.
    pub(crate) own_cipher: Option<String>,
    /// True where so many connections are open that their buffers matter more than the time it takes to make them anew.
    pub(crate) releases_buffers: bool,
}

impl Trust {
    /// What the TLS sessions of an arm ask for.
    pub(crate) fn policy(&self, arm: &Arm) -> Result<TlsPolicy> {
        let ca = match &self.verification {
            Verification::Ca(ca) | Verification::HostName(ca, _) => Some(ca),
            Verification::None => None,
        };
        let no_ca = || RunError::Server {
            server: self.display.clone(),
            problem: format!(
                "the arm {} verifies it, but no CA is known; name its file in the target's URL",
                arm.name
            ),
        };
        let verification = match arm.tls.verification {
            None => self.verification.clone(),
            Some(VerificationMode::None) => Verification::None,
            Some(VerificationMode::Ca) => Verification::Ca(ca.ok_or_else(no_ca)?.clone()),
            Some(VerificationMode::HostName) => match &self.verification {
                by_name @ Verification::HostName(..) => by_name.clone(),
                _ => Verification::HostName(ca.ok_or_else(no_ca)?.clone(), self.host.clone()),
            },
        };
        let client_certificate = arm
            .tls
            .client_certificate
            .and_then(|kind| self.clients.get(&kind))
            .or(self.own_client.as_ref());
        let policy = TlsPolicy {
            client_certificate: client_certificate.cloned(),
            cipher: arm.tls.cipher.clone(),
            group: arm.tls.group,
            resumption: arm.tls.resumption,
            library: arm.tls.library,
            releases_buffers: self.releases_buffers,
            legacy: self.legacy,
            ..TlsPolicy::new(arm.transport.tls_version(), verification)
        };
        Ok(policy.or_cipher(self.own_cipher.as_ref()))
    }

    /// The same for an arm that logs in by certificate, with one of the same authority that no account has; `None` where there
    /// is no such certificate.
    pub(crate) fn policy_of_unknown_client(&self, arm: &Arm) -> Result<Option<TlsPolicy>> {
        let kind = arm.tls.client_certificate;
        let Some(unknown) = kind.and_then(|kind| self.unknown_clients.get(&kind)) else {
            return Ok(None);
        };
        Ok(Some(TlsPolicy {
            client_certificate: Some(unknown.clone()),
            ..self.policy(arm)?
        }))
    }

    /// TLS for sessions that are not measured: as the first arm that is encrypted has it, since a server may take no other, but
    /// for whom it trusts where it `verifies` the server. `alpn` is the protocol that it is said to be for.
    pub(crate) fn default_tls(
        &self,
        study: &Study,
        verifies: bool,
        alpn: Option<&'static str>,
    ) -> Result<Arc<TlsConnector>> {
        let Some(arm) = study.arms.iter().find(|arm| arm.transport.is_encrypted()) else {
            return self.any_tls(None, alpn);
        };
        let mut policy = TlsPolicy {
            resumption: Resumption::Off,
            alpn,
            ..self.policy(arm)?
        };
        if verifies {
            policy.verification = self.verification.clone();
        }
        Ok(Arc::new(TlsConnector::new(&policy)?))
    }

    /// TLS for what is not part of a study, of this version or of the best that both sides have.
    pub(crate) fn any_tls(
        &self,
        version: Option<TlsVersion>,
        alpn: Option<&'static str>,
    ) -> Result<Arc<TlsConnector>> {
        let policy = TlsPolicy {
            client_certificate: self.own_client.clone(),
            alpn,
            ..TlsPolicy::new(version, self.verification.clone())
        };
        let policy = policy.or_cipher(self.own_cipher.as_ref());
        Ok(Arc::new(TlsConnector::new(&policy)?))
    }
}

/// A certificate for clients of each kind that arms show.
pub(crate) fn issued<'a>(
    arms: impl Iterator<Item = &'a Arm>,
    issue: impl Fn(CertificateKind) -> ciphertax_lab::Result<Option<ClientCertificateFiles>>,
) -> Result<BTreeMap<CertificateKind, ClientCertificate>> {
    let kinds: BTreeSet<CertificateKind> = arms.filter_map(|arm| arm.tls.client_certificate).collect();
    let mut clients = BTreeMap::new();
    for kind in kinds {
        let certificate = |ClientCertificateFiles { certificate, key }| ClientCertificate {
            certificate,
            key,
            password: None,
        };
        clients.extend(issue(kind)?.map(|files| (kind, certificate(files))));
    }
    Ok(clients)
}

/// True if arms use versions so old that a server of today offers them only where its settings name them.
pub(crate) fn need_old_tls(arms: &[&Arm]) -> bool {
    let oldest = arms.iter().filter_map(|arm| arm.transport.tls_version()).min();
    oldest.is_some_and(|version| version < TlsVersion::V1_2)
}
