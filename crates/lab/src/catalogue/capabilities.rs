//! What a server can do, and which settings it must refuse.

use std::fmt;

use ciphertax_model::{
    Arm, AuthenticationMethod, Certificate, CertificateKind, Group, PasswordCache, Resumption, TlsLibrary,
    TlsNegotiation, TlsVersion,
};
use serde::Serialize;

use super::at_rest::{AtRestCapabilities, StorageCapabilities};

/// What a server can do, as far as arms ask for it. Held to by tests against the real server.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Capabilities {
    /// The server's name in the catalogue, for messages.
    #[serde(skip)]
    pub server: &'static str,
    /// TLS versions that can be enabled, the oldest first.
    pub tls_versions: &'static [TlsVersion],
    /// Keys that its certificate can have, and those of client certificates.
    pub certificates: &'static [CertificateKind],
    /// Groups of the key exchange; empty where there is only RSA or Diffie-Hellman over finite fields.
    pub groups: &'static [Group],
    /// Cipher suites.
    pub ciphers: Ciphers,
    /// How sessions can be resumed, by TLS version.
    pub resumption: &'static [VersionResumption],
    /// How accounts can log in; by the first the default account does.
    pub authentication: &'static [AuthenticationMethod],
    /// The statement that makes it forget the passwords of logins by `caching_sha2_password`; `None` where it never
    /// remembers one, so that every such login is cold.
    pub forget_passwords: Option<&'static str>,
    /// Whether it can listen on several chosen addresses (`bind_address=a,b`), and not only on one or on all.
    pub several_addresses: bool,
    /// Whether its sessions below TLS 1.3 can be renegotiated safely (RFC 5746). Where not, a client of OpenSSL 3 must
    /// allow legacy connections.
    pub secure_renegotiation: bool,
    /// Whether it takes a TLS handshake without being asked for one first.
    pub direct_tls: bool,
    /// How several of them can hold the same data and all take part in every commit; `None` where they cannot.
    pub cluster: Option<Cluster>,
    /// What it can encrypt on the disk by itself.
    pub at_rest: AtRestCapabilities,
    /// How it can be told to keep data in memory, and to write them.
    pub storage: StorageCapabilities,
}

/// How nodes that all take part in every commit do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cluster {
    /// Galera's write sets, which a library carries that MariaDB loads.
    Galera,
    /// MySQL's group replication, with a single primary.
    GroupReplication,
}

/// How sessions of a TLS version can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VersionResumption {
    /// The TLS version.
    pub version: TlsVersion,
    /// The ways there are.
    pub by: &'static [Resumption],
}

/// Which cipher suites a server has, by OpenSSL's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ciphers {
    /// These alone.
    Only(&'static [&'static str]),
    /// Those of its library that have none of these words in their names, such as `CHACHA20`.
    Without(&'static [&'static str]),
}

/// A setting that a server cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The server's name in the catalogue.
    pub server: &'static str,
    /// What it was asked for, for example `TLSv1.3`.
    pub setting: String,
    /// What it can do instead, in words.
    pub instead: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} cannot do {}; it can do {}",
            self.server, self.setting, self.instead
        )
    }
}

impl Capabilities {
    /// What an arm asks for that this server cannot do, with a certificate of this kind; empty if it can do all.
    pub fn refuse(&self, arm: &Arm, certificate: &Certificate) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if arm.transport.is_encrypted() {
            refusals.extend(self.refuse_certificate(certificate.kind));
            refusals.extend(self.refuse_tls(arm, certificate.kind));
        }
        refusals.extend(self.refuse_authentication(arm));
        refusals.extend(self.refuse_at_rest(&arm.at_rest));
        refusals
    }

    /// A cluster of so many nodes that it cannot be; a single server anything can be.
    pub fn refuse_nodes(&self, nodes: u8) -> Option<Refusal> {
        (nodes > 1 && self.cluster.is_none()).then(|| Refusal {
            server: self.server,
            setting: format!("a cluster of {nodes} nodes"),
            instead: "a single server".into(),
        })
    }

    /// A TLS version that cannot be enabled.
    pub fn refuse_version(&self, version: TlsVersion) -> Option<Refusal> {
        let can = self.tls_versions.contains(&version);
        (!can).then(|| self.refusal(version, list(self.tls_versions)))
    }

    /// A key that the server's certificate cannot have.
    pub fn refuse_certificate(&self, kind: CertificateKind) -> Option<Refusal> {
        let can = self.certificates.contains(&kind);
        (!can).then(|| self.refusal(format!("a certificate {kind}"), list(self.certificates)))
    }

    /// A method by which no account can log in.
    pub fn refuse_method(&self, method: AuthenticationMethod) -> Option<Refusal> {
        let can = self.authentication.contains(&method);
        (!can).then(|| self.refusal(format!("authentication by {method}"), list(self.authentication)))
    }

    fn refuse_tls(&self, arm: &Arm, certificate: CertificateKind) -> Vec<Refusal> {
        let version = arm.transport.tls_version();
        if let Some(refusal) = version.and_then(|version| self.refuse_version(version)) {
            // What the other settings would need of a version that is not there is of no use.
            return vec![refusal];
        }
        let newest = version.or(self.tls_versions.last().copied());
        [
            newest.and_then(|version| self.refuse_key_in_version(certificate, version)),
            newest.and_then(|version| self.refuse_library(arm.tls.library, certificate, version)),
            arm.tls
                .client_certificate
                .filter(|kind| !self.certificates.contains(kind))
                .map(|kind| self.refusal(format!("a client certificate {kind}"), list(self.certificates))),
            arm.tls.group.and_then(|group| self.refuse_group(group, newest)),
            arm.tls
                .cipher
                .as_deref()
                .and_then(|cipher| self.refuse_cipher(cipher)),
            newest.and_then(|version| self.refuse_resumption(arm.tls.resumption, version)),
            self.refuse_negotiation(arm.tls.negotiation),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Ed25519 has no place in TLS before 1.2 (RFC 8422).
    fn refuse_key_in_version(&self, kind: CertificateKind, version: TlsVersion) -> Option<Refusal> {
        let cannot = kind == CertificateKind::Ed25519 && version < TlsVersion::V1_2;
        cannot.then(|| {
            let others: Vec<CertificateKind> = self
                .certificates
                .iter()
                .copied()
                .filter(|other| *other != kind)
                .collect();
            self.refusal(format!("a certificate {kind} in {version}"), list(&others))
        })
    }

    /// rustls knows neither TLS before 1.2 nor RSA keys of less than 2048 bits.
    fn refuse_library(
        &self,
        library: TlsLibrary,
        certificate: CertificateKind,
        version: TlsVersion,
    ) -> Option<Refusal> {
        let setting = match library {
            TlsLibrary::OpenSsl => return None,
            TlsLibrary::Rustls if version < TlsVersion::V1_2 => format!("{version} with rustls"),
            TlsLibrary::Rustls if certificate == CertificateKind::Rsa1024 => {
                format!("a certificate {certificate} with rustls")
            }
            TlsLibrary::Rustls => return None,
        };
        Some(self.refusal(setting, format!("it with {}", TlsLibrary::OpenSsl.name())))
    }

    /// Hybrid groups exist in TLS 1.3 alone.
    fn refuse_group(&self, group: Group, version: Option<TlsVersion>) -> Option<Refusal> {
        if !self.groups.contains(&group) {
            return Some(self.refusal(format!("the group {group}"), list(self.groups)));
        }
        let version = version.filter(|version| *version < TlsVersion::V1_3)?;
        (group == Group::X25519MlKem768).then(|| {
            let others: Vec<Group> = self
                .groups
                .iter()
                .copied()
                .filter(|other| *other != group)
                .collect();
            self.refusal(format!("the group {group} in {version}"), list(&others))
        })
    }

    fn refuse_cipher(&self, cipher: &str) -> Option<Refusal> {
        let instead = match self.ciphers {
            Ciphers::Only(names) if names.contains(&cipher) => return None,
            Ciphers::Only(names) => list(names),
            Ciphers::Without(words) => {
                cipher.split(['-', '_']).find(|word| words.contains(word))?;
                format!("the ciphers of its library without {}", list(words))
            }
        };
        Some(self.refusal(format!("the cipher {cipher}"), instead))
    }

    fn refuse_resumption(&self, wanted: Resumption, version: TlsVersion) -> Option<Refusal> {
        if wanted == Resumption::Off {
            return None;
        }
        let ways = self
            .resumption
            .iter()
            .find(|entry| entry.version == version)
            .map_or(&[][..], |entry| entry.by);
        if ways.contains(&wanted) {
            return None;
        }
        let instead: Vec<&str> = [Resumption::Off]
            .iter()
            .chain(ways)
            .map(|resumption| resumption.name())
            .collect();
        Some(self.refusal(
            format!("resumption by {} in {version}", wanted.name()),
            list(&instead),
        ))
    }

    fn refuse_negotiation(&self, negotiation: TlsNegotiation) -> Option<Refusal> {
        let cannot = negotiation == TlsNegotiation::Direct && !self.direct_tls;
        cannot.then(|| self.refusal("TLS without a request", "TLS after a request".into()))
    }

    fn refuse_authentication(&self, arm: &Arm) -> Option<Refusal> {
        let asked = arm.authentication.method;
        if let Some(refusal) = asked.and_then(|method| self.refuse_method(method)) {
            return Some(refusal);
        }
        let method = asked.or(self.authentication.first().copied());
        if method == Some(AuthenticationMethod::MongodbX509) && !arm.transport.is_encrypted() {
            return Some(self.refusal("MONGODB-X509 without TLS", "it with TLS".into()));
        }
        let caching = method == Some(AuthenticationMethod::CachingSha2Password);
        match arm.authentication.password_cache {
            PasswordCache::Warm if caching && self.forget_passwords.is_none() => Some(self.refusal(
                "a warm password cache",
                "cold ones: it remembers no password".into(),
            )),
            // The client keeps the keys of SCRAM or forgets them, whatever the server does.
            PasswordCache::Cold if method.is_some_and(AuthenticationMethod::is_scram) => None,
            PasswordCache::Cold if method.is_some_and(AuthenticationMethod::is_of_mongodb) => {
                Some(self.refusal(
                    "a cold password cache without SCRAM",
                    "warm ones, which is the same for methods without a cache".into(),
                ))
            }
            PasswordCache::Cold if !caching => Some(self.refusal(
                "a cold password cache without caching_sha2_password",
                "warm ones, which is the same for methods without a cache".into(),
            )),
            PasswordCache::Warm | PasswordCache::Cold => None,
        }
    }

    pub(super) fn refusal(&self, setting: impl fmt::Display, instead: String) -> Refusal {
        Refusal {
            server: self.server,
            setting: setting.to_string(),
            instead,
        }
    }
}

/// The words, separated by commas; `none of its kind` if there are none.
pub(super) fn list(words: &[impl fmt::Display]) -> String {
    if words.is_empty() {
        return "none of its kind".into();
    }
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{Authentication, TlsSettings, Transport};

    use super::*;
    use crate::catalogue::{
        CATALOGUE, Entry, MARIADB, MARIADB_10_2, MARIADB_11_8, MONGODB, MYSQL, MYSQL_5_6,
    };

    #[test]
    fn settings_that_a_server_cannot_do_are_refused_by_name_with_the_alternative() {
        for (server, arm, kind, words) in [
            (
                &MARIADB_10_2,
                arm(Transport::Tls11),
                CertificateKind::EcdsaP256,
                ["mariadb-10.2", "a certificate ecdsa-p256", "rsa-2048"],
            ),
            (
                &MYSQL,
                with_group(Group::X25519),
                CertificateKind::Rsa2048,
                ["mysql ", "the group X25519", "P-256, P-384"],
            ),
            (
                &MARIADB,
                with_group(Group::X25519MlKem768),
                CertificateKind::Rsa2048,
                ["mariadb ", "the group X25519MLKEM768", "X25519, P-256"],
            ),
            (
                &MYSQL_5_6,
                arm(Transport::Tls13),
                CertificateKind::Rsa2048,
                ["mysql-5.6", "TLSv1.3", "TLSv1"],
            ),
            (
                &MYSQL,
                with_method(AuthenticationMethod::Ed25519),
                CertificateKind::Rsa2048,
                ["mysql ", "authentication by ed25519", "caching_sha2_password"],
            ),
            (
                &MONGODB,
                with_method(AuthenticationMethod::CachingSha2Password),
                CertificateKind::Rsa2048,
                [
                    "mongodb ",
                    "authentication by caching_sha2_password",
                    "SCRAM-SHA-256",
                ],
            ),
            (
                &MONGODB,
                with_method(AuthenticationMethod::MongodbX509),
                CertificateKind::Rsa2048,
                ["mongodb ", "MONGODB-X509 without TLS", "with TLS"],
            ),
            (
                &MARIADB,
                with_method(AuthenticationMethod::ScramSha256),
                CertificateKind::Rsa2048,
                [
                    "mariadb ",
                    "authentication by SCRAM-SHA-256",
                    "mysql_native_password",
                ],
            ),
        ] {
            let refusals = server.capabilities.refuse(&arm, &certificate(kind));
            let [refusal] = &refusals[..] else {
                panic!("{}: {refusals:?}", server.name)
            };
            for word in words {
                assert!(
                    refusal.to_string().contains(word),
                    "{word:?} is not in: {refusal}"
                );
            }
        }
    }

    #[test]
    fn every_setting_that_is_refused_is_named() {
        let mut everything = with_group(Group::X25519);
        everything.transport = Transport::Tls10;
        everything.tls.cipher = Some("ECDHE-RSA-AES128-GCM-SHA256".into());
        everything.tls.resumption = Resumption::Ticket;
        everything.tls.client_certificate = Some(CertificateKind::EcdsaP384);
        everything.authentication.method = Some(AuthenticationMethod::Ed25519);
        let refusals = MYSQL_5_6
            .capabilities
            .refuse(&everything, &certificate(CertificateKind::Ed25519));
        assert!(refusals.len() >= 6, "{refusals:#?}");
    }

    #[test]
    fn what_belongs_to_tls_is_not_asked_of_a_plain_arm() {
        let mut plain = with_group(Group::X25519);
        plain.transport = Transport::Plain;
        let refusals = MYSQL_5_6
            .capabilities
            .refuse(&plain, &certificate(CertificateKind::EcdsaP256));
        assert_eq!(refusals, []);
    }

    #[test]
    fn hybrid_groups_need_tls_1_3_and_ed25519_needs_1_2() {
        let mut hybrid = with_group(Group::X25519MlKem768);
        let rsa = certificate(CertificateKind::Rsa2048);
        assert_eq!(MARIADB_11_8.capabilities.refuse(&hybrid, &rsa), []);
        hybrid.transport = Transport::Tls12;
        assert_eq!(MARIADB_11_8.capabilities.refuse(&hybrid, &rsa).len(), 1);
        let edwards = certificate(CertificateKind::Ed25519);
        assert_eq!(MARIADB.capabilities.refuse(&arm(Transport::Tls12), &edwards), []);
        assert_eq!(
            MARIADB
                .capabilities
                .refuse(&arm(Transport::Tls11), &edwards)
                .len(),
            1
        );
    }

    #[test]
    fn rustls_needs_tls_1_2_and_a_key_that_is_long_enough() {
        let mut rustls = arm(Transport::Tls);
        rustls.tls.library = TlsLibrary::Rustls;
        let refused = |server: &Entry, kind| server.capabilities.refuse(&rustls, &certificate(kind)).len();
        assert_eq!(refused(&MARIADB, CertificateKind::Rsa2048), 0);
        assert_eq!(refused(&MARIADB, CertificateKind::Rsa1024), 1);
        assert_eq!(refused(&MYSQL_5_6, CertificateKind::Rsa2048), 1);
    }

    #[test]
    fn password_caches_are_for_one_method_and_not_on_every_server() {
        for (server, method, cache, refused) in [
            (&MYSQL, None, PasswordCache::Warm, false),
            (&MYSQL, None, PasswordCache::Cold, false),
            (
                &MYSQL,
                Some(AuthenticationMethod::Sha256Password),
                PasswordCache::Cold,
                true,
            ),
            (&MARIADB, None, PasswordCache::Warm, false),
            (&MARIADB, None, PasswordCache::Cold, true),
            (
                &MARIADB_11_8,
                Some(AuthenticationMethod::CachingSha2Password),
                PasswordCache::Warm,
                true,
            ),
            (
                &MARIADB_11_8,
                Some(AuthenticationMethod::CachingSha2Password),
                PasswordCache::Cold,
                false,
            ),
            (&MONGODB, None, PasswordCache::Warm, false),
            (&MONGODB, None, PasswordCache::Cold, false),
            (
                &MONGODB,
                Some(AuthenticationMethod::ScramSha1),
                PasswordCache::Cold,
                false,
            ),
            (
                &MONGODB,
                Some(AuthenticationMethod::NoLogin),
                PasswordCache::Cold,
                true,
            ),
        ] {
            let mut arm = arm(Transport::Plain);
            arm.authentication = Authentication {
                method,
                password_cache: cache,
                ..Authentication::default()
            };
            let refusals = server.capabilities.refuse(&arm, &Certificate::default());
            assert_eq!(
                !refusals.is_empty(),
                refused,
                "{}: {:?}",
                server.name,
                arm.authentication
            );
        }
    }

    #[test]
    fn every_server_can_do_plain_and_its_own_newest_tls() {
        for entry in CATALOGUE {
            let capabilities = entry.capabilities;
            let Some(kind) = capabilities.certificates.first().copied() else {
                let refusals =
                    capabilities.refuse(&arm(Transport::Tls), &certificate(CertificateKind::Rsa2048));
                assert!(entry.is_built_in() && !refusals.is_empty(), "{}", entry.name);
                continue;
            };
            for transport in [Transport::Plain, Transport::Tls] {
                let refusals = capabilities.refuse(&arm(transport), &certificate(kind));
                assert_eq!(refusals, [], "{}", entry.name);
            }
            assert!(capabilities.tls_versions.is_sorted(), "{}", entry.name);
        }
    }

    fn arm(transport: Transport) -> Arm {
        Arm::new("it", transport)
    }

    fn with_group(group: Group) -> Arm {
        Arm {
            tls: TlsSettings {
                group: Some(group),
                ..TlsSettings::default()
            },
            ..arm(Transport::Tls)
        }
    }

    fn with_method(method: AuthenticationMethod) -> Arm {
        Arm {
            authentication: Authentication {
                method: Some(method),
                ..Authentication::default()
            },
            ..arm(Transport::Plain)
        }
    }

    fn certificate(kind: CertificateKind) -> Certificate {
        Certificate {
            kind,
            ..Certificate::default()
        }
    }
}
