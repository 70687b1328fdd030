//! What a private MongoDB server is told.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ciphertax_model::{CertificateKind, TlsVersion};

/// Everyday settings, each told although it is the default where a measurement depends on it.
const PARAMETERS: [(&str, &str); 4] = [
    ("diagnosticDataCollectionEnabled", "false"),
    // Iterations of SCRAM, which clients pay for at every login: MongoDB's defaults.
    ("scramIterationCount", "10000"),
    ("scramSHA256IterationCount", "15000"),
    // Nobody waits for a server whose data go with it. The default is 15 s.
    ("shutdownTimeoutMillisForSignaledShutdown", "100"),
];

/// The mechanisms that clients may log in by.
const MECHANISMS: &str = "SCRAM-SHA-1,SCRAM-SHA-256,MONGODB-X509";

/// Files of the journal are of 100 MB by default, and there are three before anything is written.
const JOURNAL: &str = "log=(file_max=16MB)";

/// The smallest log of operations that a replica set has by default, in megabytes; by default it is a part of the disk.
const OPLOG_MB: &str = "990";

/// MongoDB's own list of ciphers with what OpenSSL's security levels forbid: TLS before 1.2 and RSA keys of 1024 bits.
const EVERY_SECURITY_LEVEL: &str = "HIGH:!EXPORT:!aNULL@STRENGTH:@SECLEVEL=0";

/// What all servers of a deployment are told.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Memory for data and indexes, in megabytes.
    pub(super) cache_mb: u32,
    /// Options besides.
    pub(super) further: Vec<(&'static str, String)>,
    /// Nobody may do anything without a login.
    pub(super) access_control: bool,
    /// The name of the replica set that the server belongs to.
    pub(super) replica_set: Option<&'static str>,
    /// The secret that members of a replica set with access control know each other by.
    pub(super) key_file: Option<PathBuf>,
    /// TLS; `None` for a server without it.
    pub(super) tls: Option<TlsSettings>,
}

/// How a server offers TLS.
#[derive(Debug, Clone)]
pub(super) struct TlsSettings {
    /// Its certificate, those of intermediate authorities, and its key.
    pub(super) bundle: PathBuf,
    /// The authority of its clients' certificates.
    pub(super) ca: PathBuf,
    /// The kind of its key.
    pub(super) kind: CertificateKind,
    /// The versions that it offers; empty for its own choice.
    pub(super) versions: Vec<TlsVersion>,
}

impl Settings {
    /// The arguments of a server that keeps its data in `data` and listens on `port` of the loopback address.
    pub(super) fn arguments(&self, data: &Path, port: u16) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            data_option(data),
            format!("--port={port}").into(),
            "--bind_ip=127.0.0.1".into(),
            "--nounixsocket".into(),
        ];
        let mut path = |name: &str, path: &Path| {
            let mut argument = OsString::from(format!("--{name}="));
            argument.push(path);
            arguments.push(argument);
        };
        if let Some(file) = &self.key_file {
            path("keyFile", file);
        }
        if let Some(tls) = &self.tls {
            path("tlsCertificateKeyFile", &tls.bundle);
            path("tlsCAFile", &tls.ca);
        }
        for (name, value) in self.options() {
            arguments.push(match value {
                Some(value) => format!("--{name}={value}").into(),
                None => format!("--{name}").into(),
            });
        }
        for (name, value) in self.parameters() {
            arguments.push("--setParameter".into());
            arguments.push(format!("{name}={value}").into());
        }
        arguments
    }

    /// What matters for a measurement, by the server's own names.
    pub(super) fn told(&self) -> BTreeMap<String, String> {
        let options = self
            .options()
            .into_iter()
            .map(|(name, value)| (name, value.unwrap_or_else(|| "ON".into())));
        let write_concern = self
            .replica_set
            .map(|_| ("defaultWriteConcern", "majority".into()));
        options
            .chain(self.parameters())
            .chain(write_concern)
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn options(&self) -> Vec<(&'static str, Option<String>)> {
        let mut options = vec![
            (
                "wiredTigerCacheSizeGB",
                Some((f64::from(self.cache_mb) / 1024.0).to_string()),
            ),
            ("wiredTigerEngineConfigString", Some(JOURNAL.into())),
        ];
        let further = self.further.iter();
        options.extend(further.map(|(name, value)| (*name, Some(value.clone()))));
        if self.access_control && self.key_file.is_none() {
            options.push(("auth", None));
        }
        if let Some(name) = self.replica_set {
            options.push(("replSet", Some(name.into())));
            options.push(("oplogSize", Some(OPLOG_MB.into())));
        }
        if let Some(tls) = &self.tls {
            // Both kinds of connections are taken, and members of a replica set speak with each other in clear.
            options.push(("tlsMode", Some("allowTLS".into())));
            options.push(("tlsAllowConnectionsWithoutCertificates", None));
            if !tls.versions.is_empty() {
                options.push(("tlsDisabledProtocols", Some(disabled(&tls.versions))));
            }
        }
        options
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = PARAMETERS.map(|(name, value)| (name, value.to_owned())).to_vec();
        if self.access_control {
            parameters.push(("authenticationMechanisms", MECHANISMS.into()));
        }
        if self
            .tls
            .as_ref()
            .is_some_and(TlsSettings::needs_every_security_level)
        {
            parameters.push(("opensslCipherConfig", EVERY_SECURITY_LEVEL.into()));
        }
        parameters
    }
}

impl TlsSettings {
    fn needs_every_security_level(&self) -> bool {
        let old = self.versions.iter().any(|version| *version < TlsVersion::V1_2);
        old || self.kind == CertificateKind::Rsa1024
    }
}

/// The option by which a server finds its data, and by which a server of ours is known (see [`crate::leftovers`]).
fn data_option(data: &Path) -> OsString {
    let mut option = OsString::from(crate::leftovers::DATA_OPTION);
    option.push(data);
    option
}

/// The versions that are not among these, by the server's names; `none` if all are.
fn disabled(versions: &[TlsVersion]) -> String {
    let names: Vec<&str> = TlsVersion::ALL
        .iter()
        .filter(|version| !versions.contains(version))
        .map(|version| match version {
            TlsVersion::V1_0 => "TLS1_0",
            TlsVersion::V1_1 => "TLS1_1",
            TlsVersion::V1_2 => "TLS1_2",
            TlsVersion::V1_3 => "TLS1_3",
        })
        .collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_tls_versions_are_enabled_with_openssls_security_level() {
        let old = settings(CertificateKind::EcdsaP256, &[TlsVersion::V1_0, TlsVersion::V1_3]);
        assert_eq!(old.told()["tlsDisabledProtocols"], "TLS1_1,TLS1_2");
        assert_eq!(old.told()["opensslCipherConfig"], EVERY_SECURITY_LEVEL);
        let all = settings(CertificateKind::EcdsaP256, &TlsVersion::ALL);
        assert_eq!(all.told()["tlsDisabledProtocols"], "none");
        let new = settings(CertificateKind::EcdsaP256, &[TlsVersion::V1_3]);
        assert!(!new.told().contains_key("opensslCipherConfig"));
        let short = settings(CertificateKind::Rsa1024, &[]);
        assert!(!short.told().contains_key("tlsDisabledProtocols"));
        assert_eq!(short.told()["opensslCipherConfig"], EVERY_SECURITY_LEVEL);
    }

    #[test]
    fn what_matters_for_a_measurement_is_told() {
        let told = settings(CertificateKind::EcdsaP256, &[]).told();
        assert_eq!(told["wiredTigerCacheSizeGB"], "0.25");
        assert_eq!(told["scramSHA256IterationCount"], "15000");
        assert_eq!(told["tlsMode"], "allowTLS");
        assert!(!told.contains_key("auth"));
    }

    fn settings(kind: CertificateKind, versions: &[TlsVersion]) -> Settings {
        Settings {
            cache_mb: 256,
            further: Vec::new(),
            access_control: false,
            replica_set: None,
            key_file: None,
            tls: Some(TlsSettings {
                bundle: "server.pem".into(),
                ca: "ca.pem".into(),
                kind,
                versions: versions.to_vec(),
            }),
        }
    }
}
