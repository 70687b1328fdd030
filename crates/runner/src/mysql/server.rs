//! The server under test: private or the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mysql::{prove, select_canary};
use ciphertax_lab::tunnel::{self, RunningTunnel};
use ciphertax_lab::{PrivateServer, PrivateServerBuilder, Proved, RunningLink};
use ciphertax_model::{
    Arm, AuthenticationMethod, CertificateKind, Link, Placement, Secret, Site, Study, Tunnel,
};
use ciphertax_observe::{Meter, ProcessMeter, ProcessTree};
use ciphertax_records::{LinkRecord, ServerPlacement, ServerRecord};
use ciphertax_supervise::GuardProgram;
use ciphertax_wire::mysql::{ColdAccounts, ConnectOptions, Expectation};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_wire::{MySqlTarget, Target};

use super::cold::{cold_accounts, is_cold};
use super::control::Control;
use super::product::product;
use crate::distance::Distance;
use crate::entry::entry;
use crate::error::RunError;
use crate::groups::Group;
use crate::placement::confined;
use crate::trust::{Trust, issued, need_old_tls};
use crate::whereabouts::Whereabouts;

/// The server under test.
pub(crate) struct Server {
    private: Option<PrivateServer>,
    /// What leads to it where an arm says so. They go after the server.
    tunnels: BTreeMap<Tunnel, RunningTunnel>,
    tunnel_meters: BTreeMap<Tunnel, ProcessTree>,
    distance: Option<Distance>,
    /// Accounts for arms whose logins the server must not remember.
    cold_accounts: Option<Arc<ColdAccounts>>,
    trust: Trust,
    /// Where the measured connections go to.
    measured: (String, u16),
    /// Where everything else is asked.
    control: (String, u16),
    /// The Unix socket of a target that is connected over one.
    socket: Option<PathBuf>,
    /// TLS for what is not measured; `None` for none.
    everyday_tls: Option<Arc<TlsConnector>>,
    /// The target as a URL, without its password; `None` for a private server.
    url: Option<String>,
    user: String,
    password: Secret,
    name: String,
    /// Its process, where it runs on this machine and can be found.
    pub(crate) processes: Vec<ProcessMeter>,
    /// Why there is none.
    cpu_unread: Option<String>,
    same_host: bool,
    /// The only CPU of a private server, where the load must run too.
    pub(crate) cpu: Option<usize>,
}

impl Server {
    /// Starts a private server for a group of arms in the cells of a site, and what leads to it.
    pub(crate) fn private(study: &Study, site: &Site, group: &Group<'_>) -> Result<Self, RunError> {
        let arms = &group.arms[..];
        let entry = entry(&site.server)?;
        let guard = GuardProgram::this_program();
        let link = Distance::link(study, site, &guard)?;
        let server = builder(entry, study, group, link.as_ref())?.start()?;
        let cpu = match study.placement {
            Placement::Free => None,
            Placement::Together => Some(confined(server.pids()[0])?),
        };
        let address = server.address();
        let verification = match server.ca_file() {
            // The certificate is for this machine's names, wherever a link or a tunnel begins.
            Some(ca) => Verification::HostName(ca.to_owned(), Ipv4Addr::LOCALHOST.to_string()),
            None => Verification::None,
        };
        let kinds: BTreeSet<Tunnel> = arms.iter().filter_map(|arm| arm.tunnel).collect();
        let tunnels = kinds
            .into_iter()
            .map(|kind| {
                let tunnel = match (&link, site.distant) {
                    (None, true) => tunnel::start_with_relay(kind, address, &guard)?,
                    (link, _) => tunnel::start(kind, address, link.as_ref(), &guard)?,
                };
                Ok((kind, tunnel))
            })
            .collect::<Result<BTreeMap<Tunnel, RunningTunnel>, RunError>>()?;
        let tunnel_meters = tunnels.iter().map(|(kind, tunnel)| {
            let pids: Vec<u32> = tunnel.processes().iter().map(|process| process.pid).collect();
            Ok((*kind, ProcessTree::open(&pids)?))
        });
        let tunnel_meters = tunnel_meters.collect::<Result<_, RunError>>()?;
        let clients = issued(arms, |kind| server.client_certificate(kind))?;
        let distance = Distance::to(&server, link, study, site, &guard)?;
        let measured = distance
            .as_ref()
            .map_or(address, |distance| distance.address(&server));
        let measured = host_and_port(measured);
        let trust = Trust {
            display: format!("the private server {} at {address}", group.name),
            host: measured.0.clone(),
            verification,
            legacy: !entry.capabilities.secure_renegotiation
                || group.needs.certificate.kind == CertificateKind::Rsa1024,
            clients,
        };
        Ok(Self {
            processes: vec![ProcessMeter::open(server.pids()[0])?],
            cpu_unread: None,
            socket: None,
            everyday_tls: None,
            url: None,
            name: group.name.clone(),
            measured,
            control: host_and_port(address),
            user: server.user().to_owned(),
            password: server.password().clone(),
            trust,
            private: Some(server),
            tunnels,
            tunnel_meters,
            distance,
            cold_accounts: None,
            same_host: true,
            cpu,
        })
    }

    /// Takes the user's own server.
    ///
    /// # Errors
    /// When no TLS can be had for a study that has no plain arm.
    pub(crate) fn external(study: &Study, target: &MySqlTarget) -> Result<Self, RunError> {
        let mut server = Self::of(target);
        server.everyday_tls = server.trust.everyday_tls(study)?;
        Ok(server)
    }

    /// The user's own server, over a plaintext connection.
    pub(crate) fn of(target: &MySqlTarget) -> Self {
        let Whereabouts { process, same_host } = match &target.socket {
            Some(socket) => Whereabouts::of_socket(socket),
            None => Whereabouts::of(&target.host, target.port),
        };
        let (processes, cpu_unread) = match process {
            Ok(process) => (vec![process], None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        Self {
            private: None,
            tunnels: BTreeMap::new(),
            tunnel_meters: BTreeMap::new(),
            distance: None,
            cold_accounts: None,
            trust: Trust {
                display: target.to_string(),
                host: target.host.clone(),
                verification: target.verification.clone(),
                legacy: false,
                clients: BTreeMap::new(),
            },
            cpu: None,
            measured: (target.host.clone(), target.port),
            control: (target.host.clone(), target.port),
            user: target.user.clone(),
            password: target.password.clone(),
            name: target.to_string(),
            socket: target.socket.clone(),
            everyday_tls: None,
            url: Some(Target::MySql(target.clone()).url()),
            processes,
            cpu_unread,
            same_host,
        }
    }

    /// From now on what is not measured travels over TLS of the best version that both sides have, or in plaintext.
    pub(crate) fn use_tls(&mut self, over_tls: bool) -> Result<(), RunError> {
        self.everyday_tls = match over_tls {
            true => Some(self.trust.any_tls()?),
            false => None,
        };
        Ok(())
    }

    /// How to reach a target with this TLS, or in clear.
    pub(crate) fn way(target: &MySqlTarget, tls: Option<TlsConnector>) -> ConnectOptions {
        ConnectOptions {
            socket: target.socket.clone(),
            tls: tls.map(Arc::new),
            ..ConnectOptions::new(&target.host, target.port, &target.user, target.password.clone())
        }
    }

    /// The target as a URL, without its password; `None` for a private server.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// How to reach it for the statements that are not measured.
    pub(crate) fn options(&self) -> ConnectOptions {
        let (host, port) = &self.control;
        ConnectOptions {
            socket: self.socket.clone(),
            tls: self.everyday_tls.clone(),
            ..ConnectOptions::new(host, *port, &self.user, self.password.clone())
        }
    }

    /// How the study's TLS arms reach it, as far as they can be prepared.
    pub(crate) fn encrypted(&self, study: &Study) -> Vec<ConnectOptions> {
        let arms = study.arms.iter().filter_map(|arm| self.arm(arm).ok());
        arms.map(|(options, _)| options)
            .filter(|options| options.tls.is_some())
            .collect()
    }

    /// How an arm reaches it, and what its sessions must be, before any proof.
    pub(crate) fn arm(&self, arm: &Arm) -> Result<(ConnectOptions, Expectation), RunError> {
        let tls = match arm.transport.is_encrypted() {
            true => Some(Arc::new(TlsConnector::new(&self.trust.policy(arm)?)?)),
            false => None,
        };
        let options = ConnectOptions {
            tls,
            authentication: arm.authentication.method,
            ..self.address_of(arm)
        };
        Ok((options, Expectation::of(arm)))
    }

    /// What a program of the user's own needs to reach an arm; no policy for an arm in clear.
    pub(crate) fn for_programs(&self, arm: &Arm) -> Result<(ConnectOptions, Option<TlsPolicy>), RunError> {
        let policy = arm
            .transport
            .is_encrypted()
            .then(|| self.trust.policy(arm))
            .transpose()?;
        Ok((self.address_of(arm), policy))
    }

    /// Where an arm connects to, and as whom.
    fn address_of(&self, arm: &Arm) -> ConnectOptions {
        let (host, port) = match arm.tunnel.and_then(|kind| self.tunnels.get(&kind)) {
            Some(tunnel) => host_and_port(tunnel.address()),
            None => self.measured.clone(),
        };
        let private = self.private.as_ref();
        let account = private
            .zip(arm.authentication.method)
            .and_then(|(server, method)| server.account(method));
        let (user, password) = match account {
            Some(account) => (&account.user, &account.password),
            None => (&self.user, &self.password),
        };
        let is_by_socket = arm.authentication.method == Some(AuthenticationMethod::UnixSocket);
        ConnectOptions {
            socket: private
                .filter(|_| is_by_socket)
                .and_then(|server| server.socket().map(Path::to_owned))
                .or_else(|| self.socket.clone()),
            cold_accounts: self.cold_accounts.clone().filter(|_| is_cold(arm)),
            ..ConnectOptions::new(host, port, user, password.clone())
        }
    }

    /// Makes the accounts for cold arms, on a server that remembers passwords.
    pub(crate) fn make_cold_accounts(&mut self, control: &mut Control) -> Result<(), RunError> {
        let account = self.private.as_ref().and_then(|server| {
            server.entry().capabilities.forget_passwords?;
            server.account(AuthenticationMethod::CachingSha2Password)
        });
        if let Some(account) = account {
            self.cold_accounts = Some(cold_accounts(control, &account.user)?);
        }
        Ok(())
    }

    /// The statement after which the server remembers no password, for an arm whose logins must find it so.
    pub(crate) fn forgets_passwords_for(&self, arm: &Arm) -> Option<&'static str> {
        let private = self.private.as_ref().filter(|_| is_cold(arm))?;
        private.entry().capabilities.forget_passwords
    }

    /// Proves an arm, and its tunnel before it.
    pub(crate) fn prove(
        &mut self,
        arm: &Arm,
        options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Proved, RunError> {
        let mut proved = prove(&arm.name, options, expectation)?;
        if let Some(tunnel) = arm.tunnel.and_then(|kind| self.tunnels.get_mut(&kind)) {
            proved.proofs.extend(tunnel.prove(select_canary(options))?);
        }
        Ok(proved)
    }

    /// Reads what a tunnel uses, on both its sides.
    pub(crate) fn tunnel_meter(&self, tunnel: Tunnel) -> Option<&dyn Meter> {
        let meter = self.tunnel_meters.get(&tunnel);
        meter.map(|meter| meter as &dyn Meter)
    }

    /// Puts the server at the distance of a cell that is measured on it.
    pub(crate) fn set_distance(&mut self, wanted: Option<Link>) -> Result<(), RunError> {
        let (Some(distance), Some(wanted)) = (&mut self.distance, wanted) else {
            return Ok(());
        };
        if distance.set(wanted)? {
            for tunnel in self.tunnels.values() {
                tunnel.set_distance(&wanted)?;
            }
        }
        Ok(())
    }

    /// How it was kept at a distance so far; `None` without one.
    pub(crate) fn link_record(&self) -> Option<LinkRecord> {
        let of_tunnels = self.tunnels.values().filter_map(RunningTunnel::relay_report);
        self.distance.as_ref()?.record(of_tunnels)
    }

    /// True if ciphertax has started it, so that nobody else knows it.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// True if arms have it forget passwords.
    pub(crate) fn forgets_passwords(&self) -> bool {
        self.cold_accounts.is_some()
    }

    /// Why it is gone; `None` while it lives, or if that cannot be seen from here.
    pub(crate) fn death(&self) -> Option<String> {
        match (&self.private, &self.processes[..]) {
            (Some(server), _) if !server.is_alive() => Some(format!(
                "its process ended; the last lines of its log: {}",
                server.log_tail()
            )),
            (None, [process]) if !process.is_alive() => Some("its process ended".into()),
            _ => None,
        }
    }

    pub(crate) fn record(&self, variables: &BTreeMap<String, String>) -> ServerRecord {
        let variable = |name: &str| variables.get(name).cloned().unwrap_or_default();
        let version = variable("version");
        let settings = match &self.private {
            Some(server) => server.settings().clone(),
            None => variables
                .iter()
                .filter(|(name, _)| SETTINGS.contains(&name.as_str()))
                .map(owned)
                .collect(),
        };
        ServerRecord {
            name: self.name.clone(),
            product: product(&version, &variable("version_comment")).to_owned(),
            version,
            tls_library: variable("version_ssl_library"),
            placement: if self.private.is_some() {
                ServerPlacement::Private
            } else {
                ServerPlacement::External
            },
            address: match (&self.socket, &self.measured) {
                (Some(socket), _) => socket.display().to_string(),
                (None, (host, port)) if host.contains(':') => format!("[{host}]:{port}"),
                (None, (host, port)) => format!("{host}:{port}"),
            },
            same_host: self.same_host,
            cpu_unread: self.cpu_unread.clone(),
            settings,
            link: None,
        }
    }

    pub(crate) fn display(&self) -> &str {
        &self.trust.display
    }

    /// Stops a private server and removes all it had.
    pub(crate) fn stop(self) -> Result<(), RunError> {
        let mut stopped = self.private.map_or(Ok(()), PrivateServer::stop);
        for tunnel in self.tunnels.into_values() {
            stopped = stopped.and(tunnel.stop());
        }
        Ok(stopped.and(self.distance.map_or(Ok(()), Distance::stop))?)
    }
}

/// A private server as a group of arms wants it.
fn builder(
    entry: &'static Entry,
    study: &Study,
    group: &Group<'_>,
    link: Option<&RunningLink>,
) -> Result<PrivateServerBuilder, RunError> {
    let mut builder = PrivateServer::builder(entry);
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
    Ok(match link {
        Some(link) => builder.inside(link),
        None => builder,
    })
}

/// Variables of a server whose value matters to what is measured.
pub(crate) const SETTINGS: [&str; 5] = [
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "max_connections",
    "thread_handling",
    "tls_version",
];

/// Variables that tell which server it is.
pub(crate) const IDENTITY: [&str; 3] = ["version", "version_comment", "version_ssl_library"];

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

fn host_and_port(address: SocketAddr) -> (String, u16) {
    (address.ip().to_string(), address.port())
}
