//! Private MongoDB servers.

mod log;
mod member;
mod proof;
mod set_up;
mod settings;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ciphertax_model::{AuthenticationMethod, CertificateKind, ReplicaSet, Secret, TlsVersion};
use ciphertax_supervise::guard::{Guard, GuardProgram};
use ciphertax_supervise::{PrivateFolder, create_private_file};

use crate::accounts::{Account, X509_COMMON_NAME, hexadecimal};
use crate::catalogue::{Entry, MONGODB, Protocol, Refusal};
use crate::certificates::{Authority, ClientCertificateFiles};
use crate::error::{Error, Result};
use crate::leftovers::sweep_stale;
use crate::locate::Installation;
use crate::trust::Trust;
use member::Member;
pub use proof::{Circumstances, prove};
use settings::{Settings, TlsSettings};

/// Memory for data and indexes, in megabytes, if nothing else is asked for. MongoDB starts to write changed pages out when they
/// fill a twentieth of it: with less, writes of a few seconds make it evict and read again what was loaded.
const CACHE_MB: u32 = 1024;

/// The name of a private replica set.
const SET_NAME: &str = "ciphertax";

/// Random bytes of the secret that the members of a replica set share; MongoDB takes up to 1024 characters.
const KEY_BYTES: usize = 64;

/// How a private MongoDB is to be made.
#[derive(Debug, Clone)]
pub struct PrivateMongoDbBuilder {
    entry: &'static Entry,
    /// The kind of the certificate; `None` for no TLS.
    certificate: Option<CertificateKind>,
    chain_length: u8,
    tls_versions: Vec<TlsVersion>,
    access_control: bool,
    accounts: Vec<AuthenticationMethod>,
    replica_set: Option<ReplicaSet>,
    cache_mb: u32,
    further: Vec<(&'static str, String)>,
    guard: GuardProgram,
}

impl PrivateMongoDbBuilder {
    /// Which server; the catalogue's `mongodb` if nothing else is asked for.
    #[must_use]
    pub fn server(mut self, entry: &'static Entry) -> Self {
        self.entry = entry;
        self
    }

    /// The kind of the server's certificate; ECDSA P-256 if nothing else is asked for.
    #[must_use]
    pub fn certificate(mut self, kind: CertificateKind) -> Self {
        self.certificate = Some(kind);
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
        self.certificate = None;
        self
    }

    /// The TLS versions that the server offers, old ones too; its own choice if nothing else is asked for.
    #[must_use]
    pub fn tls_versions(mut self, versions: &[TlsVersion]) -> Self {
        self.tls_versions = versions.to_vec();
        self
    }

    /// Whether nobody may do anything without a login, as if nothing else is asked for. A server without access control
    /// has no account, and lets anybody on this machine do everything.
    #[must_use]
    pub fn access_control(mut self, on: bool) -> Self {
        self.access_control = on;
        self
    }

    /// One more account, for logins by this method; see [`PrivateMongoDb::account`].
    #[must_use]
    pub fn account(mut self, method: AuthenticationMethod) -> Self {
        if !self.accounts.contains(&method) {
            self.accounts.push(method);
        }
        self
    }

    /// Several servers that hold the same data; one server that is no replica set if nothing else is asked for.
    #[must_use]
    pub fn replica_set(mut self, set: ReplicaSet) -> Self {
        self.replica_set = Some(set);
        self
    }

    /// Memory for data and indexes of each server, in megabytes (`wiredTigerCacheSizeGB`); 1024 if nothing else is asked
    /// for. MongoDB takes no less than 256.
    #[must_use]
    pub fn cache_mb(mut self, megabytes: u32) -> Self {
        self.cache_mb = megabytes;
        self
    }

    /// One more option of the server, for example `maxConns`.
    #[must_use]
    pub fn option(mut self, name: &'static str, value: impl ToString) -> Self {
        self.further.push((name, value.to_string()));
        self
    }

    /// The program of the guard; the program that runs now if nothing else is asked for.
    #[must_use]
    pub fn guard(mut self, program: GuardProgram) -> Self {
        self.guard = program;
        self
    }

    /// Makes the servers and waits until they are ready: less than a second for one, some four for a replica set, whose
    /// members wait before they elect the first primary.
    ///
    /// # Errors
    /// If the server cannot do what is asked of it, is not installed, or cannot be made or started; then the message
    /// holds the last complaints of its log.
    pub fn start(self) -> Result<PrivateMongoDb> {
        self.refuse_the_impossible()?;
        let installation = Installation::of(self.entry)?;
        sweep_stale();
        let accounts = self.accounts()?;
        let servers = self.replica_set.map_or(1, |set| usize::from(set.servers()));
        let folder = PrivateFolder::create(member::needed_mb(servers))?;
        let mut guard = Guard::start(&self.guard, folder)?;
        let (tls, trust) = self.tls(guard.folder())?.unzip();
        let settings = Settings {
            cache_mb: self.cache_mb,
            further: self.further.clone(),
            access_control: self.access_control,
            replica_set: self.replica_set.map(|_| SET_NAME),
            key_file: self.key_file(guard.folder())?,
            tls,
        };
        let members = member::start(servers, &installation, &settings, &mut guard)?;
        let addresses: Vec<SocketAddr> = members.iter().map(Member::address).collect();
        let to_be_made = if self.access_control { &accounts[..] } else { &[] };
        set_up::set_up(&addresses, self.replica_set, to_be_made)?;
        Ok(PrivateMongoDb {
            entry: self.entry,
            members,
            accounts,
            replica_set: self.replica_set,
            trust,
            settings: settings.told(),
            started: SystemTime::now(),
            guard,
        })
    }

    fn refuse_the_impossible(&self) -> Result<()> {
        if self.entry.protocol() != Protocol::MongoDb {
            return Err(Error::OtherProtocol {
                server: self.entry.name,
                protocol: self.entry.protocol(),
                wanted: Protocol::MongoDb,
            });
        }
        let capabilities = &self.entry.capabilities;
        let certificate = self
            .certificate
            .and_then(|kind| capabilities.refuse_certificate(kind));
        let versions = self
            .tls_versions
            .iter()
            .filter_map(|version| capabilities.refuse_version(*version));
        let methods = self
            .accounts
            .iter()
            .filter_map(|method| self.refuse_account(*method));
        let refusals: Vec<_> = certificate.into_iter().chain(versions).chain(methods).collect();
        if refusals.is_empty() {
            Ok(())
        } else {
            Err(Error::Refused(refusals))
        }
    }

    /// A method by which nobody could log in, or need not.
    fn refuse_account(&self, method: AuthenticationMethod) -> Option<Refusal> {
        let without_login = method == AuthenticationMethod::NoLogin;
        let (setting, instead) = if self.access_control && without_login {
            ("a session without a login under access control", "logins")
        } else if !self.access_control && !without_login {
            ("logins without access control", "sessions without a login")
        } else if method == AuthenticationMethod::MongodbX509 && self.certificate.is_none() {
            ("MONGODB-X509 without TLS", "it with TLS")
        } else {
            return self.entry.capabilities.refuse_method(method);
        };
        Some(Refusal {
            server: self.entry.name,
            setting: setting.into(),
            instead: instead.into(),
        })
    }

    /// The account of everyday use, and those asked for.
    fn accounts(&self) -> Result<Vec<Account>> {
        let everyday = if self.access_control {
            Account::of_everyday(self.entry)
        } else {
            Account::for_method(AuthenticationMethod::NoLogin)
        };
        let others = self
            .accounts
            .iter()
            .filter(|method| **method != AuthenticationMethod::NoLogin)
            .map(|method| Account::for_method(*method));
        std::iter::once(everyday).chain(others).collect()
    }

    /// The secret that members know each other by, where they have to.
    fn key_file(&self, folder: &Path) -> Result<Option<PathBuf>> {
        if !self.access_control || self.replica_set.is_none() {
            return Ok(None);
        }
        let mut key = [0; KEY_BYTES];
        openssl::rand::rand_bytes(&mut key)?;
        let path = folder.join("members.key");
        create_private_file(&path)?
            .write_all(hexadecimal(&key).as_bytes())
            .map_err(Error::write(&path))?;
        Ok(Some(path))
    }

    /// What the server needs for TLS, and what its clients do.
    fn tls(&self, folder: &Path) -> Result<Option<(TlsSettings, Trust)>> {
        let Some(kind) = self.certificate else {
            return Ok(None);
        };
        let authority = Authority::new(kind)?;
        let files = authority.issue_bundle_for_localhost(folder, self.chain_length)?;
        let settings = TlsSettings {
            bundle: files.bundle,
            ca: files.ca.clone(),
            kind,
            versions: self.tls_versions.clone(),
        };
        Ok(Some((settings, Trust::new(authority, files.ca))))
    }
}

/// A MongoDB of our own, reachable from this machine alone. It ends, and all its files go, when this is dropped or when
/// this process ends in whatever way (see [`guard`](ciphertax_supervise::guard)).
#[derive(Debug)]
pub struct PrivateMongoDb {
    entry: &'static Entry,
    members: Vec<Member>,
    /// The first is that of everyday use.
    accounts: Vec<Account>,
    replica_set: Option<ReplicaSet>,
    trust: Option<Trust>,
    settings: BTreeMap<String, String>,
    started: SystemTime,
    guard: Guard,
}

impl PrivateMongoDb {
    /// One server of the catalogue's `mongodb`, with access control, TLS, a P-256 certificate and default TLS versions.
    pub fn builder() -> PrivateMongoDbBuilder {
        PrivateMongoDbBuilder {
            entry: &MONGODB,
            certificate: Some(CertificateKind::default()),
            chain_length: 1,
            tls_versions: Vec::new(),
            access_control: true,
            accounts: Vec::new(),
            replica_set: None,
            cache_mb: CACHE_MB,
            further: Vec::new(),
            guard: GuardProgram::this_program(),
        }
    }

    /// Which server it is, and what it can do.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Where the server, or the first member, is reached: 127.0.0.1, and a port below the ephemeral range.
    pub fn address(&self) -> SocketAddr {
        // There is one at least.
        self.members[0].address()
    }

    /// Where all servers are reached; the read-only member comes last.
    pub fn members(&self) -> Vec<SocketAddr> {
        self.members.iter().map(Member::address).collect()
    }

    /// The replica set that the servers make up; `None` for a server that is none.
    pub fn replica_set(&self) -> Option<ReplicaSet> {
        self.replica_set
    }

    /// The replica set's name; `None` for a server that is none.
    pub fn set_name(&self) -> Option<&'static str> {
        self.replica_set.map(|_| SET_NAME)
    }

    /// The account of everyday use; it may do everything. Empty without access control.
    pub fn user(&self) -> &str {
        &self.everyday().user
    }

    /// The password of [`PrivateMongoDb::user`]; it exists in this process alone. Empty without access control.
    pub fn password(&self) -> &Secret {
        &self.everyday().password
    }

    /// The account for logins by this method: one that [`PrivateMongoDbBuilder::account`] asked for, else the account of
    /// everyday use if that is its method. Without access control that method is `none`.
    pub fn account(&self, method: AuthenticationMethod) -> Option<&Account> {
        self.accounts
            .iter()
            .rev()
            .find(|account| account.method == method)
    }

    fn everyday(&self) -> &Account {
        // It is always made.
        &self.accounts[0]
    }

    /// The certificate of the authority that clients must trust; `None` for a server without TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.trust.as_ref().map(Trust::ca)
    }

    /// A new certificate for clients with a key of this kind, which the server takes, for the account of `MONGODB-X509` if
    /// there is one; `None` for a server without TLS.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn client_certificate(&self, kind: CertificateKind) -> Result<Option<ClientCertificateFiles>> {
        let issue = |trust: &Trust| trust.client_certificate(self.folder(), X509_COMMON_NAME, kind);
        self.trust.as_ref().map(issue).transpose()
    }

    /// A new certificate of the same authority that no account has, to prove that it is refused; `None` for a server
    /// without TLS.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn strangers_certificate(&self, kind: CertificateKind) -> Result<Option<ClientCertificateFiles>> {
        let folder = self.folder().join("stranger");
        let issue = |trust: &Trust| trust.client_certificate(&folder, "stranger", kind);
        self.trust.as_ref().map(issue).transpose()
    }

    /// Its folder, where short-lived files may be put too: all of it goes with the server.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Its processes. Their numbers are not given to other processes before this is stopped, even if they die.
    pub fn pids(&self) -> Vec<u32> {
        self.members
            .iter()
            .map(|member| member.pid().as_raw_nonzero().get().unsigned_abs())
            .collect()
    }

    /// When it was ready.
    pub fn started(&self) -> SystemTime {
        self.started
    }

    /// The settings that differ from the server's defaults or matter for a measurement.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// False once one of its processes has ended.
    pub fn is_alive(&self) -> bool {
        self.dead_member().is_none()
    }

    /// Where the first server was reached whose process has ended.
    pub fn dead_member(&self) -> Option<SocketAddr> {
        let mut members = self.members.iter();
        members.find(|member| !member.is_alive()).map(Member::address)
    }

    /// The last complaints in the log of the first server that has ended, or else of the first of all, in one line; where
    /// there are none, the last messages.
    pub fn log_tail(&self) -> String {
        let mut members = self.members.iter();
        let told = members
            .find(|member| !member.is_alive())
            .unwrap_or(&self.members[0]);
        told.log_tail()
    }

    /// The primary of the replica set.
    ///
    /// # Errors
    /// If there is none, and none is elected in time.
    pub fn primary(&self) -> Result<SocketAddr> {
        set_up::primary(&self.members())
    }

    /// Makes the primary of the replica set step down, waits until there is another, and returns where that is reached.
    ///
    /// # Errors
    /// If there is no primary, it does not step down, or no other is elected in time.
    pub fn step_down(&self) -> Result<SocketAddr> {
        set_up::step_down(&self.members(), self.everyday())
    }

    /// Kills a server, as if its machine had failed; it is not started again.
    ///
    /// # Errors
    /// If there is no such server.
    pub fn kill_member(&self, server: SocketAddr) -> Result<()> {
        let member = self.members.iter().find(|member| member.address() == server);
        member.map_or_else(
            || {
                Err(Error::SetUp {
                    problem: format!("{server} is none of its servers"),
                })
            },
            Member::kill,
        )
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
    use crate::catalogue::MARIADB;

    #[test]
    fn a_server_of_another_family_is_refused() {
        let error = PrivateMongoDb::builder().server(&MARIADB).start().unwrap_err();
        let words = error.to_string();
        assert!(
            matches!(error, Error::OtherProtocol { .. }) && words.contains("the protocol of MySQL"),
            "{words}"
        );
    }
}
