//! Preparing a private server of this family.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_model::{FlushMethod, TlsVersion};
use ciphertax_supervise::guard::{Ending, User};

use crate::accounts::{Account, USER};
use crate::catalogue::{AtRestControl, Dialect, MySqlVariant, TlsControl};
use crate::certificates::{CertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::files::{LOG, log_of, read_from, tail_of};
use crate::locate::Installation;
use crate::server::family::{Members, Outline, Plan};
use crate::server::spec::{Spec, disk_of};
use crate::template::DATA;

use super::MySqlInstallation;
use super::at_rest::{
    Asked, Encryption, close_keys_to_others, encrypt_what_is_there, first_statements, names_a_missing_key,
    plugin, settings as settings_at_rest,
};
use super::cluster::{self, Cluster};
use super::statements::{
    self, MyCnf, NEEDED_MB, SOCKET, Statements, account_for, defaults_file_option, recipe,
};

/// Memory for data and indexes, in megabytes, if nothing else is asked for.
const CACHE_MB: u32 = 256;

/// So that prepared statements do not run out: the most that every server of the catalogue takes.
const MOST_STATEMENTS: &str = "1048576";

/// When the redo log is written and flushed, if nothing else is asked for: written at every commit.
const FLUSH_LOG_AT_TRX_COMMIT: u8 = 2;

/// What a server without a binary log has, which takes no value.
const NO_BINLOG: &str = "skip_log_bin";

/// Ciphers of OpenSSL's default list with what its security levels forbid: TLS before 1.2 and RSA keys of 1024 bits.
const EVERY_SECURITY_LEVEL: &str = "DEFAULT:@SECLEVEL=0";

pub(super) struct MySqlPlan<'a> {
    variant: &'a MySqlVariant,
    spec: &'a Spec,
    installation: Installation,
    accounts: Vec<Account>,
    /// What each node runs before it lets anybody in; a single server is one node.
    statements: Vec<Statements>,
    /// How several nodes know each other.
    cluster: Option<Cluster>,
    encryption: Encryption,
    /// Where it was prepared.
    folder: PathBuf,
}

impl<'a> MySqlPlan<'a> {
    pub(super) fn new(variant: &'a MySqlVariant, spec: &'a Spec) -> Result<Self> {
        let installation = Installation::locate(spec.entry)?;
        let mysql = MySqlInstallation::of(&installation, variant)?;
        let has_parts = spec.at_rest.parts().next().is_some();
        if has_parts && matches!(variant.at_rest, AtRestControl::FileKeyManagement { .. }) {
            plugin(&mysql)?;
        }
        let others = spec.accounts.iter().map(|&method| match variant.plugin(method) {
            Some(plugin) if !mysql.has_plugin(plugin) => Err(Error::NoPlugin {
                server: spec.entry.name,
                plugin,
                method,
            }),
            _ => account_for(method),
        });
        let accounts = std::iter::once(Account::default_of(spec.entry))
            .chain(others)
            .collect::<Result<_>>()?;
        Ok(Self {
            variant,
            spec,
            installation,
            accounts,
            statements: Vec::new(),
            cluster: None,
            encryption: Encryption::default(),
            folder: PathBuf::new(),
        })
    }

    fn set_tls(&self, settings: &mut MyCnf, files: Option<&CertificateFiles>) {
        let Some(files) = files else {
            match self.variant.tls_control {
                TlsControl::EmptyVersionIsOff => settings.set("tls_version", ""),
                _ => settings.flag("skip_ssl"),
            }
            return;
        };
        settings.path("ssl_ca", &files.ca);
        settings.path("ssl_cert", &files.certificate);
        settings.path("ssl_key", &files.key);
        for (name, value) in tls_settings(self.variant, self.spec) {
            settings.set(name, &value);
        }
    }
}

impl Plan for MySqlPlan<'_> {
    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn outline(&self) -> Outline {
        Outline {
            members: self.spec.nodes.into(),
            needed_mb: NEEDED_MB * u64::from(self.spec.nodes),
            key_format: match self.variant.tls_control {
                TlsControl::YaSsl => KeyFormat::Pkcs1,
                _ => KeyFormat::Pkcs8,
            },
            client_name: USER,
            user: User::Owner,
            ending: Ending::Terminate,
            socket: Some(SOCKET),
        }
    }

    fn ports_between(&self, _: &[u16]) -> Vec<u16> {
        let cluster = self.cluster.as_ref();
        cluster.map_or_else(Vec::new, |cluster| cluster.ports.clone())
    }

    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
        let mysql = MySqlInstallation::of(&self.installation, self.variant)?;
        let encryption = Encryption::prepare(&mysql, &self.spec.at_rest, folder)?;
        let cluster = Cluster::of(self.spec, tls)?;
        let dialect = self.variant.dialect;
        let mut statements = Vec::new();
        for node in 0..self.spec.nodes.into() {
            let disk = disk_of_node(folder, node);
            fs::create_dir_all(&disk).map_err(Error::write(&disk))?;
            match encryption.from_the_first {
                // With a key of its own it is nobody else's.
                true => recipe(&mysql, &encryption).provide_anew(&disk)?,
                false => recipe(&mysql, &Encryption::default()).provide(&disk)?,
            }
            if let Some(cluster) = &cluster {
                cluster.distinguish(node, &disk.join(DATA))?;
            }
            let alone = cluster
                .as_ref()
                .map(|cluster| cluster.for_this_node_alone().to_owned());
            let accounts = self.accounts.iter();
            let first = accounts.flat_map(|account| statements::account_statements(account, dialect));
            let first = first.chain(first_statements(self.variant, &self.spec.at_rest));
            let first = alone.into_iter().chain(first).collect();
            statements.push(Statements::pipe_in(&place_of_node(folder, node), first)?);
        }
        let mut settings = MyCnf::new(&mysql, folder, &disk_of(folder));
        for (name, value) in own_settings(self.variant, self.spec) {
            settings.set(name, &value);
        }
        if !has_binary_log(self.spec) {
            settings.flag(NO_BINLOG);
        }
        settings.add(&encryption.settings);
        for method in &self.spec.accounts {
            if let Some(plugin) = self.variant.plugin(*method) {
                settings.set("plugin_load_add", plugin);
            }
        }
        self.set_tls(&mut settings, tls);
        settings.write(folder)?;
        self.statements = statements;
        self.cluster = cluster;
        self.encryption = encryption;
        folder.clone_into(&mut self.folder);
        Ok(())
    }

    fn command_line(&self, member: usize, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let mut command_line = match &self.encryption.program {
            Some(program) => self.installation.command_by(program),
            None => self.installation.command(),
        };
        command_line.push(defaults_file_option(folder));
        command_line.push(format!("--port={port}").into());
        if self.spec.inside.is_some() {
            command_line.push(format!("--bind-address={}", self.spec.listens_on()).into());
        }
        let mut path = |option: &str, path: &Path| {
            let mut argument = OsString::from(format!("--{option}="));
            argument.push(path);
            command_line.push(argument);
        };
        path("init-file", self.statements[member].path());
        if member > 0 {
            let disk = disk_of_node(folder, member);
            path("datadir", &disk.join(DATA));
            path("tmpdir", &disk);
            path("socket", &socket_of_node(folder, member));
            path("pid-file", &disk.join("server.pid"));
            path("log-error", &folder.join(log_of(member)));
        }
        if let Some(cluster) = &self.cluster {
            command_line.extend(cluster.options(member, port));
        }
        Ok(command_line)
    }

    /// Gives each node its first statements when it asks for them.
    fn attend(&self) -> Result<bool> {
        let delivered: Vec<bool> = self
            .statements
            .iter()
            .map(Statements::deliver)
            .collect::<Result<_>>()?;
        Ok(delivered.into_iter().all(|is_delivered| is_delivered))
    }

    /// A server that was just made and cannot read its keys has lost them. What it says of that is not the last that it says.
    fn lack(&self, complaints: &str) -> Option<Error> {
        let has_parts = self.spec.at_rest.parts().next().is_some();
        let names_a_missing_key = || names_a_missing_key(&read_from(&self.folder.join(LOG), 0));
        (has_parts && names_a_missing_key()).then(|| Error::NoKey {
            server: self.spec.entry.name,
            log: complaints.to_owned(),
        })
    }

    fn set_up(&self, _: &Members) -> Result<()> {
        if self.encryption.program.is_some() {
            close_keys_to_others(&self.folder)?;
            // Without its keyring MySQL starts all the same, as long as none of its logs is to be encrypted.
            if let Some(error) = self.lack(&tail_of(&self.folder.join(LOG))) {
                return Err(error);
            }
        }
        let (spec, account) = (self.spec, &self.accounts[0]);
        let socket = self.folder.join(SOCKET);
        if let Some(cluster) = &self.cluster {
            let nodes = 0..self.spec.nodes.into();
            let sockets: Vec<PathBuf> = nodes.map(|node| socket_of_node(&self.folder, node)).collect();
            let asked = |socket| Asked {
                server: spec.entry.name,
                socket,
                account,
            };
            let nodes: Vec<Asked<'_>> = sockets.iter().map(|socket| asked(socket.as_path())).collect();
            cluster.join(&nodes, account)?;
        }
        encrypt_what_is_there(self.variant, spec.entry.name, &spec.at_rest, &socket, account)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        settings(self.variant, self.spec)
    }
}

fn settings(variant: &MySqlVariant, spec: &Spec) -> BTreeMap<String, String> {
    let tls = spec.key().map(|_| tls_settings(variant, spec));
    let always = variant.settings.iter();
    let named = own_settings(variant, spec)
        .into_iter()
        .chain((!has_binary_log(spec)).then(|| (NO_BINLOG, "ON".into())))
        .chain(cluster::settings(spec))
        .chain(settings_at_rest(variant, &spec.at_rest))
        .chain(always.map(|(name, value)| (*name, (*value).to_owned())))
        .chain(tls.unwrap_or_default())
        .map(|(name, value)| (name.to_owned(), value));
    let options = spec
        .option_settings()
        .map(|(name, value)| (name.replace('-', "_"), value.to_owned()));
    named.chain(options).collect()
}

fn disk_of_node(folder: &Path, node: usize) -> PathBuf {
    match node {
        0 => disk_of(folder),
        _ => disk_of(folder).join(format!("node-{node}")),
    }
}

/// Where a node has what is no data: the first beside its part of the disk, the others in theirs.
fn place_of_node(folder: &Path, node: usize) -> PathBuf {
    match node {
        0 => folder.to_owned(),
        _ => disk_of_node(folder, node),
    }
}

/// A node's socket, whose path must be short.
fn socket_of_node(folder: &Path, node: usize) -> PathBuf {
    match node {
        0 => folder.join(SOCKET),
        _ => folder.join(format!("node-{node}.sock")),
    }
}

/// True if it has a binary log: one that is asked for, or that its nodes cannot do without.
fn has_binary_log(spec: &Spec) -> bool {
    spec.storage.binary_log || cluster::needs_binary_log(spec)
}

/// What differs from the server's defaults besides what it encrypts: its memory, how many clients it lets in and whether each has a
/// thread to itself, and how it writes its logs and its pages.
fn own_settings(variant: &MySqlVariant, spec: &Spec) -> Vec<(&'static str, String)> {
    let storage = spec.storage;
    let mut settings = vec![
        (
            "innodb_buffer_pool_size",
            format!("{}M", spec.cache_mb.unwrap_or(CACHE_MB)),
        ),
        ("max_prepared_stmt_count", MOST_STATEMENTS.into()),
        // So that names are not looked up.
        ("skip_name_resolve", "ON".into()),
        ("max_connections", spec.connections.to_string()),
        (
            "innodb_flush_log_at_trx_commit",
            storage
                .flush_log_at_trx_commit
                .unwrap_or(FLUSH_LOG_AT_TRX_COMMIT)
                .to_string(),
        ),
    ];
    if spec.has_many_connections() && variant.dialect == Dialect::MariaDb {
        settings.push(("thread_handling", "pool-of-threads".into()));
    }
    let redo_log = match variant.dialect {
        Dialect::MySql => "innodb_redo_log_capacity",
        Dialect::MariaDb | Dialect::MySql56 => "innodb_log_file_size",
    };
    let flush = storage.flush.map(|method| match method {
        FlushMethod::Direct => "O_DIRECT",
        FlushMethod::Buffered => "fsync",
    });
    let doublewrite = storage.doublewrite.map(|on| if on { "ON" } else { "OFF" });
    let log = has_binary_log(spec);
    let asked_for = [
        (
            redo_log,
            spec.redo_log_mb.map(|megabytes| format!("{megabytes}M")),
        ),
        ("innodb_flush_method", flush.map(str::to_owned)),
        ("innodb_doublewrite", doublewrite.map(str::to_owned)),
        ("log_bin", log.then(|| "binlog".into())),
        ("server_id", log.then(|| "1".into())),
        (
            "sync_binlog",
            storage.sync_binlog.map(|commits| commits.to_string()),
        ),
    ];
    settings.extend(
        asked_for
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    settings
}

fn tls_settings(variant: &MySqlVariant, spec: &Spec) -> Vec<(&'static str, String)> {
    let control = variant.tls_control;
    let mut settings = Vec::new();
    if !spec.tls_versions.is_empty() && control != TlsControl::YaSsl {
        // Servers write `TLSv1.0` where OpenSSL reports `TLSv1`.
        let names = spec.tls_versions.iter().map(|version| match version {
            TlsVersion::V1_0 => "TLSv1.0",
            other => other.name(),
        });
        settings.push(("tls_version", names.collect::<Vec<_>>().join(",")));
    }
    if control == TlsControl::OpenSsl && spec.needs_every_security_level() {
        settings.push(("ssl_cipher", EVERY_SECURITY_LEVEL.into()));
    }
    settings
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{AtRest, AtRestAlgorithm, Storage};

    use super::*;
    use crate::catalogue::{MARIADB, MYSQL, SystemTables};
    use crate::mysql::testing::variants;
    use crate::server::spec::Tls;

    #[test]
    fn settings_name_what_was_asked_for() {
        let mut spec = Spec::new(&MARIADB);
        spec.options = vec!["--tls-version=TLSv1.2".into(), "--skip-grant-tables".into()];
        let asked = settings(&OPENSSL, &spec);
        assert_eq!(asked["tls_version"], "TLSv1.2");
        assert_eq!(asked["skip_grant_tables"], "ON");
        assert_eq!(asked["max_connections"], "2000");
        assert_eq!(asked["skip_log_bin"], "ON");
        assert_eq!(asked["innodb_buffer_pool_size"], "256M");
        spec.cache_mb = Some(64);
        assert_eq!(settings(&OPENSSL, &spec)["innodb_buffer_pool_size"], "64M");
    }

    #[test]
    fn many_connections_share_threads_where_the_server_can() {
        let mut spec = Spec::new(&MARIADB);
        assert!(!settings(&OPENSSL, &spec).contains_key("thread_handling"));
        spec.connections = 30_000;
        let asked = settings(&OPENSSL, &spec);
        assert_eq!(asked["max_connections"], "30000");
        assert_eq!(asked["thread_handling"], "pool-of-threads");
        let (_, mysql) = variants().find(|(entry, _)| *entry == &MYSQL).unwrap();
        let asked = settings(&mysql, &spec);
        assert_eq!(asked["max_connections"], "30000");
        assert!(!asked.contains_key("thread_handling"));
    }

    #[test]
    fn settings_name_how_it_writes_and_what_it_encrypts() {
        let (_, mariadb) = variants().find(|(entry, _)| *entry == &MARIADB).unwrap();
        let mut spec = Spec::new(&MARIADB);
        assert_eq!(settings(&mariadb, &spec)["innodb_flush_log_at_trx_commit"], "2");
        spec.storage = Storage {
            flush: Some(FlushMethod::Direct),
            flush_log_at_trx_commit: Some(1),
            binary_log: true,
            sync_binlog: Some(1),
            doublewrite: Some(false),
            ..Storage::default()
        };
        spec.at_rest = AtRest {
            redo_log: true,
            algorithm: Some(AtRestAlgorithm::AesCtr),
            ..AtRest::default()
        };
        let asked = settings(&mariadb, &spec);
        for (name, value) in [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_doublewrite", "OFF"),
            ("log_bin", "binlog"),
            ("sync_binlog", "1"),
            ("innodb_encrypt_log", "ON"),
            ("file_key_management_encryption_algorithm", "AES_CTR"),
        ] {
            assert_eq!(asked[name], value, "{name}");
        }
        assert!(!asked.contains_key("skip_log_bin") && !asked.contains_key("innodb_encrypt_tables"));
    }

    #[test]
    fn old_tls_versions_come_with_openssls_security_level() {
        let mut spec = Spec::new(&MARIADB);
        spec.tls_versions = vec![TlsVersion::V1_0, TlsVersion::V1_2];
        let old = settings(&OPENSSL, &spec);
        assert_eq!(old["tls_version"], "TLSv1.0,TLSv1.2");
        assert_eq!(old["ssl_cipher"], EVERY_SECURITY_LEVEL);
        spec.tls = Tls::Off;
        assert!(!settings(&OPENSSL, &spec).contains_key("tls_version"));
        spec.tls = Tls::WithDefaultKey;
        spec.tls_versions = vec![TlsVersion::V1_3];
        assert!(!settings(&OPENSSL, &spec).contains_key("ssl_cipher"));
    }

    const OPENSSL: MySqlVariant = MySqlVariant {
        system_tables: SystemTables::Bootstrap,
        dialect: Dialect::MariaDb,
        plugins: &[],
        tls_control: TlsControl::OpenSsl,
        settings: &[],
        at_rest: AtRestControl::None,
    };
}
