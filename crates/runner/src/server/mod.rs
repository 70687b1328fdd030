//! The server of a group of arms, or several that form one database: the same for every database.

mod control;
mod endpoint;
mod private;
mod route;
mod target;

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphertax_lab::PrivateServer;
use ciphertax_model::{Arm, AuthenticationMethod, Link, Placement, ServerSpec, Study, Tunnel};
use ciphertax_observe::{Meter, ProcessMeter, Unmetered};
use ciphertax_records::{LinkRecord, ServerId, ServerPlacement, ServerRecord, SessionRecord};
use ciphertax_supervise::GuardProgram;
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};

use crate::connections::too_many;
use crate::database::{Conditions, Database};
use crate::distance::Distance;
use crate::error::RunError;
use crate::groups::Group;
use crate::patience::unusable;
use crate::placement::confined;
use crate::whereabouts::Whereabouts;

pub(crate) use control::{Control, PATIENCE, Ways};
pub(crate) use endpoint::Endpoint;
use route::Route;
pub(crate) use target::TargetServers;

/// What a slice needs of a server, whatever the database.
pub(crate) trait Server {
    /// Its own counters now, [`UPTIME`](crate::database::UPTIME) among them where it is known.
    ///
    /// # Errors
    /// When it does not answer.
    fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError>;

    /// Reads what its processes use, where they run on this machine and can be found.
    fn meter(&self) -> &dyn Meter;

    /// Why it is gone; `None` while it lives, or if that cannot be seen from here.
    fn death(&self) -> Option<String>;

    /// Reads what a tunnel uses, on both its sides; `None` where there is no such tunnel.
    fn tunnel_meter(&self, tunnel: Tunnel) -> Option<&dyn Meter>;
}

/// The server of a group of arms, with a session for what is not measured.
pub(crate) struct GroupServer<D: Database> {
    pub(crate) database: D,
    pub(crate) control: Control<D>,
    // Goes before what leads to it: sockets of a killed server would hold the link's namespace.
    private: Option<PrivateServer>,
    route: Route,
    /// Who logs in where an arm does not say.
    login: D::Login,
    processes: Processes,
    record: ServerRecord,
    /// True if it may hold a data set.
    is_loaded: bool,
}

/// Which server of a run, and what is measured on it.
pub(crate) struct Placed {
    pub(crate) id: ServerId,
    /// The names of the cells.
    pub(crate) cells: Vec<String>,
}

/// The processes of a server.
struct Processes {
    meters: Vec<ProcessMeter>,
    /// Why there are none.
    unread: Option<Unmetered>,
    /// How many of them, the first ones, elect who takes writes.
    voters: usize,
    same_host: bool,
    /// The only CPU of private servers, where the load must run too.
    confined_to: Option<usize>,
}

/// An arm that is what it says.
pub(crate) struct ProvedArm<D: Database> {
    pub(crate) access: D::Access,
    pub(crate) session: SessionRecord,
}

impl<D: Database> GroupServer<D> {
    /// Starts private servers for a group of arms, and what leads to them.
    ///
    /// # Errors
    /// When they cannot be had or started.
    pub(crate) fn private(
        study: &Study,
        site: &ServerSpec,
        group: &Group<'_>,
        placed: Placed,
    ) -> Result<Self, RunError> {
        let guard = GuardProgram::this_program();
        let link = Distance::link(study, site, &guard)?;
        let server = private::start(study, site, group, link.as_ref())?;
        let (route, server) = Route::to_private(link, server, study, site, group, &guard)?;
        // Declared after the route, so that it goes before it if something fails.
        let server = server;
        let processes = Processes::of_private(&server, study, site)?;
        let mut database = D::of_private(&server);
        let login = D::login_of(server.default_account());
        let mut control = connect(study, &database, &route, Some(&server), &login, None)?;
        database.set_up(&mut control, &server, &group.set_up_for)?;
        let mut server = Self {
            record: unseen(placed, &group.name),
            database,
            control,
            route,
            private: Some(server),
            login,
            processes,
            is_loaded: false,
        };
        server.describe()?;
        Ok(server)
    }

    /// Takes servers of the user's own, which nobody else of ciphertax measures and where nobody else has data of its name.
    ///
    /// # Errors
    /// When they cannot be used.
    pub(crate) fn target(study: &Study, target: TargetServers<D>, placed: Placed) -> Result<Self, RunError> {
        let mut route = Route::to_target(&target.endpoints, target.trust());
        route.default_tls = route.trust.default_tls(study)?;
        let control = connect(
            study,
            &target.database,
            &route,
            None,
            &target.login,
            Some(&target.url),
        )?;
        let mut server = Self {
            record: unseen(placed, &target.display),
            processes: Processes::looked_for(&route.control),
            database: target.database,
            control,
            route,
            private: None,
            login: target.login,
            is_loaded: false,
        };
        D::claim(&mut server.control)?;
        server.leave_connections_to_others(study)?;
        server.find_members()?;
        server
            .database
            .refuse_what_cannot_be_removed(&mut server.control)?;
        server.describe()?;
        Ok(server)
    }

    /// Removes what a run left on servers of the user's own, and tells whether there was anything.
    ///
    /// # Errors
    /// When they cannot be used, what is there is not ciphertax's own, or a run is measuring.
    pub(crate) fn clean(target: TargetServers<D>) -> Result<bool, RunError> {
        let mut route = Route::to_target(&target.endpoints, target.trust());
        let connect = |route: &Route| {
            let ways = Ways {
                default: ways::<D>(&route.control, &target.login, route.default_tls.as_ref()),
                is_encrypted: route.default_tls.is_some(),
                encrypted: Vec::new(),
            };
            Control::<D>::connect(&target.display, ways, Some(&target.url))
        };
        // By the way that the URL means, then by the other.
        let over_tls = target.needs_tls || !matches!(target.verification, Verification::None);
        route.use_tls(over_tls)?;
        let mut control = match connect(&route) {
            Err(refusal) if !target.needs_tls => {
                route.use_tls(!over_tls)?;
                connect(&route).map_err(|_| refusal)?
            }
            connected => connected?,
        };
        D::claim(&mut control)?;
        if let Some(members) = target.database.members(&mut control)? {
            control.ways = ways::<D>(&members, &target.login, route.default_tls.as_ref());
        }
        target.database.remove(&control)
    }

    /// What the report says of it, with what was seen of its distance.
    pub(crate) fn record(&self) -> ServerRecord {
        ServerRecord {
            link: self.link_record(),
            ..self.first_record()
        }
    }

    /// What the report says of it before anything is measured.
    pub(crate) fn first_record(&self) -> ServerRecord {
        self.record.clone()
    }

    /// The only CPU of private servers, where the load must run too.
    pub(crate) fn cpu(&self) -> Option<usize> {
        self.processes.confined_to
    }

    /// True if ciphertax has started it, so that nobody else knows it.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Proves an arm, and its tunnel before it, and tells how it is reached.
    ///
    /// # Errors
    /// When the arm is not available, or is not what it says.
    pub(crate) fn prove(&mut self, arm: &Arm) -> Result<ProvedArm<D>, RunError> {
        let reached = self.arm(arm)?;
        let unknown_client = self.route.trust.policy_of_unknown_client(arm)?;
        let unknown_client = unknown_client.map(|policy| {
            let tls = Arc::new(TlsConnector::new(&policy)?);
            let options = D::options(&reached.endpoint, &reached.login, Some(tls));
            Ok::<_, RunError>(self.database.options_of_arm(options, arm))
        });
        let conditions = Conditions {
            is_private: self.is_private(),
            measured: &self.route.measured,
            unknown_client: unknown_client.transpose()?,
        };
        let expectation = D::expectation(arm, &reached.login);
        let options = reached.options(&self.database, arm)?;
        let mut proved = self
            .database
            .prove(&self.control, &arm.name, &options, &expectation, conditions)?;
        if let Some(tunnel) = self.route.tunnel_of(arm) {
            proved.proofs.extend(tunnel.prove(D::canary(&options))?);
        }
        Ok(ProvedArm {
            access: self
                .database
                .access(arm, options, proved.expectation, &self.route.measured),
            session: SessionRecord {
                server_id: self.record.id.clone(),
                beside_id: ServerId::default(),
                server: self.record.name.clone(),
                beside: None,
                proofs: proved.proofs,
                facts: proved.facts,
            },
        })
    }

    /// How an arm reaches it, before any proof.
    ///
    /// # Errors
    /// When the arm verifies the server, and no authority is known.
    pub(crate) fn arm(&self, arm: &Arm) -> Result<ReachedArm<D>, RunError> {
        reached(&self.route, self.private.as_ref(), &self.login, arm)
    }

    /// Makes the data sets that the study's cells ask.
    ///
    /// # Errors
    /// When they cannot be made, or what is there is not ciphertax's own.
    pub(crate) fn load(&mut self, study: &Study, progress: &mut dyn FnMut(u64, u64)) -> Result<(), RunError> {
        // Also if it fails half-way.
        self.is_loaded = true;
        self.is_loaded = self.database.load(&mut self.control, study, progress)?;
        Ok(())
    }

    /// Puts it at the distance of a cell that is measured on it.
    ///
    /// # Errors
    /// When what keeps the distance is gone.
    pub(crate) fn set_distance(&mut self, wanted: Option<Link>) -> Result<(), RunError> {
        self.route.set_distance(wanted)
    }

    fn link_record(&self) -> Option<LinkRecord> {
        self.route.link_record()
    }

    /// Removes the data sets, and the servers if they are private.
    ///
    /// # Errors
    /// If something is left behind.
    pub(crate) fn close(self) -> Result<(), RunError> {
        let removed = match self.death() {
            // What private servers hold goes with them.
            _ if self.is_private() || !self.is_loaded => Ok(()),
            Some(death) => Err(unusable(&self.route.trust.display, death)),
            None => self.database.remove(&self.control).map(drop),
        };
        let Self {
            control,
            private,
            route,
            ..
        } = self;
        drop(control);
        let stopped = private.map_or(Ok(()), PrivateServer::stop);
        removed.and(stopped.and(route.stop()).map_err(RunError::from))
    }

    /// Of the user's own servers that form one database those that are its members now.
    fn find_members(&mut self) -> Result<(), RunError> {
        let Some(members) = self.database.members(&mut self.control)? else {
            return Ok(());
        };
        self.control.ways = ways::<D>(&members, &self.login, self.route.default_tls.as_ref());
        self.processes = Processes::looked_for(&members);
        self.route.control = members.clone();
        self.route.measured = members;
        Ok(())
    }

    /// Makes sure that the run leaves connections to other clients, as far as the account may see how many there are.
    fn leave_connections_to_others(&mut self, study: &Study) -> Result<(), RunError> {
        match too_many(study, &D::limits(&mut self.control)?) {
            None => Ok(()),
            Some(problem) => Err(self.control.unusable(problem)),
        }
    }

    fn describe(&mut self) -> Result<(), RunError> {
        let private = self.private.as_ref();
        let description = self
            .database
            .describe(&mut self.control, private.map(PrivateServer::entry))?;
        let addresses: Vec<String> = self.route.measured.iter().map(Endpoint::to_string).collect();
        self.record = ServerRecord {
            id: self.record.id.clone(),
            cells: self.record.cells.clone(),
            name: self.record.name.clone(),
            product: description.product,
            version: description.version,
            tls_library: description.tls_library,
            placement: match private {
                Some(_) => ServerPlacement::Private,
                None => ServerPlacement::External,
            },
            address: addresses.join(","),
            same_host: self.processes.same_host,
            cpu_unread: self.processes.unread.as_ref().map(|unread| unread.reason.clone()),
            settings: match private {
                Some(server) => server.settings().clone(),
                None => description.settings,
            },
            link: None,
        };
        Ok(())
    }
}

impl<D: Database> Server for GroupServer<D> {
    fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError> {
        self.database.counters(&mut self.control)
    }

    fn meter(&self) -> &dyn Meter {
        match &self.processes.unread {
            Some(unread) => unread,
            None => &self.processes.meters,
        }
    }

    fn death(&self) -> Option<String> {
        let death = self.processes.death()?;
        let log = self.private.as_ref().map(PrivateServer::log_tail);
        let log = log.map(|tail| format!("; the last lines of its log: {tail}"));
        Some(format!("{death}{}", log.unwrap_or_default()))
    }

    fn tunnel_meter(&self, tunnel: Tunnel) -> Option<&dyn Meter> {
        self.route.tunnel_meter(tunnel)
    }
}

impl Processes {
    fn of_private(server: &PrivateServer, study: &Study, site: &ServerSpec) -> Result<Self, RunError> {
        let pids = server.pids();
        let confined_to = match study.placement {
            Placement::Free => None,
            Placement::Together => {
                let each = pids.iter().map(|pid| confined(*pid));
                each.collect::<Result<Vec<_>, _>>()?.pop()
            }
        };
        let meters = pids.iter().map(|pid| ProcessMeter::open(*pid));
        Ok(Self {
            meters: meters.collect::<Result<_, _>>()?,
            unread: None,
            // The read-only member, which comes last, has no vote.
            voters: site.replica_set.map_or(pids.len(), |set| set.members.into()),
            same_host: true,
            confined_to,
        })
    }

    /// Those of the user's own servers, as far as they can be seen from here.
    fn looked_for(endpoints: &[Endpoint]) -> Self {
        let (mut meters, mut unread, mut same_host) = (Vec::new(), None, true);
        for endpoint in endpoints {
            let found = match &endpoint.socket {
                Some(socket) => Whereabouts::of_socket(socket),
                None => Whereabouts::of(&endpoint.host, endpoint.port),
            };
            same_host &= found.same_host;
            match (found.process, endpoints.len()) {
                (Ok(process), _) => meters.push(process),
                (Err(reason), 1) => unread = Some(reason),
                (Err(reason), _) => unread = Some(format!("{endpoint}: {reason}")),
            }
        }
        // Of several only all processes together say what they cost.
        if meters.len() < endpoints.len() {
            meters.clear();
        }
        Self {
            voters: meters.len(),
            meters,
            unread: unread.map(|reason| Unmetered { reason }),
            same_host,
            confined_to: None,
        }
    }

    /// Why too few of them live to be measured; `None` if enough do, or that cannot be seen from here.
    fn death(&self) -> Option<&'static str> {
        let voters = self.meters.iter().take(self.voters);
        let alive = voters.filter(|process| process.is_alive()).count();
        if self.meters.is_empty() || 2 * alive > self.voters {
            return None;
        }
        Some(match self.meters.len() {
            1 => "its process ended",
            _ => "most of its processes ended",
        })
    }
}

/// What is known of a server before it was asked.
fn unseen(Placed { id, cells }: Placed, name: &str) -> ServerRecord {
    ServerRecord {
        id,
        cells,
        name: name.to_owned(),
        product: String::new(),
        version: String::new(),
        tls_library: String::new(),
        placement: ServerPlacement::External,
        address: String::new(),
        same_host: false,
        settings: BTreeMap::new(),
        cpu_unread: None,
        link: None,
    }
}

/// How an arm reaches its server, before any proof.
pub(crate) struct ReachedArm<D: Database> {
    pub(crate) endpoint: Endpoint,
    pub(crate) login: D::Login,
    /// `None` for an arm in plaintext.
    pub(crate) policy: Option<TlsPolicy>,
}

impl<D: Database> ReachedArm<D> {
    fn options(&self, database: &D, arm: &Arm) -> Result<D::Options, RunError> {
        let tls = self.policy.as_ref().map(TlsConnector::new).transpose()?;
        let options = D::options(&self.endpoint, &self.login, tls.map(Arc::new));
        Ok(database.options_of_arm(options, arm))
    }
}

fn reached<D: Database>(
    route: &Route,
    private: Option<&PrivateServer>,
    default: &D::Login,
    arm: &Arm,
) -> Result<ReachedArm<D>, RunError> {
    let policy = arm
        .transport
        .is_encrypted()
        .then(|| route.trust.policy(arm))
        .transpose()?;
    let method = arm.authentication.method;
    let account = private
        .zip(method)
        .and_then(|(server, method)| server.account(method));
    let mut endpoint = route.endpoint_of(arm);
    if method == Some(AuthenticationMethod::UnixSocket)
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
fn connect<D: Database>(
    study: &Study,
    database: &D,
    route: &Route,
    private: Option<&PrivateServer>,
    login: &D::Login,
    url: Option<&str>,
) -> Result<Control<D>, RunError> {
    let encrypted = study
        .arms
        .iter()
        .filter(|arm| arm.transport.is_encrypted())
        .filter_map(|arm| {
            let reached = reached::<D>(route, private, login, arm).ok()?;
            reached.options(database, arm).ok()
        });
    let ways = Ways {
        default: ways::<D>(&route.control, login, route.default_tls.as_ref()),
        is_encrypted: route.default_tls.is_some(),
        encrypted: encrypted.collect(),
    };
    Control::connect(&route.trust.display, ways, url)
}

/// How each server is reached for what is not measured.
fn ways<D: Database>(
    endpoints: &[Endpoint],
    login: &D::Login,
    tls: Option<&Arc<TlsConnector>>,
) -> Vec<D::Options> {
    let way = |endpoint| D::options(endpoint, login, tls.cloned());
    endpoints.iter().map(way).collect()
}
