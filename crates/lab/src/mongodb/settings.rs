//! The settings of a private MongoDB server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ciphertax_model::TlsVersion;

use crate::certificates::CertificateFiles;
use crate::server::spec::Spec;

use super::set_up::SET_NAME;

pub(super) const DATA_OPTION: &str = "--dbpath=";

/// Memory for data and indexes, in megabytes, if nothing else is asked for. MongoDB starts to write changed pages out
/// when they fill a twentieth of it: with less, writes of a few seconds make it evict and read again what was loaded. It
/// takes no less than 256.
const CACHE_MB: u32 = 1024;

/// Settings of every server, each named although it is the default where a measurement depends on it.
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

/// What all servers of a deployment are started with.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    pub(super) spec: &'a Spec,
    /// Their certificate; `None` for servers without TLS.
    pub(super) tls: Option<CertificateFiles>,
    /// The secret that members of a replica set with access control know each other by.
    pub(super) key_file: Option<PathBuf>,
}

impl Settings<'_> {
    /// The arguments of a server that keeps its data in `data` and listens on `port`.
    pub(super) fn arguments(&self, data: &Path, port: u16) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            data_option(data),
            format!("--port={port}").into(),
            format!("--bind_ip={}", self.spec.listens_on()).into(),
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
            path("tlsCertificateKeyFile", &tls.certificate);
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
    pub(super) fn of_interest(&self) -> BTreeMap<String, String> {
        let options = self
            .options()
            .into_iter()
            .map(|(name, value)| (name, value.unwrap_or_else(|| "ON".into())));
        let set = self.spec.replica_set;
        let write_concern = set.map(|_| ("defaultWriteConcern", "majority".into()));
        let further = self.spec.option_settings();
        options
            .chain(self.parameters())
            .chain(write_concern)
            .chain(further.map(|(name, value)| (name, value.to_owned())))
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    fn options(&self) -> Vec<(&'static str, Option<String>)> {
        let cache_mb = self.spec.cache_mb.unwrap_or(CACHE_MB);
        let mut options = vec![
            (
                "wiredTigerCacheSizeGB",
                Some((f64::from(cache_mb) / 1024.0).to_string()),
            ),
            ("wiredTigerEngineConfigString", Some(JOURNAL.into())),
        ];
        if self.spec.access_control && self.key_file.is_none() {
            options.push(("auth", None));
        }
        if self.spec.replica_set.is_some() {
            options.push(("replSet", Some(SET_NAME.into())));
            options.push(("oplogSize", Some(OPLOG_MB.into())));
        }
        if self.tls.is_some() {
            // Both kinds of connections are taken; which those of a replica set's members to each other are is its difference.
            let mode = if self.spec.cluster_tls {
                "preferTLS"
            } else {
                "allowTLS"
            };
            options.push(("tlsMode", Some(mode.into())));
            options.push(("tlsAllowConnectionsWithoutCertificates", None));
            let versions = &self.spec.tls_versions[..];
            if !versions.is_empty() {
                options.push(("tlsDisabledProtocols", Some(disabled(versions))));
            }
        }
        options
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = PARAMETERS.map(|(name, value)| (name, value.to_owned())).to_vec();
        if self.spec.access_control {
            parameters.push(("authenticationMechanisms", MECHANISMS.into()));
        }
        if self.tls.is_some() && self.spec.needs_every_security_level() {
            parameters.push(("opensslCipherConfig", EVERY_SECURITY_LEVEL.into()));
        }
        parameters
    }
}

fn data_option(data: &Path) -> OsString {
    let mut option = OsString::from(DATA_OPTION);
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
    use ciphertax_model::CertificateKind;

    use super::*;
    use crate::catalogue::MONGODB;
    use crate::server::spec::Tls;

    #[test]
    fn old_tls_versions_are_enabled_with_openssls_security_level() {
        let old = settings(CertificateKind::EcdsaP256, &[TlsVersion::V1_0, TlsVersion::V1_3]);
        assert_eq!(old["tlsDisabledProtocols"], "TLS1_1,TLS1_2");
        assert_eq!(old["opensslCipherConfig"], EVERY_SECURITY_LEVEL);
        let all = settings(CertificateKind::EcdsaP256, &TlsVersion::ALL);
        assert_eq!(all["tlsDisabledProtocols"], "none");
        let new = settings(CertificateKind::EcdsaP256, &[TlsVersion::V1_3]);
        assert!(!new.contains_key("opensslCipherConfig"));
        let short = settings(CertificateKind::Rsa1024, &[]);
        assert!(!short.contains_key("tlsDisabledProtocols"));
        assert_eq!(short["opensslCipherConfig"], EVERY_SECURITY_LEVEL);
    }

    #[test]
    fn what_matters_for_a_measurement_is_named() {
        let settings = settings(CertificateKind::EcdsaP256, &[]);
        assert_eq!(settings["wiredTigerCacheSizeGB"], "0.25");
        assert_eq!(settings["scramSHA256IterationCount"], "15000");
        assert_eq!(settings["tlsMode"], "allowTLS");
        assert_eq!(settings["maxConns"], "30");
        assert!(!settings.contains_key("auth"));
    }

    fn settings(kind: CertificateKind, versions: &[TlsVersion]) -> BTreeMap<String, String> {
        let mut spec = Spec::new(&MONGODB);
        spec.cache_mb = Some(256);
        spec.access_control = false;
        spec.tls = Tls::With(kind);
        spec.tls_versions = versions.to_vec();
        spec.options.push("--maxConns=30".into());
        let files = CertificateFiles {
            ca: "ca.pem".into(),
            certificate: "server.pem".into(),
            key: "server.pem".into(),
        };
        let settings = Settings {
            spec: &spec,
            tls: Some(files),
            key_file: None,
        };
        settings.of_interest()
    }
}
