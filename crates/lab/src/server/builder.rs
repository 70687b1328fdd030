//! The making of private servers.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use ciphertax_model::{AtRest, AuthenticationMethod, CertificateKind, ReplicaSet, Storage, TlsVersion};
use ciphertax_reactor::stop;

use crate::catalogue::Entry;
use crate::certificates::{Authority, CertificateFiles};
use crate::error::{Error, Result};
use crate::file_system;
use crate::files::names_a_full_disk;
use crate::link::RunningLink;
use crate::server::family::sweep_stale;
use ciphertax_supervise::guard::{Guard, GuardProgram};
use ciphertax_supervise::{PrivateFolder, namespace};

use super::family::{Members, Outline, Plan, family};
use super::file_system::{filled, is_full};
use super::member::{self, Member};
use super::private_server::PrivateServer;
use super::spec::{CONNECTIONS, Spec, Tls, Trust, disk_of};

/// How long a member may take to end after its last session broke: one that aborts writes down first where it was.
const ABORT: Duration = Duration::from_millis(500);

/// Connections for others beside those that are asked for: sessions for what is not measured, superusers, a user's own programs.
const FOR_OTHERS: u32 = 100;

/// How a private server is to be made.
#[must_use]
#[derive(Debug, Clone)]
pub struct PrivateServerBuilder {
    spec: Spec,
    guard: GuardProgram,
}

impl PrivateServer {
    /// A server of the catalogue with access control, TLS, a P-256 certificate where it knows one, and default TLS
    /// versions.
    pub fn builder(entry: &'static Entry) -> PrivateServerBuilder {
        PrivateServerBuilder {
            spec: Spec::new(entry),
            guard: GuardProgram::this_program(),
        }
    }
}

impl PrivateServerBuilder {
    pub(crate) fn entry(&self) -> &'static Entry {
        self.spec.entry
    }

    /// The kind of the server's certificate; ECDSA P-256 if nothing else is asked for, or RSA 2048 where the server
    /// knows RSA alone.
    pub fn certificate(mut self, kind: CertificateKind) -> Self {
        self.spec.tls = Tls::With(kind);
        self
    }

    /// Certificates that the server sends: its own, and those of intermediate authorities; 1 if nothing else is asked
    /// for.
    pub fn chain_length(mut self, certificates: u8) -> Self {
        self.spec.chain_length = certificates;
        self
    }

    /// A server that does not offer TLS at all.
    pub fn without_tls(mut self) -> Self {
        self.spec.tls = Tls::Off;
        self
    }

    /// The TLS versions that the server offers, old ones too; its own choice if nothing else is asked for. One that
    /// has no setting for it (yaSSL) offers all it has.
    pub fn tls_versions(mut self, versions: &[TlsVersion]) -> Self {
        self.spec.tls_versions = versions.to_vec();
        self
    }

    /// One more account, for logins by this method; see [`PrivateServer::account`].
    pub fn account(mut self, method: AuthenticationMethod) -> Self {
        if !self.spec.accounts.contains(&method) {
            self.spec.accounts.push(method);
        }
        self
    }

    /// One more account, for logins by this method of SCRAM with keys of so many iterations, which not every family
    /// can have; see [`PrivateServer::scram_account`].
    pub fn scram_account(mut self, method: AuthenticationMethod, iterations: u32) -> Self {
        let account = (method, iterations);
        if !self.spec.scram_accounts.contains(&account) {
            self.spec.scram_accounts.push(account);
        }
        self
    }

    /// Whether nobody may do anything without a login, as if nothing else is asked for. A server without access control
    /// has no account, and lets anybody on this machine do everything; not every family can be without.
    pub fn access_control(mut self, on: bool) -> Self {
        self.spec.access_control = on;
        self
    }

    /// Several servers that hold the same data, which not every family can be; one server if nothing else is asked for.
    pub fn replica_set(mut self, set: ReplicaSet) -> Self {
        self.spec.replica_set = Some(set);
        self
    }

    /// So many nodes that all take part in every commit, which not every server can be; 1, a single server, if nothing else is
    /// asked for.
    pub fn nodes(mut self, nodes: u8) -> Self {
        self.spec.nodes = nodes;
        self
    }

    /// Whether servers that hold the same data encrypt what they tell each other, by their certificate; they do not if nothing
    /// else is asked for.
    pub fn cluster_tls(mut self, on: bool) -> Self {
        self.spec.cluster_tls = on;
        self
    }

    /// Connections that it takes at a time at least, and some more for whoever else asks it; 2,000 if no more are asked for.
    /// Beyond these, a server that has a thread pool uses it.
    pub fn connections(mut self, connections: u32) -> Self {
        if connections > CONNECTIONS {
            self.spec.connections = connections.saturating_add(FOR_OTHERS);
        }
        self
    }

    /// Memory for data and indexes of each server, in megabytes; what its family says if nothing else is asked for.
    pub fn cache_mb(mut self, megabytes: u32) -> Self {
        self.spec.cache_mb = Some(megabytes);
        self
    }

    /// How large the redo log of a server of MySQL's family may become, in megabytes: with less, it writes pages out while it is
    /// measured. The server's own size if nothing else is asked for.
    pub fn redo_log_mb(mut self, megabytes: u32) -> Self {
        self.spec.redo_log_mb = Some(megabytes);
        self
    }

    /// Memory of each server, and how it writes; what its family says where nothing is asked for.
    pub fn storage(mut self, storage: Storage) -> Self {
        self.spec.storage = storage;
        self.spec.cache_mb = storage.memory_mb.or(self.spec.cache_mb);
        self
    }

    /// What the server itself encrypts on the disk, with keys of its own that go with it, and the file system that its data
    /// and temporary files lie on; nothing, and the disk's own, if nothing else is asked for.
    pub fn at_rest(mut self, at_rest: AtRest) -> Self {
        self.spec.at_rest = at_rest;
        self
    }

    /// Room for all that the servers write, in megabytes, which must be free: the size of the image where the file system
    /// has one; what its family needs for a small data set if nothing else is asked for.
    pub fn disk_mb(mut self, megabytes: u64) -> Self {
        self.spec.disk_mb = Some(megabytes);
        self
    }

    /// One more option of the server's command line, for example `--require-secure-transport=ON` or `--maxConns=30`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.spec.options.push(option.into());
        self
    }

    /// A server inside a link: [`PrivateServer::addresses`] are its direct ones, and the same ports of
    /// [`Endpoints::measured`](crate::link::Endpoints::measured) lead to it at the link's distance; by these the members of a
    /// replica set know each other and are found by their clients. It must be stopped before the link is.
    pub fn inside(mut self, link: &RunningLink) -> Self {
        self.spec.inside = Some(link.endpoints.clone());
        self
    }

    /// The program of the guard; the program that runs now if nothing else is asked for.
    pub fn guard(mut self, program: GuardProgram) -> Self {
        self.guard = program;
        self
    }

    /// Makes the server and waits until it is ready: a second or two, and several more if its template has to be made;
    /// some four for a replica set, whose members wait before they elect the first primary.
    ///
    /// # Errors
    /// If the server cannot do what is asked of it, is not installed, or cannot be made or started; then the message
    /// holds what its log complains of.
    pub fn start(self) -> Result<PrivateServer> {
        let Self { spec, guard } = self;
        spec.at_rest.file_system.map_or(Ok(()), file_system::check)?;
        let mut plan = family(spec.entry).plan(&spec)?;
        sweep_stale();
        let disk_mb = spec.disk_mb.unwrap_or(plan.outline().needed_mb);
        let mut guard = Guard::start(&guard, PrivateFolder::create(disk_mb)?)?;
        let tls = certify(&spec, plan.as_ref(), guard.folder())?;
        let (trust, files) = tls.unzip();
        let disk = disk_of(guard.folder());
        fs::create_dir(&disk).map_err(Error::write(&disk))?;
        plan.prepare(guard.folder(), files.as_ref())?;
        let file_system = spec.at_rest.file_system;
        let file_system = file_system.map(|kind| file_system::mount(kind, &disk, disk_mb, &mut guard));
        let file_system = file_system.transpose();
        let file_system = file_system.map_err(|error| match is_full(guard.folder()) {
            true => filled(spec.entry, spec.at_rest.file_system, guard.folder()),
            false => error,
        })?;
        let members = member::start(&spec, plan.as_ref(), &mut guard)?;
        set_up(&spec, plan.as_ref(), &members, guard.folder())?;
        Ok(PrivateServer {
            entry: spec.entry,
            replica_set: spec.replica_set,
            at_rest: spec.at_rest,
            file_system,
            accounts: plan.accounts().to_vec(),
            socket: plan.outline().socket.map(|name| guard.folder().join(name)),
            settings: plan.settings(),
            ports_between: plan.ports_between(
                &members
                    .iter()
                    .map(|member| member.address.port())
                    .collect::<Vec<_>>(),
            ),
            namespace: spec.inside.as_ref().map(|inside| inside.namespace.clone()),
            trust,
            members,
            guard,
        })
    }
}

/// What clients of a server with TLS trust, and its certificate.
fn certify(spec: &Spec, plan: &dyn Plan, folder: &Path) -> Result<Option<(Trust, CertificateFiles)>> {
    let Some(kind) = spec.key() else {
        return Ok(None);
    };
    let authority = match spec.cluster_tls {
        true => Authority::new(kind)?.of_servers_that_are_clients(spec.measured_at()),
        false => Authority::new(kind)?,
    };
    let Outline {
        key_format,
        client_name,
        ..
    } = plan.outline();
    let files = authority.issue_chain_for_localhost(folder, spec.chain_length, key_format)?;
    let trust = Trust {
        files: files.clone(),
        client_name,
        authority,
    };
    Ok(Some((trust, files)))
}

/// Makes accounts and replica sets, from where the servers are: some let the first account be made from there alone.
fn set_up(spec: &Spec, plan: &dyn Plan, members: &[Member], folder: &Path) -> Result<()> {
    let ports: Vec<u16> = members.iter().map(|member| member.address.port()).collect();
    let at = |ip| ports.iter().map(|port| SocketAddr::from((ip, *port))).collect();
    let reached = Members {
        from_beside: at(Ipv4Addr::LOCALHOST.into()),
        by_clients: at(spec.measured_at()),
    };
    let outcome = match &spec.inside {
        None => plan.set_up(&reached),
        Some(inside) => {
            // It is a thread of its own, with the flag of this one.
            let stop = stop::current_flag();
            let work = || match &stop {
                Some(stop) => stop::with_flag(stop, || Ok(plan.set_up(&reached))),
                None => Ok(plan.set_up(&reached)),
            };
            namespace::inside(&inside.namespace, work).unwrap_or_else(|error| {
                let problem = format!("its network namespace cannot be entered: {error}");
                Err(Error::set_up(spec.entry.name, problem))
            })
        }
    };
    let Err(error) = outcome else {
        return Ok(());
    };
    // A full disk, or the end of a member, explains more than what was asked of it then.
    let mut members = members.iter();
    if names_a_full_disk(&error.to_string())
        || members.clone().any(|member| member.found_the_disk_full(folder))
    {
        return Err(filled(spec.entry, spec.at_rest.file_system, folder));
    }
    let dead = members.find(|member| member.process.ends_within(ABORT));
    Err(dead.map_or(error, |member| member.end(spec, plan, folder)))
}
