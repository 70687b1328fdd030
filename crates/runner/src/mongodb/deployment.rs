//! The servers of one MongoDB: private ones, or those of the user's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphertax_lab::PrivateServer;
use ciphertax_model::{
    Arm, AuthenticationMethod, CertificateKind, PasswordCache, Placement, ReadPreference, ReplicaSet, Site,
    Study, Transport,
};
use ciphertax_observe::ProcessMeter;
use ciphertax_records::{ServerPlacement, ServerRecord};
use ciphertax_wire::mongodb::{
    Address, ConnectOptions, Expectation, Login, Others, Role, ScramKeys, Topology,
};
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
use ciphertax_wire::{MongoDbTarget, Target};
use ciphertax_workload::mongodb::MongodbAccess;

use super::control::Identity;
use crate::entry::entry;
use crate::error::RunError;
use crate::groups::Group;
use crate::placement::confined;
use crate::trust::{Trust, issued, need_old_tls};
use crate::whereabouts::Whereabouts;

/// The servers of one MongoDB.
pub(crate) struct Deployment {
    private: Option<PrivateServer>,
    trust: Trust,
    /// Certificates of the same authority that no account has.
    strangers: BTreeMap<CertificateKind, ClientCertificate>,
    /// The server, or those members of a replica set that are asked for the others.
    seeds: Vec<Address>,
    is_replica_set: bool,
    /// Who logs in where an arm does not say.
    everyday: Login,
    name: String,
    pub(super) processes: Vec<ProcessMeter>,
    /// Why there are none.
    cpu_unread: Option<String>,
    /// TLS for what is not measured; `None` for none.
    everyday_tls: Option<Arc<TlsConnector>>,
    /// The target as a URL, without its password; `None` for private servers.
    url: Option<String>,
    same_host: bool,
    /// The only CPU of private servers, where the load must run too.
    pub(super) cpu: Option<usize>,
}

impl Deployment {
    /// Starts private servers for a group of arms in the cells of a site.
    ///
    /// # Errors
    /// When they cannot be had or started.
    pub(super) fn private(study: &Study, site: &Site, group: &Group<'_>) -> Result<Self, RunError> {
        let arms = &group.arms[..];
        let server = builder(study, site, group)?.start()?;
        let cpu = match study.placement {
            Placement::Free => None,
            Placement::Together => {
                let each = server.pids().into_iter().map(confined);
                each.collect::<Result<Vec<_>, _>>()?.pop()
            }
        };
        let processes = server.pids().into_iter().map(ProcessMeter::open);
        let name = group.name.clone();
        let seeds: Vec<Address> = server.addresses().into_iter().map(address).collect();
        Ok(Self {
            processes: processes.collect::<Result<_, _>>()?,
            trust: Trust {
                display: format!("the private server {name} at {}", server.address()),
                host: server.address().ip().to_string(),
                verification: match server.ca_file() {
                    Some(ca) => Verification::HostName(ca.to_owned(), server.address().ip().to_string()),
                    None => Verification::None,
                },
                legacy: group.needs.certificate.kind == CertificateKind::Rsa1024,
                clients: issued(arms, |kind| server.client_certificate(kind))?,
            },
            strangers: issued(arms, |kind| server.unknown_client_certificate(kind))?,
            is_replica_set: server.replica_set().is_some(),
            everyday: login_by(&server, AuthenticationMethod::ScramSha256),
            private: Some(server),
            seeds,
            name,
            cpu_unread: None,
            everyday_tls: None,
            url: None,
            same_host: true,
            cpu,
        })
    }

    /// Takes servers of the user's own. What there is to know of a replica set's members comes with
    /// [`Deployment::find_members`].
    ///
    /// # Errors
    /// When no TLS can be had for a study that has no plain arm.
    pub(super) fn external(study: &Study, target: &MongoDbTarget) -> Result<Self, RunError> {
        let mut deployment = Self::of(target);
        deployment.everyday_tls = deployment.trust.everyday_tls(study)?;
        Ok(deployment)
    }

    /// The user's own servers, over plaintext connections.
    pub(super) fn of(target: &MongoDbTarget) -> Self {
        let mut deployment = Self {
            private: None,
            strangers: BTreeMap::new(),
            trust: Trust {
                display: target.to_string(),
                // A target has one seed at least.
                host: target.seeds[0].host.clone(),
                verification: target.verification.clone(),
                legacy: false,
                clients: BTreeMap::new(),
            },
            seeds: target.seeds.clone(),
            is_replica_set: target.is_replica_set(),
            everyday: target.login.clone(),
            name: target.to_string(),
            processes: Vec::new(),
            cpu_unread: None,
            everyday_tls: None,
            url: Some(Target::MongoDb(target.clone()).url()),
            same_host: false,
            cpu: None,
        };
        deployment.look_for_processes();
        deployment
    }

    /// From now on what is not measured travels over TLS of the best version that both sides have, or in plaintext.
    pub(super) fn use_tls(&mut self, over_tls: bool) -> Result<(), RunError> {
        self.everyday_tls = match over_tls {
            true => Some(self.trust.any_tls()?),
            false => None,
        };
        Ok(())
    }

    /// How to reach the first server of a target with this TLS, or in clear.
    pub(crate) fn way(target: &MongoDbTarget, tls: Option<TlsConnector>) -> ConnectOptions {
        // A target has one seed at least.
        let Address { host, port } = target.seeds[0].clone();
        ConnectOptions {
            tls: tls.map(Arc::new),
            ..ConnectOptions::new(host, port, target.login.clone())
        }
    }

    /// The target as a URL, without its password; `None` for private servers.
    pub(super) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Takes the members of the user's own replica set for those to be asked, the primary first.
    pub(super) fn find_members(&mut self, topology: &Topology) {
        let mut members: Vec<_> = topology.members.iter().collect();
        members.sort_by_key(|member| member.role != Role::Primary);
        self.seeds = members.into_iter().map(|member| member.address.clone()).collect();
        self.look_for_processes();
    }

    fn look_for_processes(&mut self) {
        let (mut processes, mut is_near) = (Vec::new(), true);
        self.cpu_unread = None;
        for seed in &self.seeds {
            let found = Whereabouts::of(&seed.host, seed.port);
            is_near &= found.same_host;
            match found.process {
                Ok(process) => processes.push(process),
                Err(reason) => self.cpu_unread = Some(format!("{seed}: {reason}")),
            }
        }
        // Of a set only all processes together say what it costs.
        if processes.len() < self.seeds.len() {
            processes.clear();
        }
        self.processes = processes;
        self.same_host = is_near;
    }

    /// How each server is reached for what is not measured.
    pub(super) fn ways(&self) -> Vec<ConnectOptions> {
        let keys = ScramKeys::kept();
        let way = |seed: &Address| ConnectOptions {
            scram_keys: keys.clone(),
            tls: self.everyday_tls.clone(),
            ..ConnectOptions::new(&seed.host, seed.port, self.everyday.clone())
        };
        self.seeds.iter().map(way).collect()
    }

    /// The members that are asked for the others; none for a server of its own.
    pub(super) fn seeds(&self) -> Vec<Address> {
        match self.is_replica_set {
            true => self.seeds.clone(),
            false => Vec::new(),
        }
    }

    /// The same, to whichever is the primary.
    pub(super) fn everyday(&self) -> MongodbAccess {
        MongodbAccess {
            options: self.ways().swap_remove(0),
            seeds: self.seeds(),
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            read_preference: ReadPreference::Primary,
        }
    }

    /// How an arm reaches it, and what its sessions must be, before any proof.
    pub(super) fn arm(&self, arm: &Arm) -> Result<(ConnectOptions, Expectation), RunError> {
        let tls = match arm.transport.is_encrypted() {
            true => Some(Arc::new(TlsConnector::new(&self.trust.policy(arm)?)?)),
            false => None,
        };
        let login = match (&self.private, arm.authentication.method) {
            (Some(server), Some(method)) => login_by(server, method),
            _ => self.everyday.clone(),
        };
        // An arm that leaves the method open is held to that of everyday use.
        let mut expected = arm.clone();
        expected.authentication.method = Some(login.method());
        let scram_keys = match arm.authentication.password_cache {
            PasswordCache::Warm => ScramKeys::kept(),
            PasswordCache::Cold => ScramKeys::Derived,
        };
        let Address { host, port } = self.seeds[0].clone();
        let options = ConnectOptions {
            tls,
            speculative: arm.authentication.speculative,
            scram_keys,
            ..ConnectOptions::new(host, port, login)
        };
        Ok((options, Expectation::of(&expected)))
    }

    /// An arm that logs in by certificate, with one of the same authority that no account has.
    pub(super) fn stranger(&self, arm: &Arm) -> Result<Option<ConnectOptions>, RunError> {
        let is_by_certificate = arm.authentication.method == Some(AuthenticationMethod::MongodbX509);
        let kind = arm.tls.client_certificate.filter(|_| is_by_certificate);
        let Some(stranger) = kind.and_then(|kind| self.strangers.get(&kind)) else {
            return Ok(None);
        };
        let policy = TlsPolicy {
            client_certificate: Some(stranger.clone()),
            ..self.trust.policy(arm)?
        };
        Ok(Some(ConnectOptions {
            tls: Some(Arc::new(TlsConnector::new(&policy)?)),
            ..self.arm(arm)?.0
        }))
    }

    /// Who connects to it besides ciphertax.
    pub(super) fn others(&self) -> Others {
        match (&self.private, self.is_replica_set) {
            (Some(_), false) => Others::None,
            // Private servers offer TLS and do not use it among themselves.
            (Some(_), true) => Others::InClear,
            (None, _) => Others::MayUseTls,
        }
    }

    /// Why it is gone; `None` while enough of it lives to be measured, or if that cannot be seen from here.
    pub(super) fn death(&self) -> Option<String> {
        let all = self.processes.len();
        let replica_set = self.private.as_ref().and_then(PrivateServer::replica_set);
        // The read-only member, which comes last, has no vote.
        let voters = replica_set.map_or(all, |set: ReplicaSet| usize::from(set.members));
        let alive = self
            .processes
            .iter()
            .take(voters)
            .filter(|process| process.is_alive())
            .count();
        if all == 0 || 2 * alive > voters {
            return None;
        }
        let log = self
            .private
            .as_ref()
            .map(|server| format!("; the last lines of its log: {}", server.log_tail()));
        let what = if all == 1 {
            "its process ended"
        } else {
            "most of its processes ended"
        };
        Some(format!("{what}{}", log.unwrap_or_default()))
    }

    pub(super) fn record(&self, identity: Identity, settings: BTreeMap<String, String>) -> ServerRecord {
        let addresses: Vec<String> = self.seeds.iter().map(ToString::to_string).collect();
        ServerRecord {
            name: self.name.clone(),
            product: "MongoDB".into(),
            version: identity.version,
            tls_library: match &self.private {
                Some(server) => server.entry().tls_library.to_owned(),
                None => identity.tls_library,
            },
            placement: match self.private {
                Some(_) => ServerPlacement::Private,
                None => ServerPlacement::External,
            },
            address: addresses.join(","),
            same_host: self.same_host,
            settings: match &self.private {
                Some(server) => server.settings().clone(),
                None => settings,
            },
            cpu_unread: self.cpu_unread.clone(),
            link: None,
        }
    }

    pub(super) fn display(&self) -> &str {
        &self.trust.display
    }

    pub(super) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Stops private servers and removes all they had.
    pub(super) fn stop(self) -> Result<(), RunError> {
        Ok(self.private.map_or(Ok(()), PrivateServer::stop)?)
    }
}

/// Private servers as a group of arms wants them.
fn builder(
    study: &Study,
    site: &Site,
    group: &Group<'_>,
) -> Result<ciphertax_lab::PrivateServerBuilder, RunError> {
    let entry = entry(&site.server)?;
    let mut builder = PrivateServer::builder(entry).access_control(group.needs.access_control);
    builder = match study.needs_tls() {
        true => builder
            .certificate(group.needs.certificate.kind)
            .chain_length(group.needs.certificate.chain_length),
        false => builder.without_tls(),
    };
    if need_old_tls(&group.set_up_for) {
        builder = builder.tls_versions(entry.capabilities.tls_versions);
    }
    for method in group
        .set_up_for
        .iter()
        .filter_map(|arm| arm.authentication.method)
    {
        builder = builder.account(method);
    }
    Ok(match site.replica_set {
        Some(replica_set) => builder.replica_set(replica_set),
        None => builder,
    })
}

/// A login by this method, as the server has an account for it.
fn login_by(server: &PrivateServer, method: AuthenticationMethod) -> Login {
    let account = server.account(method);
    account
        .and_then(|account| Login::by(method, &account.user, account.password.clone()))
        .unwrap_or(Login::None)
}

fn address(address: std::net::SocketAddr) -> Address {
    Address {
        host: address.ip().to_string(),
        port: address.port(),
    }
}
