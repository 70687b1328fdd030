//! How servers are reached: endpoints, links, tunnels, and whom their clients trust.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ciphertax_columns::MasterKey;
use ciphertax_lab::{PrivateServer, RunningLink};
use ciphertax_model::{Arm, AuthenticationMethod, CertificateKind, Distances, ServerSpec, Study};
use ciphertax_supervise::GuardProgram;
use ciphertax_wire::tls::{TlsConnector, Verification};

use super::proxies::Proxies;
use super::target::TargetServers;
use crate::connections::are_many;
use crate::database::{Clients, Control, ControlOptions, Endpoint, ReachedArm};
use crate::error::Result;
use crate::groups::Group;
use crate::load::Distance;
use crate::ranks::account_of;
use crate::timeout::TIMEOUT;
use crate::trust::{Trust, issued};

/// How servers are reached that form one database.
pub(crate) struct Route {
    /// Where everything is asked that is not measured, each server once.
    pub(crate) control: Vec<Endpoint>,
    /// Where the measured connections go to, and where private servers reach each other, in the same order.
    pub(crate) measured: Vec<Endpoint>,
    /// What leads to the server where an arm says so. They go before the distance, in which their halves may be.
    pub(super) proxies: Proxies,
    pub(super) distance: Option<Distance>,
    pub(crate) trust: Trust,
    /// How long the first connection may take.
    pub(crate) patience: Duration,
    /// TLS for what is not measured; `None` for none.
    pub(crate) default_tls: Option<Arc<TlsConnector>>,
}

impl Route {
    /// To private servers, inside `link` if there is one, with all that a group of arms needs before them.
    pub(crate) fn to_private(
        link: Option<RunningLink>,
        server: PrivateServer,
        (study, spec): (&Study, &ServerSpec),
        group: &Group<'_>,
        by_certificate: Option<AuthenticationMethod>,
        column_key: Option<&MasterKey>,
        guard: &GuardProgram,
    ) -> Result<(Self, PrivateServer)> {
        let addresses = server.addresses();
        let proxies = Proxies::start(study, &group.arms, &server, link.as_ref(), column_key, guard)?;
        let distance = link.map(|link| Distance::over(link, study, spec));
        // What is declared last goes first if something fails: the server, what leads to it, the distance.
        let proxies = proxies;
        let server = server;
        let measured = match &distance {
            Some(distance) => distance.addresses(&addresses),
            None => addresses.clone(),
        };
        let endpoints = |addresses: Vec<SocketAddr>| addresses.into_iter().map(Endpoint::from).collect();
        let (control, measured): (Vec<Endpoint>, Vec<Endpoint>) = (endpoints(addresses), endpoints(measured));
        let clients = group.arms.iter().copied();
        let logs_in_by_it =
            |arm: &&Arm| by_certificate.is_some() && arm.authentication.method == by_certificate;
        let unknown_clients = clients.clone().filter(logs_in_by_it);
        let trust = Trust {
            display: format!("the private server {} at {}", group.name, control[0]),
            host: measured[0].host.clone(),
            verification: match server.ca_file() {
                // The certificate is for this machine's names, wherever a link or a tunnel begins.
                Some(ca) => Verification::HostName(ca.to_owned(), Ipv4Addr::LOCALHOST.to_string()),
                None => Verification::None,
            },
            legacy: !server.entry().capabilities.secure_renegotiation
                || group.needs.certificate.kind == CertificateKind::Rsa1024,
            clients: issued(clients, |kind| server.client_certificate(kind))?,
            unknown_clients: issued(unknown_clients, |kind| server.unknown_client_certificate(kind))?,
            own_client: None,
            own_cipher: None,
            releases_buffers: are_many(study),
        };
        let route = Self {
            control,
            measured,
            proxies,
            distance,
            trust,
            patience: TIMEOUT,
            default_tls: None,
        };
        Ok((route, server))
    }

    /// To the user's own servers, over plaintext connections.
    pub(crate) fn to_target<D: Clients>(target: &TargetServers<D>) -> Self {
        Self {
            control: target.endpoints.clone(),
            measured: target.endpoints.clone(),
            proxies: Proxies::default(),
            distance: None,
            trust: target.trust(),
            patience: target.patience,
            default_tls: None,
        }
    }

    /// Where an arm connects to: of several servers to the first.
    pub(crate) fn endpoint_of(&self, arm: &Arm) -> Endpoint {
        let proxy = self.proxies.address_for(arm);
        proxy.map_or_else(|| self.measured[0].clone(), Endpoint::from)
    }

    /// From now on what is not measured travels over TLS of the best version that both sides have, or in plaintext.
    pub(crate) fn use_tls(&mut self, over_tls: bool, alpn: Option<&'static str>) -> Result<()> {
        self.default_tls = match over_tls {
            true => Some(self.trust.any_tls(None, alpn)?),
            false => None,
        };
        Ok(())
    }

    /// Puts the servers at the distance of a cell that is measured on them.
    pub(crate) fn set_distances(&mut self, wanted: Distances) -> Result<()> {
        self.distance
            .as_mut()
            .map_or(Ok(()), |distance| distance.set(wanted))
    }

    /// Removes all that leads to servers which are gone.
    pub(crate) fn stop(self) -> ciphertax_lab::Result<()> {
        let stopped = self.proxies.stop();
        stopped.and(
            self.distance
                .map_or(Ok(()), |distance| distance.link.process.stop()),
        )
    }
}

/// How an arm reaches it, before any proof.
pub(super) fn reached<D: Clients>(
    route: &Route,
    private: Option<&PrivateServer>,
    default: &D::Login,
    arm: &Arm,
) -> Result<ReachedArm<D>> {
    let policy = arm
        .transport
        .is_encrypted()
        .then(|| route.trust.policy(arm))
        .transpose()?;
    let account = private.map(|server| account_of(server, arm));
    let mut endpoint = route.endpoint_of(arm);
    if D::SOCKET.is_some_and(|method| arm.authentication.method == Some(method))
        && let Some(socket) = private.and_then(PrivateServer::socket)
    {
        endpoint.socket = Some(socket.to_owned());
    }
    Ok(ReachedArm {
        endpoint,
        login: account.map_or_else(|| default.clone(), D::login_of),
        policy,
    })
}

/// Opens the session for what is not measured.
pub(crate) fn connect<D: Clients>(
    study: &Study,
    database: &D,
    route: &Route,
    private: Option<&PrivateServer>,
    login: &D::Login,
    url: Option<&str>,
) -> Result<Control<D>> {
    let encrypted = study
        .arms
        .iter()
        .filter(|arm| arm.transport.is_encrypted())
        .filter_map(|arm| {
            let reached = reached::<D>(route, private, login, arm).ok()?;
            reached.options(database, arm).ok()
        });
    let ways = ControlOptions {
        default: ways(database, &route.control, login, route.default_tls.as_ref()),
        is_encrypted: route.default_tls.is_some(),
        encrypted: encrypted.collect(),
        lacks_password: D::lacks_password(login),
        patience: route.patience,
    };
    Control::connect(&route.trust.display, ways, url)
}

/// How each server is reached for what is not measured.
pub(super) fn ways<D: Clients>(
    database: &D,
    endpoints: &[Endpoint],
    login: &D::Login,
    tls: Option<&Arc<TlsConnector>>,
) -> Vec<D::Options> {
    let way = |endpoint| database.options(endpoint, login, tls.cloned());
    endpoints.iter().map(way).collect()
}
