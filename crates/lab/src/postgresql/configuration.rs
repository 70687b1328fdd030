//! The settings of a private server (`postgresql.conf`).

use std::collections::BTreeMap;
use std::path::Path;

use ciphertax_model::Group;

use crate::catalogue::{GroupControl, PostgreSqlVariant};
use crate::certificates::CertificateFiles;
use crate::server::spec::Spec;

use super::cluster::name_of;

/// Memory for data and indexes, in megabytes, if nothing else is asked for.
const CACHE_MB: u32 = 256;

/// Settings of every server, each named although it is the default where a measurement depends on it.
const SETTINGS: [(&str, &str); 3] = [
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
];

/// What nobody who measures has to know.
const HOUSEHOLD: [(&str, &str); 5] = [
    // The folder of data is its working folder, so that the path is short enough.
    ("unix_socket_directories", "."),
    // By default it lies in a place of the whole machine, and stays there if the server is killed.
    ("dynamic_shared_memory_type", "mmap"),
    ("lc_messages", "C"),
    // The only time zone that it knows without files.
    ("timezone", "GMT"),
    ("log_timezone", "GMT"),
];

/// PostgreSQL's own list of ciphers with what OpenSSL's security levels forbid: TLS before 1.2 and RSA keys of 1024
/// bits.
const EVERY_SECURITY_LEVEL: &str = "HIGH:MEDIUM:+3DES:!aNULL:@SECLEVEL=0";

/// The groups that a server offers that knows several: its own two first, as it would choose by itself.
const GROUPS: [Group; 4] = [Group::X25519, Group::P256, Group::P384, Group::X25519MlKem768];

/// What a server is started with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration<'a> {
    pub(super) variant: &'a PostgreSqlVariant,
    pub(super) spec: &'a Spec,
    /// Its certificate; `None` for a server without TLS.
    pub(super) tls: Option<&'a CertificateFiles>,
}

impl Configuration<'_> {
    /// The text of `postgresql.conf` for the server in `folder`.
    pub(super) fn text(&self, folder: &Path) -> String {
        let household = HOUSEHOLD.into_iter().map(owned);
        let own = [
            ("cluster_name".to_owned(), name_of(folder)),
            ("listen_addresses".to_owned(), self.spec.listens_on().to_string()),
        ];
        let files = self.tls.into_iter().flat_map(|files| {
            [
                ("ssl_ca_file", &files.ca),
                ("ssl_cert_file", &files.certificate),
                ("ssl_key_file", &files.key),
            ]
            .map(|(name, path)| (name.to_owned(), path.display().to_string()))
        });
        let settings = household.chain(own).chain(files).chain(self.settings());
        settings
            .map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''")))
            .collect()
    }

    /// What matters for a measurement, by the server's own names.
    pub(super) fn of_interest(&self) -> BTreeMap<String, String> {
        let options = self.spec.option_settings();
        let options = options.map(|(name, value)| (name.replace('-', "_"), value.to_owned()));
        self.settings().into_iter().chain(options).collect()
    }

    fn settings(&self) -> Vec<(String, String)> {
        let cache_mb = self.spec.cache_mb.unwrap_or(CACHE_MB);
        let mut settings: Vec<_> = SETTINGS.into_iter().map(owned).collect();
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        set("shared_buffers", format!("{cache_mb}MB"));
        set("max_connections", self.spec.connections.to_string());
        let Some(_) = self.spec.key() else {
            set("ssl", "off".into());
            return settings;
        };
        set("ssl", "on".into());
        if let (Some(oldest), Some(newest)) = (
            self.spec.tls_versions.iter().min(),
            self.spec.tls_versions.iter().max(),
        ) {
            set("ssl_min_protocol_version", oldest.name().into());
            set("ssl_max_protocol_version", newest.name().into());
        }
        if self.spec.needs_every_security_level() {
            set("ssl_ciphers", EVERY_SECURITY_LEVEL.into());
        }
        if self.variant.groups == GroupControl::Several {
            set("ssl_groups", GROUPS.map(Group::name).join(":"));
        }
        settings
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{CertificateKind, TlsVersion};

    use super::*;
    use crate::catalogue::{POSTGRESQL, POSTGRESQL_18};
    use crate::server::spec::Tls;

    #[test]
    fn old_tls_versions_and_short_keys_come_with_openssls_security_level() {
        let old = settings(CertificateKind::EcdsaP256, &[TlsVersion::V1_0, TlsVersion::V1_2]);
        assert_eq!(old["ssl_min_protocol_version"], "TLSv1");
        assert_eq!(old["ssl_max_protocol_version"], "TLSv1.2");
        assert_eq!(old["ssl_ciphers"], EVERY_SECURITY_LEVEL);
        let new = settings(CertificateKind::EcdsaP256, &[TlsVersion::V1_3]);
        assert!(!new.contains_key("ssl_ciphers"));
        let short = settings(CertificateKind::Rsa1024, &[]);
        assert!(!short.contains_key("ssl_min_protocol_version"));
        assert_eq!(short["ssl_ciphers"], EVERY_SECURITY_LEVEL);
    }

    #[test]
    fn what_matters_for_a_measurement_is_named_and_an_option_comes_last() {
        let settings = settings(CertificateKind::EcdsaP256, &[]);
        assert_eq!(settings["shared_buffers"], "64MB");
        assert_eq!(settings["synchronous_commit"], "off");
        assert_eq!(settings["fsync"], "on");
        assert_eq!(settings["ssl"], "on");
        assert!(!settings.contains_key("lc_messages"));
    }

    #[test]
    fn only_servers_that_know_several_groups_are_told_them() {
        let of = |entry: &'static crate::catalogue::Entry| {
            let crate::catalogue::ServerFamily::PostgreSql(variant) = &entry.family else {
                panic!("{entry}");
            };
            let spec = Spec::new(entry);
            let configuration = Configuration {
                variant,
                spec: &spec,
                tls: None,
            };
            configuration.of_interest().get("ssl_groups").cloned()
        };
        assert_eq!(of(&POSTGRESQL), None);
        assert!(of(&POSTGRESQL_18).unwrap().ends_with(":X25519MLKEM768"));
    }

    #[test]
    fn a_quote_in_a_path_stays_one() {
        let spec = Spec::new(&POSTGRESQL);
        let files = CertificateFiles {
            ca: "/it's/ca.pem".into(),
            certificate: "server.pem".into(),
            key: "server.key".into(),
        };
        let configuration = Configuration {
            variant: &VARIANT,
            spec: &spec,
            tls: Some(&files),
        };
        let text = configuration.text(Path::new("/tmp/ciphertax-server-it"));
        assert!(text.contains("ssl_ca_file = '/it''s/ca.pem'\n"), "{text}");
        assert!(text.contains("cluster_name = 'ciphertax-server-it'\n"), "{text}");
    }

    const VARIANT: PostgreSqlVariant = PostgreSqlVariant {
        groups: GroupControl::OneCurve,
    };

    fn settings(kind: CertificateKind, versions: &[TlsVersion]) -> BTreeMap<String, String> {
        let mut spec = Spec::new(&POSTGRESQL);
        spec.cache_mb = Some(64);
        spec.tls = Tls::With(kind);
        spec.tls_versions = versions.to_vec();
        spec.options.push("--synchronous-commit=off".into());
        let configuration = Configuration {
            variant: &VARIANT,
            spec: &spec,
            tls: None,
        };
        configuration.of_interest()
    }
}
