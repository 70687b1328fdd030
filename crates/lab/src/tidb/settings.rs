//! The settings file of a private TiDB.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use ciphertax_supervise::create_private_file;
use serde::Serialize;

use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::server::disk::disk_of;
use crate::server::spec::Spec;

/// The settings file in the folder of a server.
const FILE: &str = "tidb.toml";

/// The store that is built into the server.
const STORE: &str = "unistore";

/// The option by which a server finds its settings.
pub(super) fn file_option(folder: &Path) -> OsString {
    let mut option = OsString::from("-config=");
    option.push(folder.join(FILE));
    option
}

/// By TiDB's own names.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Settings<'a> {
    host: String,
    /// None: sessions over it are passed on to TCP, and the end of one is not.
    socket: &'static str,
    store: &'static str,
    path: PathBuf,
    tmp_storage_path: PathBuf,
    max_server_connections: u32,
    /// How many of them are served at a time.
    token_limit: u32,
    enable_telemetry: bool,
    log: Log,
    status: Status,
    security: Security<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Log {
    /// In the server's own folder, where nothing of it stays.
    slow_query_file: PathBuf,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    /// A port of its own, which nobody asks.
    report_status: bool,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "kebab-case")]
struct Security<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ssl_ca: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssl_cert: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssl_key: Option<&'a Path>,
}

/// Writes the file into `folder`, for its owner alone.
pub(super) fn write(spec: &Spec, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
    let disk = disk_of(folder);
    let settings = Settings {
        host: spec.listens_on().to_string(),
        socket: "",
        store: STORE,
        path: disk.join("data"),
        tmp_storage_path: disk.join("tmp"),
        max_server_connections: spec.connections,
        token_limit: spec.connections,
        enable_telemetry: false,
        log: Log {
            slow_query_file: folder.join("slow.log"),
        },
        status: Status { report_status: false },
        security: tls.map_or_else(Security::default, |files| Security {
            ssl_ca: Some(&files.ca),
            ssl_cert: Some(&files.certificate),
            ssl_key: Some(&files.key),
        }),
    };
    let path = folder.join(FILE);
    let text =
        toml::to_string(&settings).map_err(|error| Error::write(&path)(std::io::Error::other(error)))?;
    create_private_file(&path)?
        .write_all(text.as_bytes())
        .map_err(Error::write(&path))
}

/// What matters for a measurement.
pub(super) fn of_interest(spec: &Spec) -> BTreeMap<String, String> {
    [
        ("store", STORE.to_owned()),
        ("max-server-connections", spec.connections.to_string()),
        ("token-limit", spec.connections.to_string()),
    ]
    .into_iter()
    .chain(
        spec.option_settings()
            .map(|(name, value)| (name, value.to_owned())),
    )
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::TIDB;

    #[test]
    fn paths_of_every_kind_are_written_as_the_server_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a \"quoted\" folder");
        std::fs::create_dir(&folder).unwrap();
        let spec = Spec::new(&TIDB);
        let files = CertificateFiles {
            ca: folder.join("ca.pem"),
            certificate: "server.pem".into(),
            key: "server.key".into(),
        };
        write(&spec, &folder, Some(&files)).unwrap();
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
        let read: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(
            read["path"].as_str().unwrap(),
            disk_of(&folder).join("data").to_str().unwrap()
        );
        let security = read["security"].as_table().unwrap();
        assert_eq!(security["ssl-ca"].as_str().unwrap(), files.ca.to_str().unwrap());
        write_without_tls(&spec);
    }

    fn write_without_tls(spec: &Spec) {
        let folder = tempfile::tempdir().unwrap();
        write(spec, folder.path(), None).unwrap();
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(!text.contains("ssl"), "{text}");
    }

    #[test]
    fn what_matters_for_a_measurement_is_named() {
        let mut spec = Spec::new(&TIDB);
        spec.options.push("-status=10090".into());
        let settings = of_interest(&spec);
        assert_eq!(settings["store"], "unistore");
        assert_eq!(settings["status"], "10090");
    }
}
