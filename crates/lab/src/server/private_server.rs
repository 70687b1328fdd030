//! A private server that runs.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ciphertax_base::Secret;
use ciphertax_model::{AtRest, AuthenticationMethod, CertificateKind, ReplicaSet};

use crate::accounts::Account;
use crate::catalogue::Entry;
use crate::certificates::{CertificateFiles, ClientCertificateFiles};
use crate::error::{Error, Result};
use crate::file_system::MountedFileSystem;
use ciphertax_supervise::guard::Guard;

use super::family::family;
use super::file_system::filled;
use super::member::Member;
use super::spec::Trust;

/// A server of our own, or a replica set of them, reachable from this machine alone. It ends, and all its files go,
/// when this is dropped or when this process ends in whatever way (see [`guard`](ciphertax_supervise::guard)).
#[derive(Debug)]
pub struct PrivateServer {
    pub(super) entry: &'static Entry,
    /// The replica set that the members make up; `None` for a single server.
    pub replica_set: Option<ReplicaSet>,
    /// What it encrypts on the disk.
    pub at_rest: AtRest,
    pub(super) file_system: Option<MountedFileSystem>,
    /// The first is the default account.
    pub(super) accounts: Vec<Account>,
    pub(super) socket: Option<PathBuf>,
    pub(super) trust: Option<Trust>,
    pub(super) settings: BTreeMap<String, String>,
    /// Where its members tell each other what was written.
    pub(crate) ports_between: Vec<u16>,
    /// The network namespace that it runs in; `None` for that of this process.
    pub(crate) namespace: Option<PathBuf>,
    pub(super) members: Vec<Member>,
    pub(super) guard: Guard,
}

impl PrivateServer {
    /// Which server it is, and what it can do.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Where the server, or its first member, is reached: 127.0.0.1, or the direct address of its link, and a port
    /// below the ephemeral range. A database without a process has port 0.
    pub fn address(&self) -> SocketAddr {
        let first = self.members.first();
        first.map_or((Ipv4Addr::LOCALHOST, 0).into(), |member| member.address)
    }

    /// Where all members are reached; a read-only member comes last.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.address).collect()
    }

    /// The only address, for what leads to one alone: relays and tunnels.
    ///
    /// # Errors
    /// If it has several members, whose clients are sent to the addresses of each.
    pub fn only_address(&self) -> Result<SocketAddr> {
        match self.members[..] {
            [_] => Ok(self.address()),
            _ => Err(Error::SeveralAddresses {
                server: self.entry.name,
                members: self.members.len(),
            }),
        }
    }

    /// Its Unix socket; `None` for a server without one.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The default account; it may do everything. Empty without access control.
    pub fn user(&self) -> &str {
        &self.default_account().user
    }

    /// The password of [`PrivateServer::user`]; it exists in this process alone. Empty without access control.
    pub fn password(&self) -> &Secret {
        &self.default_account().password
    }

    /// The account for logins by this method: one that
    /// [`PrivateServerBuilder::account`](super::PrivateServerBuilder::account) asked for, else the default account if that
    /// is its method. Without access control that method is `none`.
    pub fn account(&self, method: AuthenticationMethod) -> Option<&Account> {
        self.account_with(method, None)
    }

    /// The account for logins by this method of SCRAM with keys of so many iterations, that
    /// [`PrivateServerBuilder::scram_account`](super::PrivateServerBuilder::scram_account) asked for.
    pub fn scram_account(&self, method: AuthenticationMethod, iterations: u32) -> Option<&Account> {
        self.account_with(method, Some(iterations))
    }

    fn account_with(&self, method: AuthenticationMethod, iterations: Option<u32>) -> Option<&Account> {
        let mut accounts = self.accounts.iter().rev();
        accounts.find(|account| account.method == method && account.scram_iterations == iterations)
    }

    /// The default account; it may do everything. By `none`, without name and password, where there is no access control.
    pub fn default_account(&self) -> &Account {
        // Every plan has it.
        &self.accounts[0]
    }

    /// The certificate of the authority that clients must trust; `None` for a server without TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.trust.as_ref().map(|trust| trust.files.ca.as_path())
    }

    /// Its certificate, for what stands before it and speaks in its name; `None` for a server without TLS.
    pub(crate) fn certificate_files(&self) -> Option<&CertificateFiles> {
        self.trust.as_ref().map(|trust| &trust.files)
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// A new certificate for clients with a key of this kind, which the server takes; where accounts log in by
    /// certificate, it is that of such an account. `None` for a server without TLS.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn client_certificate(&self, kind: CertificateKind) -> Result<Option<ClientCertificateFiles>> {
        let issue = |trust: &Trust| trust.client_certificate(self.folder(), trust.client_name, kind);
        self.trust.as_ref().map(issue).transpose()
    }

    /// A new certificate of the same authority that no account has, to prove that it is refused; `None` for a server
    /// without TLS.
    ///
    /// # Errors
    /// OpenSSL's own, or a file that cannot be written.
    pub fn unknown_client_certificate(
        &self,
        kind: CertificateKind,
    ) -> Result<Option<ClientCertificateFiles>> {
        const NAME: &str = "unknown-client";
        let issue = |trust: &Trust| trust.client_certificate(&self.folder().join(NAME), NAME, kind);
        self.trust.as_ref().map(issue).transpose()
    }

    /// Its folder, where short-lived files may be put too: all of it goes with the server.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Its processes, one a member. Their numbers are not given to other processes before this is stopped, even if they
    /// die.
    pub fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.process.pid()).collect()
    }

    /// The settings that differ from the server's defaults or matter for a measurement.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// False once one of its processes has ended, or its file system has.
    pub fn is_alive(&self) -> bool {
        self.dead_member().is_none() && self.end_of_file_system().is_none()
    }

    /// Where the first member was reached whose process has ended.
    pub fn dead_member(&self) -> Option<SocketAddr> {
        let dead = self.members.iter().find(|member| !member.is_alive());
        dead.map(|member| member.address)
    }

    /// What explains the end of the first member that has ended, or else the last words of the first of all, from its
    /// log, in one line. A file system that ended, or filled up, is named first, with the remedy.
    pub fn log_tail(&self) -> String {
        if let Some(end) = self.end_of_file_system() {
            return end;
        }
        let dead = self.members.iter().find(|member| !member.is_alive());
        let Some(member) = dead.or(self.members.first()) else {
            return "nothing".into();
        };
        let complaints = family(self.entry).complaints(&member.log);
        if dead.is_some() && member.found_the_disk_full(self.folder()) {
            let error = filled(self.entry, self.at_rest.file_system, self.folder());
            return format!("{error}; {complaints}");
        }
        complaints
    }

    /// Kills a member, as if its machine had failed; it is not started again.
    ///
    /// # Errors
    /// If there is no such member.
    pub fn kill_member(&self, address: SocketAddr) -> Result<()> {
        let mut members = self.members.iter();
        let member = members.find(|member| member.address == address);
        let member = member
            .ok_or_else(|| Error::set_up(self.entry.name, format!("{address} is none of its addresses")))?;
        Ok(member.process.kill()?)
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        Ok(self.guard.finish()?)
    }
}
