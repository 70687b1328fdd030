//! Sessions of MongoDB that are what their arm says.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_engine::{Engine, EngineError, Failure, Result};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{ReadPreference, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::{
    ConnectOptions, Expectation, Login, Member, Session, Topology, authenticated_users,
};
use ciphertax_wire::{Address, Client as _, Session as _};

use super::records::{FindRecord, MongodbTable};
use crate::connect::{self, Nothing};
use crate::driver::{Access, Job, failure};
use crate::ycsb::{self, FieldEncryption, YcsbLoad};

/// How long an election may take.
const ELECTION: Duration = Duration::from_secs(10);

/// How an arm reaches its server, and what every session must then be.
#[derive(Clone)]
pub struct MongodbAccess {
    /// How to connect; to the members of a replica set, all but the address.
    pub options: ConnectOptions,
    /// Members of the replica set that are asked for the others; none for a server of its own.
    pub seeds: Vec<Address>,
    /// Where members are reached that are not reached where they say, because something stands before them.
    pub routes: Vec<(Address, Address)>,
    /// What every session must be.
    pub expectation: Expectation,
    /// Connections that may be opened at a time: where the arm resumes sessions, as many are kept ready.
    pub connections: usize,
    /// Which member of a replica set is read from.
    pub read_preference: ReadPreference,
}

impl Access for MongodbAccess {
    type Session = Session;

    const NAME: &'static str = "MongoDB";

    const VOCABULARIES: &'static [Vocabulary] =
        &[Vocabulary::Connect, Vocabulary::KeyValue, Vocabulary::Program];

    fn options(&self) -> &ConnectOptions {
        &self.options
    }

    fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    /// To the member that the connection in this slot reads from. The replica set is looked at anew each time, since a
    /// failover may have been.
    async fn route(&self, reactor: &Rc<Reactor>, slot: u32) -> Result<ConnectOptions> {
        if self.seeds.is_empty() {
            return Ok(self.options.clone());
        }
        let topology = self.topology(reactor).await?;
        let member = topology
            .choose(self.read_preference, slot as usize)
            .ok_or_else(|| {
                let preference = self.read_preference;
                Failure::Disconnected(format!(
                    "the replica set has no member to read from by the preference {preference}"
                ))
            })?;
        Ok(self.options_of(member))
    }

    /// One that reads.
    async fn open(&self, reactor: &Rc<Reactor>, slot: u32) -> Result<Session> {
        let options = self.route(reactor, slot).await?;
        self.open_checked(reactor, &options).await
    }

    fn start(job: &Job<'_>, arms: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        let arms = arms.into_iter().map(|access| Self {
            connections: job.cell.load.connections as usize,
            read_preference: job.study.read_preference(job.cell),
            ..access
        });
        let arms: Vec<Self> = arms.collect();
        let table = job.study.ycsb;
        let writes = job.cell.ycsb_mix().is_some_and(|mix| mix.writes());
        let stores = arms.iter().zip(&job.columns);
        let stores = stores.map(|(access, columns)| MongodbTable {
            access: access.clone(),
            table,
            writes,
            fields: FieldEncryption::of(columns),
        });
        match job.cell.workload {
            Workload::Connect => connect::start(job, &arms, FindRecord(table)),
            Workload::ConnectOnly => connect::start(job, &arms, Nothing),
            Workload::YcsbLoad => job.start(stores.map(|store| YcsbLoad::new(store, &table))),
            Workload::YcsbA
            | Workload::YcsbB
            | Workload::YcsbC
            | Workload::YcsbD
            | Workload::YcsbE
            | Workload::YcsbF
            | Workload::Ycsb => ycsb::start(job, stores),
            // They are asked in SQL, or by a program of the user.
            Workload::OltpDelete
            | Workload::OltpInsert
            | Workload::OltpPointSelect
            | Workload::OltpReadOnly
            | Workload::OltpReadWrite
            | Workload::OltpUpdateIndex
            | Workload::OltpUpdateNonIndex
            | Workload::OltpWriteOnly
            | Workload::SelectRandomPoints
            | Workload::SelectRandomRanges
            | Workload::BulkInsert
            | Workload::BulkRead
            | Workload::ConnectInsertCount
            | Workload::PgbenchSelectOnly
            | Workload::PgbenchTpcbLike
            | Workload::Tpcc
            | Workload::Command => Ok(None),
        }
    }
}

impl MongodbAccess {
    /// Opens the sessions of the connection in this slot that reads and writes, and checks each: the first reads; the
    /// second writes, unless the first goes to the primary and does both.
    ///
    /// # Errors
    /// As [`Access::open`].
    pub async fn open_to_read_and_write(
        &self,
        reactor: &Rc<Reactor>,
        slot: u32,
    ) -> Result<(Session, Option<Session>)> {
        let reading = self.route(reactor, slot).await?;
        let writing = self.primary(reactor).await?;
        let session = self.open_checked(reactor, &reading).await?;
        let is_primary = (&reading.host, reading.port) == (&writing.host, writing.port);
        let writer = match is_primary {
            true => None,
            false => Some(self.open_checked(reactor, &writing).await?),
        };
        Ok((session, writer))
    }

    /// Opens a session that writes, and checks it likewise.
    ///
    /// # Errors
    /// As [`Access::open`].
    pub async fn open_to_write(&self, reactor: &Rc<Reactor>) -> Result<Session> {
        let options = self.primary(reactor).await?;
        self.open_checked(reactor, &options).await
    }

    /// What to tell a server that is not the primary, so that it answers.
    pub(crate) fn read_mode(&self) -> Option<&'static str> {
        match self.read_preference {
            ReadPreference::Primary => None,
            preference => Some(preference.name()),
        }
    }

    /// How the primary is reached.
    ///
    /// # Errors
    /// When the replica set elects none in time.
    pub async fn primary(&self, reactor: &Rc<Reactor>) -> Result<ConnectOptions> {
        if self.seeds.is_empty() {
            return Ok(self.options.clone());
        }
        let topology = self.topology(reactor).await?;
        let member = topology
            .primary()
            .ok_or_else(|| Failure::Disconnected("the replica set has no primary".into()))?;
        Ok(self.options_of(member))
    }

    /// Members that hold the data; 1 for a server of its own.
    ///
    /// # Errors
    /// When none answers.
    pub async fn member_count(&self, reactor: &Rc<Reactor>) -> Result<usize> {
        if self.seeds.is_empty() {
            return Ok(1);
        }
        Ok(self.topology(reactor).await?.members.len())
    }

    async fn topology(&self, reactor: &Rc<Reactor>) -> Result<Topology> {
        let deadline = Instant::now() + ELECTION;
        Topology::wait_for_primary(reactor, &self.seeds, &self.options, deadline)
            .await
            .map_err(failure)
    }

    fn options_of(&self, member: &Member) -> ConnectOptions {
        let route = self.routes.iter().find(|(says, _)| *says == member.address);
        let Address { host, port } = route.map_or(&member.address, |(_, reached)| reached).clone();
        ConnectOptions {
            host,
            port,
            identity: member.identity.clone(),
            ..self.options.clone()
        }
    }

    async fn open_checked(&self, reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<Session> {
        Session::warm_up(reactor, options, self.connections)
            .await
            .map_err(failure)?;
        let (mut session, _) = Session::connect(reactor, options).await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        let users = authenticated_users(&mut session).await.map_err(failure)?.len();
        let expected = usize::from(options.login != Login::None);
        if users != expected {
            return Err(Failure::FactsDiffer(format!(
                "the server says that {users} users are logged in; expected {expected}"
            )));
        }
        Ok(session)
    }
}
