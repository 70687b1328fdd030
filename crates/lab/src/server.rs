//! A private server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ciphertax_model::{AuthenticationMethod, CertificateKind, Secret, TlsVersion};
use ciphertax_supervise::guard::{Guard, GuardProgram, Helper, User};
use ciphertax_supervise::{PrivateFolder, Process};

use crate::accounts::Account;
use crate::catalogue::{Entry, MARIADB, MySqlFamily, Protocol, TlsControl};
use crate::certificates::{Authority, ClientCertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::leftovers::{defaults_file_option, sweep_stale};
use crate::link::RunningLink;
use crate::locate::{Installation, MySqlInstallation};
use crate::log::{self, LOG, Log, Readiness};
use crate::my_cnf::MyCnf;
use crate::port;
use crate::server_folder::{NEEDED_MB, SOCKET};
use crate::statements::Statements;
use crate::template;
use crate::trust::Trust;

/// How often a port is chosen anew after somebody else took it.
const PORT_ATTEMPTS: u32 = 5;

/// What differs from the server's defaults, so that data stay in memory, names are not looked up, and neither
/// connections nor prepared statements run out.
const SETTINGS: [(&str, &str); 5] = [
    ("innodb_buffer_pool_size", "256M"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("max_connections", "2000"),
    // The most that every server of the catalogue takes.
    ("max_prepared_stmt_count", "1048576"),
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
    chain_length: u8,
    tls_versions: Vec<TlsVersion>,
    accounts: Vec<AuthenticationMethod>,
    options: Vec<String>,
    /// The network namespace it runs in; `None` for that of this process.
    namespace: Option<PathBuf>,
    /// Where it is reached.
    reached_at: IpAddr,
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

    /// Certificates that the server sends: its own, and those of intermediate authorities; 1 if nothing else is asked
    /// for.
    #[must_use]
    pub fn chain_length(mut self, certificates: u8) -> Self {
        self.chain_length = certificates;
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

    /// A server inside a link: [`PrivateServer::address`] is its direct address, and the same port of
    /// [`RunningLink::delayed_address`] leads to it at the link's distance. It must be stopped before the link is.
    #[must_use]
    pub fn inside(mut self, link: &RunningLink) -> Self {
        self.namespace = Some(link.namespace().to_owned());
        self.reached_at = link.direct_address();
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
        let family = self.family()?;
        self.refuse_the_impossible()?;
        let installation = Installation::of(self.entry)?;
        let mysql = installation.mysql()?;
        let everyday = Account::of_everyday(self.entry)?;
        let others = self.accounts(mysql)?;
        sweep_stale();
        let mut guard = Guard::start(&self.guard, PrivateFolder::create(NEEDED_MB)?)?;
        let first_statements = std::iter::once(&everyday)
            .chain(&others)
            .flat_map(|account| account.statements(family.dialect))
            .collect();
        let statements = Statements::pipe_in(guard.folder(), first_statements)?;
        let trust = self.prepare(mysql, guard.folder(), &statements)?;
        let (process, port) = self.launch(&installation, &mut guard, &statements)?;
        Ok(PrivateServer {
            entry: self.entry,
            process,
            address: SocketAddr::from((self.reached_at, port)),
            socket: guard.folder().join(SOCKET),
            everyday,
            others,
            trust,
            started: SystemTime::now(),
            settings: self.settings(family),
            guard,
        })
    }

    fn family(&self) -> Result<&'static MySqlFamily> {
        self.entry.mysql().ok_or(Error::OtherProtocol {
            server: self.entry.name,
            protocol: self.entry.protocol(),
            wanted: Protocol::MySql,
        })
    }

    fn refuse_the_impossible(&self) -> Result<()> {
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
    fn accounts(&self, mysql: MySqlInstallation<'_>) -> Result<Vec<Account>> {
        let account = |&method: &AuthenticationMethod| match mysql.family().plugin(method) {
            Some(plugin) if !mysql.has_plugin(plugin) => Err(Error::NoPlugin {
                server: self.entry.name,
                plugin,
                method,
            }),
            _ => Account::for_method(method),
        };
        self.accounts.iter().map(account).collect()
    }

    /// Writes data folder, certificates and settings.
    fn prepare(
        &self,
        mysql: MySqlInstallation<'_>,
        folder: &Path,
        statements: &Statements,
    ) -> Result<Option<Trust>> {
        template::provide(mysql, folder)?;
        let mut settings = MyCnf::new(mysql, folder);
        for (name, value) in SETTINGS {
            settings.set(name, value);
        }
        settings.flag(NO_BINLOG);
        settings.path("init_file", statements.path());
        for plugin in self
            .accounts
            .iter()
            .filter_map(|method| mysql.family().plugin(*method))
        {
            settings.set("plugin_load_add", plugin);
        }
        let trust = self.set_tls(mysql.family(), &mut settings, folder)?;
        settings.write(folder)?;
        Ok(trust)
    }

    fn set_tls(&self, family: &MySqlFamily, settings: &mut MyCnf, folder: &Path) -> Result<Option<Trust>> {
        let control = family.tls_control;
        let Some(kind) = self.key() else {
            match control {
                TlsControl::EmptyVersionIsOff => settings.set("tls_version", ""),
                _ => settings.flag("skip_ssl"),
            }
            return Ok(None);
        };
        let format = match control {
            TlsControl::YaSsl => KeyFormat::Pkcs1,
            _ => KeyFormat::Pkcs8,
        };
        let authority = Authority::new(kind)?;
        let files = authority.issue_chain_for_localhost(folder, self.chain_length, format)?;
        settings.path("ssl_ca", &files.ca);
        settings.path("ssl_cert", &files.certificate);
        settings.path("ssl_key", &files.key);
        for (name, value) in self.tls_settings(family) {
            settings.set(name, &value);
        }
        Ok(Some(Trust::new(authority, files.ca)))
    }

    /// Settings of the TLS versions asked for, where the server can be told.
    fn tls_settings(&self, family: &MySqlFamily) -> Vec<(&'static str, String)> {
        let control = family.tls_control;
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
            if !self.reached_at.is_loopback() {
                // All addresses of the link's namespace, which nobody else can reach.
                command_line.push("--bind-address=0.0.0.0".into());
            }
            command_line.extend(self.options.iter().map(OsString::from));
            let log = Log::from_its_end(guard.folder());
            let process = Process::open(guard.replace(Helper {
                command_line,
                log: LOG.into(),
                user: User::Owner,
                namespace: self.namespace.clone(),
            })?)?;
            match log.wait_until_ready(&process, statements)? {
                Readiness::Ready => return Ok((process, port)),
                Readiness::PortTaken => {}
            }
        }
        Err(no_port())
    }

    fn settings(&self, family: &MySqlFamily) -> BTreeMap<String, String> {
        let of_the_entry = family.settings.iter().copied();
        let fixed = SETTINGS
            .into_iter()
            .chain([(NO_BINLOG, "ON")])
            .chain(of_the_entry);
        let mut settings: BTreeMap<String, String> = fixed
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let tls = self.key().map(|_| self.tls_settings(family)).unwrap_or_default();
        settings.extend(tls.into_iter().map(|(name, value)| (name.to_owned(), value)));
        for option in &self.options {
            let (name, value) = option.split_once('=').unwrap_or((option, "ON"));
            settings.insert(name.trim_start_matches('-').replace('-', "_"), value.into());
        }
        settings
    }
}

/// A server of our own, reachable from this machine alone. It ends, and all its files go, when this is dropped or when
/// this process ends in whatever way (see [`guard`](ciphertax_supervise::guard)).
#[derive(Debug)]
pub struct PrivateServer {
    entry: &'static Entry,
    address: SocketAddr,
    socket: PathBuf,
    everyday: Account,
    others: Vec<Account>,
    trust: Option<Trust>,
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
            chain_length: 1,
            tls_versions: Vec::new(),
            accounts: Vec::new(),
            options: Vec::new(),
            namespace: None,
            reached_at: Ipv4Addr::LOCALHOST.into(),
            guard: GuardProgram::this_program(),
        }
    }

    /// Which server it is, and what it can do.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Where it is reached: 127.0.0.1, or the direct address of its link, and a port below the ephemeral range.
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
        self.trust.as_ref().map(Trust::ca)
    }

    /// A new certificate for clients with a key of this kind, which the server takes; `None` for a server without TLS.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn client_certificate(&self, kind: CertificateKind) -> Result<Option<ClientCertificateFiles>> {
        let issue = |trust: &Trust| trust.client_certificate(self.folder(), self.user(), kind);
        self.trust.as_ref().map(issue).transpose()
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
        Ok(self.guard.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{MARIADB_10_2, MONGODB, MYSQL};

    #[test]
    fn settings_name_what_was_asked_for() {
        let builder = PrivateServer::builder()
            .option("--tls-version=TLSv1.2")
            .option("--skip-grant-tables");
        let settings = settings_of(&builder);
        assert_eq!(settings["tls_version"], "TLSv1.2");
        assert_eq!(settings["skip_grant_tables"], "ON");
        assert_eq!(settings["max_connections"], "2000");
        assert_eq!(settings["skip_log_bin"], "ON");
    }

    #[test]
    fn old_tls_versions_are_told_to_openssl_with_its_security_level() {
        let old = PrivateServer::builder().tls_versions(&[TlsVersion::V1_0, TlsVersion::V1_2]);
        assert_eq!(settings_of(&old)["tls_version"], "TLSv1.0,TLSv1.2");
        assert_eq!(settings_of(&old)["ssl_cipher"], EVERY_SECURITY_LEVEL);
        assert!(!settings_of(&old.without_tls()).contains_key("tls_version"));
        let new = PrivateServer::builder().tls_versions(&[TlsVersion::V1_3]);
        assert!(!settings_of(&new).contains_key("ssl_cipher"));
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
    fn a_server_of_another_family_is_refused() {
        let error = PrivateServer::builder().server(&MONGODB).start().unwrap_err();
        let words = error.to_string();
        assert!(
            matches!(error, Error::OtherProtocol { .. }) && words.contains("the protocol of MongoDB"),
            "{words}"
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
    fn settings_of(builder: &PrivateServerBuilder) -> BTreeMap<String, String> {
        builder.settings(builder.family().unwrap())
    }
}
