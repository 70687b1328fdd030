//! Making the data folder of a private server, which PostgreSQL calls a cluster, without any account but the one that
//! only who may read its files can use.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ciphertax_base::Secret;
use ciphertax_model::Group;
use ciphertax_wire::postgresql::{ConnectOptions, Method, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use super::Tenant;
use super::accounts::DATABASE;
use crate::catalogue::{GroupControl, PostgreSqlVariant};
use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::server::ask_within;
use crate::server::spec::{Spec, disk_of};
use crate::template::{DATA, Recipe, no_system_tables, to_its_end};

pub(super) const INITDB: &str = "initdb";

/// The user that may do everything, and has no password: see [`super::accounts`].
pub(super) const SUPERUSER: &str = "postgres";

/// Space that a server and a data set in memory need, in megabytes: its data folder 40 MB, and WAL.
pub(super) const NEEDED_MB: u64 = 600;

/// A data folder as `initdb` makes it.
pub(super) fn recipe(installation: &Installation) -> Recipe<'_> {
    Recipe {
        installation,
        needed_mb: NEEDED_MB,
        make: Box::new(|folder| make(installation, folder)),
    }
}

/// Where the data of the server in `folder` are.
pub(super) fn data_of(folder: &Path) -> PathBuf {
    disk_of(folder).join(DATA)
}

/// What the processes of the server in `folder` call themselves in process lists: the folder's name, which is random.
pub(super) fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The first process of a server is known by its data folder. The others write their title over their arguments, as in
/// `postgres: NAME: walwriter`.
pub(super) fn works_in(argument: &[u8], folder: &Path) -> bool {
    let title = format!("postgres: {}: ", name_of(folder));
    Path::new(OsStr::from_bytes(argument)) == data_of(folder) || argument.starts_with(title.as_bytes())
}

/// Makes it in `folder`, which must be empty.
fn make(installation: &Installation, folder: &Path) -> Result<()> {
    let data = &folder.join(DATA);
    let tenant = Tenant::with_name();
    tenant.give(folder)?;
    let words = installation.companion(INITDB);
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg("-D")
        .arg(data)
        .args([
            "--username",
            SUPERUSER,
            // There is a pg_hba.conf before it is copied.
            "--auth=reject",
            "--encoding=UTF8",
            "--locale=C",
            // It is copied, so that there is nothing to keep.
            "--no-sync",
            "--no-instructions",
        ])
        // The user's own may be none that the machine has.
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdout(Stdio::null());
    tenant.run(&mut command);
    if !to_its_end(&mut command, folder, "")? {
        return Err(no_system_tables(installation.entry, folder));
    }
    tenant.take_back(folder)?;
    // It is replaced by one of ours.
    let configuration = data.join("postgresql.conf");
    fs::remove_file(&configuration).map_err(Error::write(&configuration))
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Runs statements, one after the other. They are the superuser's, by the Unix socket, where nobody asks for a login.
pub(super) fn run_statements(server: &'static str, socket: &Path, statements: &[String]) -> Result<()> {
    let options = ConnectOptions {
        socket: Some(socket.to_owned()),
        database: Some(DATABASE.into()),
        method: Some(Method::Trust),
        ..ConnectOptions::new("localhost", 0, SUPERUSER, Secret::default())
    };
    ask_within(PATIENCE, "it was not done", async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await?;
        for statement in statements {
            session.command(statement).await?;
        }
        session.close().await
    })
    .and_then(|outcome| outcome.map(drop).map_err(|error: WireError| error.to_string()))
    .map_err(|problem| Error::set_up(server, problem))
}

/// The line of `postmaster.pid` that holds the segment's key and number; the first holds the number of the process.
const SEGMENT_LINE: usize = 7;

/// Has the segment of the server in `folder` go with the server. One that the server makes anew after one of its
/// processes was killed is removed by the server alone.
///
/// Besides its memory proper, which ends with its processes, a server has a segment of System V of a few bytes, by which a second
/// server of the same data folder would notice the first. Nobody starts a second one here. A segment that is removed while it is in
/// use goes with the last process that uses it, however that ends.
pub(super) fn let_it_go_with_the_server(folder: &Path) -> io::Result<()> {
    let text = fs::read_to_string(data_of(folder).join("postmaster.pid"))?;
    let Some((process, segment)) = segment_in(&text) else {
        return Ok(());
    };
    // SAFETY: an all-zero state of a segment is valid: zero numbers.
    let mut state: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local that outlives the call.
    let found = unsafe { libc::shmctl(segment, libc::IPC_STAT, &mut state) } == 0;
    if !found || state.shm_cpid != process {
        return Ok(());
    }
    // SAFETY: the pointer is not used for a removal.
    match unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn segment_in(text: &str) -> Option<(libc::pid_t, libc::c_int)> {
    let process = text.lines().next()?.trim().parse().ok()?;
    let line = text.lines().nth(SEGMENT_LINE - 1)?;
    let segment = line.split_whitespace().nth(1)?.parse().ok()?;
    Some((process, segment))
}

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
    fn a_server_is_known_by_its_data_and_its_name() {
        let folder = Path::new("/tmp/ciphertax-server-it");
        for (argument, is_ours) in [
            ("/tmp/ciphertax-server-it/disk/data", true),
            ("/tmp/ciphertax-server-it2/disk/data", false),
            ("/tmp/ciphertax-server-it", false),
            ("postgres: ciphertax-server-it: walwriter ", true),
            ("postgres: ciphertax-server-it2: walwriter ", false),
            ("postgres: walwriter", false),
        ] {
            assert_eq!(works_in(argument.as_bytes(), folder), is_ours, "{argument}");
        }
    }

    #[test]
    fn the_segment_is_read() {
        let text = "32462\n/tmp/a/data\n1795337343\n23456\n.\n127.0.0.1\n  9996946        19\nready   \n";
        assert_eq!(segment_in(text), Some((32462, 19)));
        assert_eq!(segment_in("32462\n/tmp/a/data\n"), None);
    }

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
