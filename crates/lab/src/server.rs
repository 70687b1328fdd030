//! A private server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ciphertax_model::{AuthenticationMethod, CertificateKind, Secret, TlsVersion};
use openssl::rsa::Rsa;

use crate::accounts::Account;
use crate::catalogue::{Entry, MARIADB, TlsControl};
use crate::certificates::{Authority, CertificateFiles};
use crate::error::{Error, Result};
use crate::folder::{PrivateFolder, SOCKET};
use crate::guard::{Guard, GuardProgram};
use crate::locate::Installation;
use crate::log::{self, Log, Readiness};
use crate::my_cnf::MyCnf;
use crate::port;
use crate::process::Process;
use crate::statements::Statements;
use crate::sweep::{defaults_file_option, sweep_stale};
use crate::template;

/// How often a port is chosen anew after somebody else took it.
const PORT_ATTEMPTS: u32 = 5;

/// What differs from the server's defaults, so that data stay in memory, names are not looked up and connections do
/// not run out.
const SETTINGS: [(&str, &str); 4] = [
    ("innodb_buffer_pool_size", "256M"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("max_connections", "2000"),
    ("skip_name_resolve", "ON"),
];

/// One more such setting, which takes no value.
const NO_BINLOG: &str = "skip_log_bin";

/// Ciphers of OpenSSL's default list with what its security levels forbid: TLS before 1.2 and RSA keys of 1024 bits.
const EVERY_SECURITY_LEVEL: &str = "DEFAULT:@SECLEVEL=0";

/// How a private server is to be made.
#[derive(Debug, Clone)]
pub struct PrivateServerBuilder {
    entry: &'static Entry,
    tls: Tls,
    tls_versions: Vec<TlsVersion>,
    accounts: Vec<AuthenticationMethod>,
    options: Vec<String>,
    guard: GuardProgram,
}

/// Whether the server offers TLS, and with which key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tls {
    WithDefaultKey,
    With(CertificateKind),
    Off,
}

impl PrivateServerBuilder {
    /// Which server; the distribution's MariaDB if nothing else is asked for.
    #[must_use]
    pub fn server(mut self, entry: &'static Entry) -> Self {
        self.entry = entry;
        self
    }

    /// The kind of the server's certificate; ECDSA P-256 if nothing else is asked for, or RSA 2048 where the server
    /// knows RSA alone.
    #[must_use]
    pub fn certificate(mut self, kind: CertificateKind) -> Self {
        self.tls = Tls::With(kind);
        self
    }

    /// A server that does not offer TLS at all.
    #[must_use]
    pub fn without_tls(mut self) -> Self {
        self.tls = Tls::Off;
        self
    }

    /// The TLS versions that the server offers, old ones too; its own choice if nothing else is asked for. One that
    /// cannot be told (yaSSL) offers all it has.
    #[must_use]
    pub fn tls_versions(mut self, versions: &[TlsVersion]) -> Self {
        self.tls_versions = versions.to_vec();
        self
    }

    /// One more account, for logins by this method; see [`PrivateServer::account`].
    #[must_use]
    pub fn account(mut self, method: AuthenticationMethod) -> Self {
        if !self.accounts.contains(&method) {
            self.accounts.push(method);
        }
        self
    }

    /// One more option of the server, for example `--require-secure-transport=ON`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// The program of the guard; the program that runs now if nothing else is asked for.
    #[must_use]
    pub fn guard(mut self, program: GuardProgram) -> Self {
        self.guard = program;
        self
    }

    /// Makes the server and waits until it is ready: a second or two; several more if its template has to be made.
    ///
    /// # Errors
    /// If the server cannot do what is asked of it, is not installed, or cannot be made or started; then the message
    /// holds the last lines of its log.
    pub fn start(self) -> Result<PrivateServer> {
        self.refuse_the_impossible()?;
        let installation = Installation::of(self.entry)?;
        let everyday = Account::of_everyday(self.entry)?;
        let others = self.accounts(&installation)?;
        sweep_stale();
        let mut guard = Guard::start(&self.guard, PrivateFolder::create()?)?;
        let first_statements = std::iter::once(&everyday)
            .chain(&others)
            .flat_map(|account| account.statements(self.entry.dialect))
            .collect();
        let statements = Statements::pipe_in(guard.folder(), first_statements)?;
        let ca_file = self.prepare(&installation, guard.folder(), &statements)?;
        let (process, port) = self.launch(&installation, &mut guard, &statements)?;
        Ok(PrivateServer {
            entry: self.entry,
            process,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            socket: guard.folder().join(SOCKET),
            everyday,
            others,
            ca_file,
            started: SystemTime::now(),
            settings: self.settings(),
            guard,
        })
    }

    fn refuse_the_impossible(&self) -> Result<()> {
        if std::env::var_os("CT_FORCE").is_some() {
            return Ok(());
        }
        let capabilities = &self.entry.capabilities;
        let certificate = self.key().and_then(|kind| capabilities.refuse_certificate(kind));
        let versions = self
            .tls_versions
            .iter()
            .filter_map(|version| capabilities.refuse_version(*version));
        let methods = self
            .accounts
            .iter()
            .filter_map(|method| capabilities.refuse_method(*method));
        let refusals: Vec<_> = certificate.into_iter().chain(versions).chain(methods).collect();
        if refusals.is_empty() {
            Ok(())
        } else {
            Err(Error::Refused(refusals))
        }
    }

    /// The key of its certificate; `None` without TLS.
    fn key(&self) -> Option<CertificateKind> {
        let known = self.entry.capabilities.certificates;
        match self.tls {
            Tls::Off => None,
            Tls::With(kind) => Some(kind),
            Tls::WithDefaultKey if known.contains(&CertificateKind::default()) => {
                Some(CertificateKind::default())
            }
            Tls::WithDefaultKey => Some(CertificateKind::Rsa2048),
        }
    }

    /// The accounts asked for.
    fn accounts(&self, installation: &Installation) -> Result<Vec<Account>> {
        let account = |&method: &AuthenticationMethod| match self.entry.plugin(method) {
            Some(plugin) if !installation.has_plugin(plugin) => Err(Error::NoPlugin {
                server: self.entry.name,
                plugin,
                method,
            }),
            _ => Account::for_method(method),
        };
        self.accounts.iter().map(account).collect()
    }

    /// Writes data folder, certificates and settings. Returns what clients must trust.
    fn prepare(
        &self,
        installation: &Installation,
        folder: &Path,
        statements: &Statements,
    ) -> Result<Option<PathBuf>> {
        template::provide(installation, folder)?;
        let mut settings = MyCnf::new(installation, folder);
        for (name, value) in SETTINGS {
            settings.set(name, value);
        }
        settings.flag(NO_BINLOG);
        settings.path("init_file", statements.path());
        for plugin in self
            .accounts
            .iter()
            .filter_map(|method| self.entry.plugin(*method))
        {
            settings.set("plugin_load_add", plugin);
        }
        let ca_file = self.set_tls(&mut settings, folder)?;
        settings.write(folder)?;
        Ok(ca_file)
    }

    fn set_tls(&self, settings: &mut MyCnf, folder: &Path) -> Result<Option<PathBuf>> {
        let control = self.entry.tls_control;
        let Some(kind) = self.key() else {
            match control {
                TlsControl::EmptyVersionIsOff => settings.set("tls_version", ""),
                _ => settings.flag("skip_ssl"),
            }
            return Ok(None);
        };
        let files = Authority::new(kind)?.issue_for_localhost(folder)?;
        if control == TlsControl::YaSsl {
            as_pkcs1(&files)?;
        }
        settings.path("ssl_ca", &files.ca);
        settings.path("ssl_cert", &files.certificate);
        settings.path("ssl_key", &files.key);
        for (name, value) in self.tls_settings() {
            settings.set(name, &value);
        }
        Ok(Some(files.ca))
    }

    /// Settings of the TLS versions asked for, where the server can be told.
    fn tls_settings(&self) -> Vec<(&'static str, String)> {
        let control = self.entry.tls_control;
        let mut settings = Vec::new();
        if !self.tls_versions.is_empty() && control != TlsControl::YaSsl {
            // Servers write `TLSv1.0` where OpenSSL reports `TLSv1`.
            let names = self.tls_versions.iter().map(|version| match version {
                TlsVersion::V1_0 => "TLSv1.0",
                other => other.name(),
            });
            settings.push(("tls_version", names.collect::<Vec<_>>().join(",")));
        }
        let old = self
            .tls_versions
            .iter()
            .any(|version| *version < TlsVersion::V1_2);
        let short = self.key() == Some(CertificateKind::Rsa1024);
        if control == TlsControl::OpenSsl && (old || short) {
            settings.push(("ssl_cipher", EVERY_SECURITY_LEVEL.into()));
        }
        settings
    }

    /// Starts the server on a port that is free, and waits until it is ready.
    fn launch(
        &self,
        installation: &Installation,
        guard: &mut Guard,
        statements: &Statements,
    ) -> Result<(Process, u16)> {
        let ports = port::private_range();
        let no_port = || Error::NoPort {
            low: *ports.start(),
            high: *ports.end(),
        };
        for _ in 0..PORT_ATTEMPTS {
            let port = port::free_in(&ports).ok_or_else(no_port)?;
            let mut command_line = installation.command();
            command_line.push(defaults_file_option(guard.folder()));
            command_line.push(format!("--port={port}").into());
            command_line.extend(self.options.iter().map(OsString::from));
            let log = Log::from_its_end(guard.folder());
            let process = Process::open(guard.run(&command_line)?)?;
            match log.wait_until_ready(&process, statements)? {
                Readiness::Ready => return Ok((process, port)),
                Readiness::PortTaken => {}
            }
        }
        Err(no_port())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let fixed = SETTINGS.into_iter().chain([(NO_BINLOG, "ON")]);
        let mut settings: BTreeMap<String, String> = fixed
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let tls = self.key().map(|_| self.tls_settings()).unwrap_or_default();
        settings.extend(tls.into_iter().map(|(name, value)| (name.to_owned(), value)));
        for option in &self.options {
            let (name, value) = option.split_once('=').unwrap_or((option, "ON"));
            settings.insert(name.trim_start_matches('-').replace('-', "_"), value.into());
        }
        settings
    }
}

/// A server of our own, reachable on 127.0.0.1 alone. It ends, and all its files go, when this is dropped or when
/// this process ends in whatever way (see [`guard`](crate::guard)).
#[derive(Debug)]
pub struct PrivateServer {
    entry: &'static Entry,
    address: SocketAddr,
    socket: PathBuf,
    everyday: Account,
    others: Vec<Account>,
    ca_file: Option<PathBuf>,
    settings: BTreeMap<String, String>,
    started: SystemTime,
    process: Process,
    guard: Guard,
}

impl PrivateServer {
    /// The distribution's MariaDB with TLS, a P-256 certificate and default TLS versions.
    pub fn builder() -> PrivateServerBuilder {
        PrivateServerBuilder {
            entry: &MARIADB,
            tls: Tls::WithDefaultKey,
            tls_versions: Vec::new(),
            accounts: Vec::new(),
            options: Vec::new(),
            guard: GuardProgram::this_program(),
        }
    }

    /// Which server it is, and what it can do.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Where it listens: 127.0.0.1 and a port below the ephemeral range.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The account of everyday use; it may do everything.
    pub fn user(&self) -> &str {
        &self.everyday.user
    }

    /// The password of [`PrivateServer::user`]; it exists in this process alone.
    pub fn password(&self) -> &Secret {
        &self.everyday.password
    }

    /// The account for logins by this method: one that [`PrivateServerBuilder::account`] asked for, else the account of
    /// everyday use if that is its method.
    pub fn account(&self, method: AuthenticationMethod) -> Option<&Account> {
        self.others
            .iter()
            .chain([&self.everyday])
            .find(|account| account.method == method)
    }

    /// The certificate of the authority that clients must trust; `None` for a server without TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// Its folder, where short-lived files may be put too: all of it goes with the server.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Its process. The number is not given to another process before this server is stopped, even if the server dies.
    pub fn pid(&self) -> u32 {
        self.process.pid().as_raw_nonzero().get().unsigned_abs()
    }

    /// When it was ready.
    pub fn started(&self) -> SystemTime {
        self.started
    }

    /// The settings that differ from the server's defaults and matter for a measurement.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// False once its process has ended.
    pub fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// The last lines of its log, in one line.
    pub fn log_tail(&self) -> String {
        log::tail(self.folder())
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.guard.finish()
    }
}

/// Writes the server's key anew in the only format that yaSSL reads, PKCS#1.
fn as_pkcs1(files: &CertificateFiles) -> Result<()> {
    let pem = fs::read(&files.key).map_err(Error::read(&files.key))?;
    let key = Rsa::private_key_from_pem(&pem)?.private_key_to_pem()?;
    // The file is there already, so nobody else may read it.
    fs::write(&files.key, key).map_err(Error::write(&files.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{MARIADB_10_2, MYSQL};

    #[test]
    fn settings_name_what_was_asked_for() {
        let settings = PrivateServer::builder()
            .option("--tls-version=TLSv1.2")
            .option("--skip-grant-tables")
            .settings();
        assert_eq!(settings["tls_version"], "TLSv1.2");
        assert_eq!(settings["skip_grant_tables"], "ON");
        assert_eq!(settings["max_connections"], "2000");
        assert_eq!(settings["skip_log_bin"], "ON");
    }

    #[test]
    fn old_tls_versions_are_told_to_openssl_with_its_security_level() {
        let old = PrivateServer::builder().tls_versions(&[TlsVersion::V1_0, TlsVersion::V1_2]);
        assert_eq!(old.settings()["tls_version"], "TLSv1.0,TLSv1.2");
        assert_eq!(old.settings()["ssl_cipher"], EVERY_SECURITY_LEVEL);
        assert!(!old.without_tls().settings().contains_key("tls_version"));
        let new = PrivateServer::builder().tls_versions(&[TlsVersion::V1_3]);
        assert!(!new.settings().contains_key("ssl_cipher"));
    }

    #[test]
    fn what_a_server_cannot_do_is_refused_before_it_is_looked_for() {
        let error = PrivateServer::builder()
            .server(&MYSQL)
            .tls_versions(&[TlsVersion::V1_1])
            .account(AuthenticationMethod::Ed25519)
            .start()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("mysql cannot do TLSv1.1") && error.contains("authentication by ed25519"),
            "{error}"
        );
    }

    #[test]
    fn the_default_key_is_one_that_the_server_knows() {
        let builder = PrivateServer::builder();
        assert_eq!(builder.key(), Some(CertificateKind::EcdsaP256));
        assert_eq!(
            builder.clone().server(&MARIADB_10_2).key(),
            Some(CertificateKind::Rsa2048)
        );
        assert_eq!(builder.without_tls().key(), None);
    }
}
