//! Which databases there are: the only place that knows. A further one is a room of its own and a line in each function here.

use std::time::{Duration, Instant};

use ciphertax_base::SCHEMA;
use ciphertax_columns::MasterKey;
use ciphertax_lab::catalogue;
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Arm, ServerSpec, Study, Transport};
use ciphertax_wire::tls::TlsSummary;
use ciphertax_wire::{Client, Protocol, Target, WireError};
use ciphertax_workload::Access;
use ciphertax_workload::mongodb::MongodbAccess;
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::postgresql::PostgresqlAccess;
use ciphertax_workload::sqlite::SqliteAccess;

use crate::connect::{Connecting, Found};
use crate::database::Database;
use crate::error::{Result, RunError};
use crate::mongodb::{MongoDb, mongodb_target};
use crate::mysql::{MySql, encdb_target, mysql_target};
use crate::postgresql::{PostgreSql, postgresql_target};
use crate::server::{GroupServer, TargetServers, connect};
use crate::servers::{GroupServers, Opening, Servers};
use crate::servers_to_play::{EncdbAccount, entry};
use crate::sqlite::SqliteServers;
use crate::timeout::unusable;

/// The user's own servers.
pub(crate) fn target(target: &Target) -> Box<dyn OwnDatabase> {
    match target {
        Target::MySql(target) => Box::new(mysql_target(target)),
        Target::MongoDb(target) => Box::new(mongodb_target(target)),
        Target::PostgreSql(target) => Box::new(postgresql_target(target)),
    }
}

/// What ciphertax makes on such a server, in words.
pub fn made_on(target: &Target) -> String {
    let what = match target {
        Target::MySql(_) | Target::PostgreSql(_) => "schema",
        Target::MongoDb(_) => "database",
    };
    match SCHEMA.is_given() {
        false => format!("the {what} {SCHEMA}"),
        true => format!("what ciphertax makes in the {what} {SCHEMA}"),
    }
}

/// The same to be measured: with the account whose results they encrypt, and what by.
pub(crate) fn measured_target(
    target: &Target,
    encdb: Option<&EncdbAccount>,
    key: Option<&MasterKey>,
) -> Box<dyn OwnDatabase> {
    match (target, encdb, key) {
        (Target::MySql(target), Some(account), Some(key)) => {
            Box::new(encdb_target(target, account, key.clone()))
        }
        _ => self::target(target),
    }
}

/// What one of several load generators does on whatever database.
pub(crate) trait RankWork {
    type Output;

    /// `own` is the user's own server.
    fn work<D: Database>(self, own: impl Fn() -> Option<TargetServers<D>>) -> Result<Self::Output>;
}

/// Has one of several load generators work on the user's own server, or on a private one that is called so in the catalogue.
pub(crate) fn of_rank<W: RankWork>(target: Option<&Target>, server: &str, work: W) -> Result<W::Output> {
    let protocol = match target {
        Some(target) => target.protocol(),
        None => entry(server)?
            .protocol()
            .ok_or_else(|| RunError::Rank("a database in its client has one load generator".into()))?,
    };
    match protocol {
        catalogue::Protocol::MySql => work.work::<MySql>(|| match target {
            Some(Target::MySql(target)) => Some(mysql_target(target)),
            _ => None,
        }),
        catalogue::Protocol::MongoDb => work.work::<MongoDb>(|| match target {
            Some(Target::MongoDb(target)) => Some(mongodb_target(target)),
            _ => None,
        }),
        catalogue::Protocol::PostgreSql => work.work::<PostgreSql>(|| match target {
            Some(Target::PostgreSql(target)) => Some(postgresql_target(target)),
            _ => None,
        }),
    }
}

/// What a database is called, by what its clients speak, and what workloads may be made of there.
pub(crate) fn spoken(protocol: Option<Protocol>) -> (&'static str, &'static [Vocabulary]) {
    match protocol {
        Some(Protocol::MySql) => (MysqlAccess::NAME, MysqlAccess::VOCABULARIES),
        Some(Protocol::MongoDb) => (MongodbAccess::NAME, MongodbAccess::VOCABULARIES),
        Some(Protocol::PostgreSql) => (PostgresqlAccess::NAME, PostgresqlAccess::VOCABULARIES),
        None => (SqliteAccess::NAME, SqliteAccess::VOCABULARIES),
    }
}

/// Starts private servers for the cells with this spec and proves the arms.
pub(crate) fn open_private(opening: &mut Opening<'_>, spec: &ServerSpec) -> Result<Box<dyn Servers>> {
    let entry = entry(&spec.server)?;
    Ok(match entry.protocol() {
        Some(catalogue::Protocol::MySql) => Box::new(GroupServers::<MySql>::private(opening, spec)?),
        Some(catalogue::Protocol::MongoDb) => Box::new(GroupServers::<MongoDb>::private(opening, spec)?),
        Some(catalogue::Protocol::PostgreSql) => {
            Box::new(GroupServers::<PostgreSql>::private(opening, spec)?)
        }
        None => Box::new(SqliteServers::open(entry, opening, spec)?),
    })
}

/// Keeps a server busy for so long.
pub(crate) type Busy = Box<dyn FnMut(Duration) -> Result<()>>;

pub(crate) trait OwnDatabase {
    /// Why plain arms cannot be measured: a server wants the password itself, which is not sent to who was not verified.
    ///
    /// # Errors
    /// When a server denies access, so that a wrong password is not tried again.
    fn withheld(&self, study: &Study) -> Result<Option<String>>;

    /// Logs in to the first server as an arm does, and tells what its TLS is.
    ///
    /// # Errors
    /// The outer if there is no answer, the inner if there is no session.
    fn negotiate(&self, arm: &Arm) -> Result<Result<Option<TlsSummary>, WireError>>;

    /// What keeps the server busy for so long, over one session: that for what is not measured of the study.
    ///
    /// # Errors
    /// Names the server and what keeps clients from being served, with the remedy; later, when it does not answer.
    fn busy(&self, study: &Study) -> Result<Busy>;

    fn connect(&self, connecting: &Connecting, progress: &mut dyn FnMut(u32)) -> Result<Found>;

    /// Takes the servers and proves the arms.
    fn open(self: Box<Self>, opening: &mut Opening<'_>) -> Result<Box<dyn Servers>>;

    fn clean(self: Box<Self>) -> Result<bool>;
}

impl<D: Database> OwnDatabase for TargetServers<D> {
    /// Each server is logged in to over TLS first. So no proof of the password goes to who fails verification, and a server that
    /// remembers the password (`caching_sha2_password`) asks for no more than a proof. `None` also where TLS fails: whoever connects
    /// next is told why.
    fn withheld(&self, study: &Study) -> Result<Option<String>> {
        let mut encrypted = study.arms.iter().filter(|arm| arm.transport.is_encrypted());
        let over_tls = match encrypted.next() {
            Some(arm) => arm.transport,
            None if self.verifies() => Transport::Tls,
            None => return Ok(None),
        };
        // MongoDB's logins never send it.
        let has_plain = study.arms.iter().any(|arm| !arm.transport.is_encrypted());
        if !has_plain || D::Session::PROTOCOL == Protocol::MongoDb {
            return Ok(None);
        }
        let mut denial = None;
        for endpoint in &self.endpoints {
            match self.log_in(endpoint, &Arm::new("tls", over_tls)) {
                Ok(Ok(_)) => {}
                Err(RunError::Stopped) => return Err(RunError::Stopped),
                Ok(Err(error)) if error.is_access_denied() && !error.is_of_pg_hba() => {
                    denial = denial.or(Some(error));
                    continue;
                }
                Ok(Err(_)) | Err(_) => continue,
            }
            if let Ok(Err(withheld @ WireError::PasswordWithheld(_))) =
                self.log_in(endpoint, &Arm::new("plain", Transport::Plain))
            {
                return Ok(Some(withheld.to_string()));
            }
            denial = None;
        }
        let has_password = !D::lacks_password(&self.login);
        match denial.filter(|_| has_password) {
            Some(error) => {
                let remedy = error.remedy(D::Session::PROTOCOL);
                Err(unusable(&self.display, format!("{error}{remedy}")))
            }
            None => Ok(None),
        }
    }

    fn negotiate(&self, arm: &Arm) -> Result<Result<Option<TlsSummary>, WireError>> {
        self.log_in(&self.endpoints[0], arm)
    }

    fn busy(&self, study: &Study) -> Result<Busy> {
        let (database, login, route) = (&self.database, &self.login, self.route(study)?);
        let mut control = connect(study, database, &route, None, login, Some(&self.url))?;
        Ok(Box::new(move |time| {
            let until = Instant::now() + time;
            control.ask(async |session| {
                while Instant::now() < until {
                    session.ask().await?;
                }
                Ok(())
            })
        }))
    }

    fn connect(&self, connecting: &Connecting, progress: &mut dyn FnMut(u32)) -> Result<Found> {
        self.observe(connecting, progress)
    }

    fn open(self: Box<Self>, opening: &mut Opening<'_>) -> Result<Box<dyn Servers>> {
        Ok(Box::new(GroupServers::target(opening, *self)?))
    }

    fn clean(self: Box<Self>) -> Result<bool> {
        GroupServer::remove_leftovers(*self)
    }
}
