//! The server of a group of arms, or several that form one database: the same for every database.

mod as_measured;
mod probed;
mod proofs;
#[cfg(test)]
mod relayed;

pub(crate) use proofs::ProvedArm;
use proofs::{arms_on, functions_beside};

use ciphertax_base::SeenByServer;
use ciphertax_columns::MasterKey;
use ciphertax_lab::file_system::MountedFileSystem;
use ciphertax_lab::{PrivateServer, ProvedAtRest, WrongLogins};
use ciphertax_model::{Arm, ColumnEncryption, ColumnFunctions, ServerSpec, Study};
use ciphertax_observe::{Device, FileSystemMeter, ProcessMeter, Storage};
use ciphertax_records::{LiesOn, MemberRecord, ServerPlacement, ServerRecord};
use ciphertax_supervise::GuardProgram;
use ciphertax_wire::{Client as _, Expectation};
use ciphertax_workload::Access;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::sql::Columns;
use ciphertax_workload::ycsb::FieldEncryption;

use self::probed::Changed;
use super::measured::{Identity, Server};
use super::private;
use super::processes::Processes;
use super::route::{Route, connect, reached, ways};
use super::target::TargetServers;
use crate::connections::{are_many, too_many, uncommitted};
use crate::database::{Control, ControlOptions, Database, Description, Endpoint, Member, ReachedArm};
use crate::error::{Result, RunError};
use crate::footprint::Footprint;
use crate::groups::Group;
use crate::load::Distance;
use crate::ranks::{ArmReach, PrivateReach, Ranks};
use crate::remote_cpu::RemoteCpu;
use crate::timeout::unusable;
use crate::tpcc;
use crate::wait_events::WaitEventAsker;

/// The server of a group of arms, with a session for what is not measured.
pub(crate) struct GroupServer<D: Database> {
    pub(crate) database: D,
    pub(crate) control: Control<D>,
    /// Absent until a slice is looked into.
    wait_events: Option<WaitEventAsker>,
    // Goes before what leads to it: sockets of a killed server would hold the link's namespace.
    private: Option<Private>,
    pub(crate) route: Route,
    /// Who logs in where an arm does not say.
    login: D::Login,
    processes: Processes,
    wrong_logins: WrongLogins,
    /// What the report says of it before anything is measured.
    pub(crate) first_record: ServerRecord,
    /// What a probe has changed for a slice that runs.
    changed: Option<Changed>,
    /// True if it may hold a data set.
    is_loaded: bool,
}

/// Servers that ciphertax has started, and what is to be known of them alone.
struct Private {
    server: PrivateServer,
    /// What works for its file system alone.
    file_system: Option<FileSystemMeter>,
    /// That which reads and writes the disk for it.
    daemon: Option<ProcessMeter>,
    /// The block device under its folder.
    device: Option<Device>,
    /// What it was proved to encrypt on the disk; `None` where no arm of the study is about that.
    proved_at_rest: Option<ProvedAtRest>,
    /// True if an arm that is measured on servers like these encrypts what they tell each other, and so each is proved.
    cluster_tls_differs: bool,
    /// How it encrypts columns, where its arms ask it to.
    columns: Option<Columns>,
    /// By which functions an arm that is measured beside it has columns encrypted.
    functions_beside: Option<ColumnFunctions>,
    /// What the client stores in YCSB's table, where that is not plain.
    stored: Option<ColumnEncryption>,
    /// True if some of its arms have it forget what the logins of others find there.
    forgets: bool,
}

impl<D: Database> GroupServer<D> {
    /// Starts private servers for a group of arms, and what leads to them.
    pub(crate) fn private(
        study: &Study,
        spec: &ServerSpec,
        group: &Group<'_>,
        identity: Identity,
        column_key: Option<&MasterKey>,
    ) -> Result<Self> {
        let guard = GuardProgram::this_program();
        let link = Distance::link(spec, &guard)?;
        let server = private::start(study, spec, group, link.as_ref())?;
        let (route, server) = Route::to_private(
            link,
            server,
            (study, spec),
            group,
            D::CERTIFICATE,
            column_key,
            &guard,
        )?;
        // Declared after the route, so that it goes before it if something fails.
        let server = server;
        let processes = Processes::of_private(&server, study, spec, D::SERVED_BY)?;
        let daemon = server.file_system().and_then(MountedFileSystem::daemon);
        let daemon = daemon.map(ProcessMeter::open).transpose()?;
        let file_system = server.file_system().map(|mounted| mounted.workers().pids());
        let file_system = file_system.filter(|pids| !pids.is_empty());
        let file_system = file_system.map(|pids| FileSystemMeter::open(&pids)).transpose()?;
        let columns = server.at_rest.columns.map(Columns::new);
        let members = server.replica_set.map(|_| &route.measured[..]);
        let mut database = D::of_private(server.entry(), columns, members);
        let login = D::login_of(server.default_account());
        let mut control = connect(study, &database, &route, Some(&server), &login, None)?;
        let forgets = database.set_up(&mut control, &server, &group.set_up_for)?;
        let mut server = Self {
            first_record: ServerRecord::unseen(identity.id, &group.name, identity.cells),
            database,
            control,
            wait_events: None,
            private: Some(Private {
                device: Storage::under(server.folder()).device(),
                server,
                file_system,
                daemon,
                proved_at_rest: None,
                cluster_tls_differs: arms_on(study, spec).any(|arm| arm.cluster_tls),
                columns,
                functions_beside: functions_beside(study, spec),
                stored: group.needs.stored.cloned(),
                forgets,
            }),
            route,
            login,
            processes,
            wrong_logins: WrongLogins::default(),
            changed: None,
            is_loaded: false,
        };
        server.describe()?;
        Ok(server)
    }

    /// Takes servers of the user's own, which nobody else of ciphertax measures and where nobody else has data of its name.
    pub(crate) fn target(
        study: &Study,
        mut target: TargetServers<D>,
        identity: Identity,
        ranks: Option<&Ranks>,
        no_wrong_logins: bool,
    ) -> Result<Self> {
        let mut route = target.route(study)?;
        route.trust.releases_buffers = are_many(study);
        let mut control = connect(
            study,
            &target.database,
            &route,
            None,
            &target.login,
            Some(&target.url),
        )?;
        let members = find_members(&mut target.database, &mut control, &mut route, &target.login)?;
        let mut server = Self {
            first_record: ServerRecord {
                members,
                ..ServerRecord::unseen(identity.id, &target.display, identity.cells)
            },
            processes: Processes::looked_for(&control, &route.control)?,
            database: target.database,
            control,
            wait_events: None,
            route,
            private: None,
            login: target.login,
            wrong_logins: WrongLogins::new(no_wrong_logins),
            changed: None,
            is_loaded: false,
        };
        server.refuse_demand_of_tls(study, &target.url)?;
        let seen = match study.agent() {
            Some(_) => server
                .control
                .ask(async |session| session.seen_by_server().await)?,
            None => SeenByServer::default(),
        };
        let remote = RemoteCpu::open(study, &server.route.control, seen, D::SERVED_BY, ranks);
        // What tells on another machine what its processes use, where the study says what.
        if let Some(remote) = remote.map_err(|problem| server.control.unusable(problem))? {
            server.processes = server.processes.told_by(remote);
        }
        D::claim(&mut server.control)?;
        let limits = D::limits(&mut server.control)?;
        let problem = too_many(study, &limits).or_else(|| uncommitted(study, &server.control.overridden));
        if let Some(problem) = problem {
            return Err(server.control.unusable(problem));
        }
        D::refuse_account_that_ends(&mut server.control, !no_wrong_logins)?;
        server.database.refuse_what_cannot_be_removed(
            &mut server.control,
            &Contents::of(study, D::Access::VOCABULARIES),
        )?;
        server.describe()?;
        Ok(server)
    }

    /// Makes sure that plain arms are let in where they go to. A server that demands TLS says so to plain sessions alone.
    fn refuse_demand_of_tls(&mut self, study: &Study, url: &str) -> Result<()> {
        let has_plain = study.arms.iter().any(|arm| !arm.transport.is_encrypted());
        let Some(tls) = self.route.default_tls.take_if(|_| has_plain) else {
            return Ok(());
        };
        let control = std::mem::replace(&mut self.route.control, vec![self.route.measured[0].clone()]);
        let connected = connect(study, &self.database, &self.route, None, &self.login, Some(url));
        (self.route.control, self.route.default_tls) = (control, Some(tls));
        connected.map(drop)
    }

    /// Removes what a run left on servers of the user's own, and tells whether there was anything.
    pub(crate) fn remove_leftovers(mut target: TargetServers<D>) -> Result<bool> {
        let mut route = Route::to_target(&target);
        let any_tls = route.trust.any_tls(None, D::ALPN)?;
        let connect = |route: &Route| {
            let tls = route.default_tls.as_ref();
            let ways = |tls| ways(&target.database, &route.control, &target.login, tls);
            let ways = ControlOptions {
                default: ways(tls),
                is_encrypted: tls.is_some(),
                encrypted: ways(Some(&any_tls)),
                lacks_password: D::lacks_password(&target.login),
                patience: target.patience,
            };
            Control::<D>::connect(&target.display, ways, None)
        };
        let only_tls = target.needs_tls || target.verifies();
        route.use_tls(only_tls, D::ALPN)?;
        let mut control = match connect(&route) {
            Err(refusal) if !only_tls => {
                route.use_tls(true, D::ALPN)?;
                connect(&route).map_err(|_| refusal)?
            }
            connected => connected?,
        };
        if let Some(members) = target.database.members(&mut control)? {
            let members = answering(&members);
            let tls = route.default_tls.as_ref();
            control.switch_to(ways(&target.database, &members, &target.login, tls))?;
        }
        D::claim(&mut control)?;
        target.database.remove(&control)
    }

    /// What the report says of it, with what was seen of its distance.
    pub(crate) fn record(&self) -> ServerRecord {
        ServerRecord {
            link: self.route.distance.as_ref().and_then(Distance::record),
            cpu_from: self.processes.cpu_from(),
            ..self.first_record.clone()
        }
    }

    /// The only CPU of private servers, where the load must run too.
    pub(crate) fn cpu(&self) -> Option<usize> {
        self.processes.confined_to
    }

    /// `None` for servers of the user's own.
    fn private_server(&self) -> Option<&PrivateServer> {
        self.private.as_ref().map(|private| &private.server)
    }

    /// Makes sure that it remembers what the warm logins of an arm find there, before a program makes one that cannot remind it.
    pub(crate) fn remind(&self, access: &D::Access) {
        if self.private.as_ref().is_some_and(|private| private.forgets) {
            // A server that is gone is noticed by the next who asks it something.
            let _ = self.control.visit(access.options(), async |_| Ok(()));
        }
    }

    /// True if ciphertax has started it, so that nobody else knows it.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// How an arm reaches it, before any proof.
    pub(crate) fn arm(&self, arm: &Arm) -> Result<ReachedArm<D>> {
        reached(&self.route, self.private_server(), &self.login, arm)
    }

    /// How other load generators reach an arm whose sessions must be so.
    pub(crate) fn reach_of(&self, arm: &Arm, expectation: &Expectation) -> Result<ArmReach> {
        let private = self.private_server();
        Ok(ArmReach {
            arm: arm.clone(),
            server: self.first_record.id.clone(),
            endpoint: self.arm(arm)?.endpoint,
            measured: self.route.measured.clone(),
            expectation: expectation.clone(),
            releases_buffers: self.route.trust.releases_buffers,
            private: private.map(|server| PrivateReach::of(server, &self.route.trust, arm)),
        })
    }

    /// Makes the data sets that the study's cells ask; `key` is that of stored cells.
    pub(crate) fn load(
        &mut self,
        study: &Study,
        key: Option<&MasterKey>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let private = self.private.as_ref();
        let stored = private.and_then(|private| private.stored.as_ref());
        let contents = Contents {
            columns: private.and_then(|private| private.columns),
            fields: FieldEncryption::stored(stored, key),
            ..tpcc::contents(study, D::Access::VOCABULARIES, key)
        };
        let of = contents.rows();
        // Also if it fails half-way.
        self.is_loaded = true;
        let mut heard = |rows| progress(rows, of);
        self.is_loaded = self.database.load(&mut self.control, &contents, &mut heard)?;
        Ok(())
    }

    /// Has the tables of the data sets there, and tells whether load generators may write a part of their rows each before
    /// [`GroupServer::load`].
    pub(crate) fn begin_load(&mut self, contents: &Contents) -> Result<bool> {
        // Also if it fails half-way.
        self.is_loaded = true;
        self.database.begin_load(&mut self.control, contents)
    }

    /// How large its data are; `None` for a server of the user's own.
    pub(crate) fn footprint(&mut self) -> Result<Option<Footprint>> {
        match self.is_private() {
            true => self.database.footprint(&mut self.control).map(Some),
            false => Ok(None),
        }
    }

    /// Removes the data sets, and the servers if they are private.
    pub(crate) fn close(self) -> Result<()> {
        let removed = match self.death() {
            // What private servers hold goes with them.
            _ if self.is_private() || !self.is_loaded => Ok(()),
            Some(death) => Err(unusable(&self.route.trust.display, death)),
            None => self.database.remove(&self.control).map(drop),
        };
        let Self {
            control,
            wait_events,
            private,
            route,
            ..
        } = self;
        drop((control, wait_events));
        let stopped = private.map_or(Ok(()), |private| private.server.stop());
        removed.and(stopped.and(route.stop()).map_err(RunError::from))
    }

    /// Has it say who it is.
    fn describe(&mut self) -> Result<()> {
        let private = self.private.as_ref().map(|private| &private.server);
        let Description {
            product,
            version,
            tls_library,
            settings,
        } = self
            .database
            .describe(&mut self.control, private.map(PrivateServer::entry))?;
        let addresses: Vec<String> = self.route.measured.iter().map(Endpoint::to_string).collect();
        let record = &mut self.first_record;
        (record.product, record.version, record.tls_library) = (product, version, tls_library);
        record.address = addresses.join(",");
        record.same_host = self.processes.same_host;
        record.through.clone_from(&self.processes.through);
        record.cpu_unread = self.processes.unread.as_ref().map(|unread| unread.reason.clone());
        record.cpu_from = self.processes.cpu_from();
        record.settings = settings;
        let overridden = self.control.overridden.iter();
        record.overridden = overridden
            .map(|one| (one.name.to_owned(), one.was.clone()))
            .collect();
        if let Some(server) = private {
            record.placement = ServerPlacement::Private;
            record.settings = server.settings().clone();
            record.settings.extend(self.route.proxies.settings());
            record.lies_on = Some(match Storage::under(server.folder()) {
                Storage::Device(device) => LiesOn::Device(device.name().to_owned()),
                Storage::Memory => LiesOn::Memory,
                Storage::Unknown(why) => LiesOn::Unknown(why),
            });
        }
        Ok(())
    }
}

/// Goes to those servers of the user's own that form one database now, the one that takes writes first, and says which they are; none
/// for a server of its own.
fn find_members<D: Database>(
    database: &mut D,
    control: &mut Control<D>,
    route: &mut Route,
    login: &D::Login,
) -> Result<Vec<MemberRecord>> {
    let Some(found) = database.members(control)? else {
        return Ok(Vec::new());
    };
    let members = answering(&found);
    control.switch_to(ways(database, &members, login, route.default_tls.as_ref()))?;
    route.trust.host.clone_from(&members[0].host);
    route.control.clone_from(&members);
    route.measured = members;
    Ok(found.iter().map(Member::record).collect())
}

/// Where those are that answer.
fn answering(members: &[Member]) -> Vec<Endpoint> {
    let answering = members.iter().filter(|member| member.answers);
    answering.map(|member| member.endpoint.clone()).collect()
}
