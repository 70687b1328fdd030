//! Private MongoDB servers.

mod log;
mod member;
mod settings;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::SystemTime;

use ciphertax_model::{CertificateKind, TlsVersion};

use crate::catalogue::{Entry, MONGODB, Protocol};
use crate::certificates::{Authority, ClientCertificateFiles};
use crate::error::{Error, Result};
use crate::folder::PrivateFolder;
use crate::guard::{Guard, GuardProgram};
use crate::locate::Installation;
use crate::sweep::sweep_stale;
use crate::trust::Trust;
use member::Member;
use settings::{Settings, TlsSettings};

/// Memory for data and indexes, in megabytes, if nothing else is asked for: as much as other private servers have.
const CACHE_MB: u32 = 256;

/// How a private MongoDB is to be made.
#[derive(Debug, Clone)]
pub struct PrivateMongoDbBuilder {
    entry: &'static Entry,
    /// The kind of the certificate; `None` for no TLS.
    certificate: Option<CertificateKind>,
    chain_length: u8,
    tls_versions: Vec<TlsVersion>,
    cache_mb: u32,
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

    /// Memory for data and indexes of each server, in megabytes (`wiredTigerCacheSizeGB`); 256 if nothing else is asked
    /// for, which is the least that MongoDB takes.
    #[must_use]
    pub fn cache_mb(mut self, megabytes: u32) -> Self {
        self.cache_mb = megabytes;
        self
    }

    /// The program of the guard; the program that runs now if nothing else is asked for.
    #[must_use]
    pub fn guard(mut self, program: GuardProgram) -> Self {
        self.guard = program;
        self
    }

    /// Makes the server and waits until it is ready, which takes a fraction of a second.
    ///
    /// # Errors
    /// If the server cannot do what is asked of it, is not installed, or cannot be made or started; then the message
    /// holds the last complaints of its log.
    pub fn start(self) -> Result<PrivateMongoDb> {
        self.refuse_the_impossible()?;
        let installation = Installation::of(self.entry)?;
        sweep_stale();
        let mut guard = Guard::start(&self.guard, PrivateFolder::create_with(member::needed_mb(1))?)?;
        let (tls, trust) = self.tls(guard.folder())?.unzip();
        let settings = Settings {
            cache_mb: self.cache_mb,
            access_control: false,
            replica_set: None,
            key_file: None,
            tls,
        };
        let members = member::start(1, &installation, &settings, &mut guard)?;
        Ok(PrivateMongoDb {
            entry: self.entry,
            members,
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
        let refusals: Vec<_> = certificate.into_iter().chain(versions).collect();
        if refusals.is_empty() {
            Ok(())
        } else {
            Err(Error::Refused(refusals))
        }
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
/// this process ends in whatever way (see [`guard`](crate::guard)).
#[derive(Debug)]
pub struct PrivateMongoDb {
    entry: &'static Entry,
    members: Vec<Member>,
    trust: Option<Trust>,
    settings: BTreeMap<String, String>,
    started: SystemTime,
    guard: Guard,
}

impl PrivateMongoDb {
    /// The catalogue's `mongodb` with TLS, a P-256 certificate and default TLS versions.
    pub fn builder() -> PrivateMongoDbBuilder {
        PrivateMongoDbBuilder {
            entry: &MONGODB,
            certificate: Some(CertificateKind::default()),
            chain_length: 1,
            tls_versions: Vec::new(),
            cache_mb: CACHE_MB,
            guard: GuardProgram::this_program(),
        }
    }

    /// Which server it is, and what it can do.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Where the server is reached: 127.0.0.1, and a port below the ephemeral range.
    pub fn address(&self) -> SocketAddr {
        // There is one at least.
        self.members[0].address()
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
        let issue = |trust: &Trust| trust.client_certificate(self.folder(), "ciphertax", kind);
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
        self.members.iter().all(Member::is_alive)
    }

    /// The last complaints in its log, in one line; where there are none, the last messages.
    pub fn log_tail(&self) -> String {
        self.members[0].log_tail()
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.guard.finish()
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
