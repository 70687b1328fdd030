//! The policy of a client for TLS, and what no client can be asked.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ciphertax_base::{Secret, Verified};
use ciphertax_model::{Group, Resumption, TlsLibrary, TlsVersion};
use serde::{Deserialize, Serialize};

use super::cipher;
use crate::error::{Result, WireError};

/// What a client asks of TLS. Whatever is asked for is pinned: what is not available is an error, never something else.
#[derive(Debug, Clone)]
pub struct TlsPolicy {
    /// The only version offered; `None` for the highest that both sides can.
    pub version: Option<TlsVersion>,
    /// The only cipher suite offered, by its OpenSSL name; `None` for the library's own list.
    pub cipher: Option<String>,
    /// The only group offered for the key exchange; `None` for the library's own list.
    pub group: Option<Group>,
    /// Whether sessions take up earlier ones.
    pub resumption: Resumption,
    /// How the server is verified.
    pub verification: Verification,
    /// The client's own certificate (mutual TLS); `None` for none.
    pub client_certificate: Option<ClientCertificate>,
    /// The protocol that the connection is said to be for (ALPN, RFC 7301); `None` where nothing is said of it.
    pub alpn: Option<&'static str>,
    /// The library that does it.
    pub library: TlsLibrary,
    /// Keeps no buffers for a session that waits: of 71 kB that OpenSSL 3.5 allocates for each, 37 are left, and an exchange
    /// takes 0.04 µs longer (a request of 100 bytes and an answer of 200). The buffers of rustls are our own, and small.
    pub releases_buffers: bool,
    /// Takes servers that are no longer thought safe: without secure renegotiation (RFC 5746; yaSSL, wolfSSL below TLS
    /// 1.3), with keys below 112 bits of strength (RSA 1024), and, where no version is pinned, with TLS 1.0 and 1.1. A
    /// pinned TLS 1.0 or 1.1 implies it, because no server of those versions is any better. It never adds anything to
    /// what a rustls client takes.
    pub legacy: bool,
}

impl TlsPolicy {
    /// This version (`None` for the highest that both sides can) with the defaults of OpenSSL, full handshakes and no
    /// certificate of the client's own.
    pub fn new(version: impl Into<Option<TlsVersion>>, verification: Verification) -> Self {
        Self {
            version: version.into(),
            cipher: None,
            group: None,
            resumption: Resumption::Off,
            verification,
            client_certificate: None,
            alpn: None,
            library: TlsLibrary::OpenSsl,
            releases_buffers: false,
            legacy: false,
        }
    }

    /// The same with a cipher suite for sessions that ask for none, where their version has it.
    #[must_use]
    pub fn or_cipher(self, cipher: Option<&String>) -> Self {
        let with = Self {
            cipher: self.cipher.as_ref().or(cipher).cloned(),
            ..self.clone()
        };
        if with.versions_of_cipher().is_ok() {
            with
        } else {
            self
        }
    }

    pub(super) fn takes_legacy_servers(&self) -> bool {
        self.legacy || self.version.is_some_and(|version| version < TlsVersion::V1_2)
    }

    /// The versions that are offered: those asked for, as far as the other settings exist in them.
    pub(super) fn versions(&self) -> Result<Versions> {
        let versions = self.versions_of_cipher()?;
        if self.group == Some(Group::X25519MlKem768) && versions.highest < TlsVersion::V1_3 {
            return Err(WireError::TlsSettings(format!(
                "the group {} exists in {} alone; {} has X25519, P-256 and P-384",
                Group::X25519MlKem768,
                TlsVersion::V1_3,
                versions.highest
            )));
        }
        if self.resumption == Resumption::SessionId && versions.highest == TlsVersion::V1_3 {
            return Err(WireError::TlsSettings(format!(
                "{} has no resumption by session id; ask for resumption by ticket, or for {} or older",
                TlsVersion::V1_3,
                TlsVersion::V1_2
            )));
        }
        Ok(versions)
    }

    /// Every suite belongs either to TLS 1.3 or to the versions before it.
    fn versions_of_cipher(&self) -> Result<Versions> {
        let oldest = if self.legacy {
            TlsVersion::V1_0
        } else {
            TlsVersion::V1_2
        };
        let (lowest, highest) = match self.version {
            Some(version) => (version, version),
            None => (oldest, TlsVersion::V1_3),
        };
        let Some(cipher) = &self.cipher else {
            return Ok(Versions { lowest, highest });
        };
        let versions = if cipher::is_of_tls13(cipher) {
            Versions {
                lowest: TlsVersion::V1_3,
                highest,
            }
        } else {
            Versions {
                lowest,
                highest: highest.min(TlsVersion::V1_2),
            }
        };
        if versions.lowest <= versions.highest {
            return Ok(versions);
        }
        let (not, instead) = match highest {
            TlsVersion::V1_3 => (TlsVersion::V1_3, "TLS_AES_128_GCM_SHA256"),
            older => (older, "ECDHE-RSA-AES128-SHA"),
        };
        Err(WireError::TlsSettings(format!(
            "{not} has no cipher suite {cipher}; it has others, such as {instead}"
        )))
    }
}

/// The versions that a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) lowest: TlsVersion,
    pub(super) highest: TlsVersion,
}

/// How the server's certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verification {
    /// Not at all: encrypted, but to whom is not known.
    None,
    /// The chain must lead to a certificate in this PEM file.
    Ca(PathBuf),
    /// The chain must lead to a certificate in this PEM file, and the certificate must be for this host name or
    /// address.
    HostName(PathBuf, String),
}

impl Verification {
    /// What it verifies, for records.
    pub fn verified(&self) -> Verified {
        match self {
            Self::None => Verified::None,
            Self::Ca(_) => Verified::Ca,
            Self::HostName(..) => Verified::HostName,
        }
    }

    /// The file that it verifies by.
    pub fn ca_file(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Ca(path) | Self::HostName(path, _) => Some(path),
        }
    }

    /// The name that a server of this host is told it is asked for (SNI, RFC 6066): the one that is verified, else the host's.
    /// Addresses are none, in any form that resolvers read.
    pub(super) fn server_name<'a>(&'a self, host: &'a str) -> Option<&'a str> {
        let host = match self {
            Self::HostName(_, name) => name,
            Self::None | Self::Ca(_) => host,
        };
        let is_address = host.contains(':') || host.chars().all(|char| char.is_ascii_digit() || char == '.');
        (!is_address).then(|| host.trim_end_matches('.'))
    }

    pub(super) fn name(&self) -> Option<Result<IpAddr, &str>> {
        match self {
            Self::HostName(_, name) => Some(name.parse::<IpAddr>().map_err(|_| name.as_str())),
            Self::None | Self::Ca(_) => None,
        }
    }
}

/// The client's own certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCertificate {
    /// PEM file of the certificate, followed by those of intermediate authorities.
    pub certificate: PathBuf,
    /// PEM file of its key.
    pub key: PathBuf,
    /// The password by which the key is encrypted, where it is.
    #[serde(skip)]
    pub password: Option<Secret>,
}

impl ClientCertificate {
    /// Both files or neither.
    pub(crate) fn of_files(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        password: Option<Secret>,
    ) -> Option<Option<Self>> {
        match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Some(Self {
                certificate,
                key,
                password,
            })),
            (None, None) => Some(None),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use TlsVersion::{V1_0, V1_2, V1_3};

    use super::*;

    fn policy(version: Option<TlsVersion>) -> TlsPolicy {
        TlsPolicy::new(version, Verification::None)
    }

    fn versions(policy: &TlsPolicy) -> (TlsVersion, TlsVersion) {
        let versions = policy.versions().unwrap();
        (versions.lowest, versions.highest)
    }

    #[test]
    fn old_versions_are_offered_only_when_asked_for() {
        assert_eq!(versions(&policy(None)), (V1_2, V1_3));
        assert_eq!(versions(&policy(Some(V1_0))), (V1_0, V1_0));
        let legacy = TlsPolicy {
            legacy: true,
            ..policy(None)
        };
        assert_eq!(versions(&legacy), (V1_0, V1_3));
        assert!(!policy(Some(V1_2)).takes_legacy_servers() && !policy(None).takes_legacy_servers());
        assert!(policy(Some(V1_0)).takes_legacy_servers() && legacy.takes_legacy_servers());
    }

    #[test]
    fn a_cipher_narrows_the_versions_to_those_that_have_it() {
        let with = |cipher: &str| TlsPolicy {
            cipher: Some(cipher.into()),
            ..policy(None)
        };
        assert_eq!(versions(&with("TLS_AES_256_GCM_SHA384")), (V1_3, V1_3));
        assert_eq!(versions(&with("ECDHE-RSA-AES128-GCM-SHA256")), (V1_2, V1_2));
    }

    #[test]
    fn a_suite_for_all_leaves_alone_what_names_another_or_has_none_such() {
        let suite = "ECDHE-RSA-AES128-GCM-SHA256".to_owned();
        let with = |policy: TlsPolicy| policy.or_cipher(Some(&suite)).cipher;
        assert_eq!(with(policy(None)), Some(suite.clone()));
        assert_eq!(with(policy(Some(V1_2))), Some(suite.clone()));
        assert_eq!(with(policy(Some(V1_3))), None);
        let mut own = policy(Some(V1_2));
        own.cipher = Some("AES128-SHA".into());
        assert_eq!(with(own.clone()), own.cipher);
    }

    #[test]
    fn contradictions_name_what_there_is_instead() {
        let cipher = |version, cipher: &str| TlsPolicy {
            cipher: Some(cipher.into()),
            ..policy(Some(version))
        };
        let post_quantum = TlsPolicy {
            group: Some(Group::X25519MlKem768),
            ..policy(Some(V1_2))
        };
        let by_id = |version| TlsPolicy {
            resumption: Resumption::SessionId,
            ..policy(version)
        };
        for (policy, words) in [
            (cipher(V1_3, "AES128-SHA"), ["TLSv1.3", "TLS_AES_128_GCM_SHA256"]),
            (cipher(V1_2, "TLS_AES_128_GCM_SHA256"), ["TLSv1.2", "ECDHE-"]),
            (post_quantum, ["X25519MLKEM768", "P-256"]),
            (by_id(None), ["session id", "ticket"]),
            (by_id(Some(V1_3)), ["session id", "ticket"]),
        ] {
            let problem = policy.versions().unwrap_err().to_string();
            assert!(words.iter().all(|word| problem.contains(word)), "{problem}");
        }
        assert_eq!(versions(&by_id(Some(V1_2))), (V1_2, V1_2));
    }
}
