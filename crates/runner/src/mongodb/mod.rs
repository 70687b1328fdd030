//! MongoDB: a server, or the servers of a replica set.

mod control;
mod counted;
mod environment;

use std::collections::BTreeMap;
use std::sync::Arc;

use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mongodb::{self as lab, find_canary, prove};
use ciphertax_lab::{Account, PrivateServer, Proved};
use ciphertax_model::{Arm, Cell, PasswordCache, ReadPreference, Secret, Study, Transport};
use ciphertax_wire::mongodb::{Address, ConnectOptions, Login, Others, ScramKeys, Session};
use ciphertax_wire::tls::TlsConnector;
use ciphertax_wire::{Expectation, MongoDbTarget, Target};
use ciphertax_workload::Driver;
use ciphertax_workload::dataset::Contents;
use ciphertax_workload::mongodb::MongodbAccess;

use crate::command::{Counted, Reached};
use crate::connections::Limit;
use crate::database::{Canary, Conditions, Database, Description};
use crate::error::RunError;
use crate::server::{Control, Endpoint, TargetServers};

/// A MongoDB.
pub(crate) struct MongoDb {
    is_replica_set: bool,
    /// The name that the replica set must have.
    set_name: Option<String>,
    /// The members of a private replica set, as these call each other.
    members: Vec<Address>,
}

/// Servers of the user's own.
pub(crate) fn mongodb_target(target: &MongoDbTarget) -> TargetServers<MongoDb> {
    let seeds = target.seeds.iter();
    TargetServers {
        database: MongoDb {
            is_replica_set: target.is_replica_set(),
            set_name: target.replica_set.clone(),
            members: Vec::new(),
        },
        endpoints: seeds.map(|seed| Endpoint::new(&seed.host, seed.port)).collect(),
        login: target.login.clone(),
        verification: target.verification.clone(),
        client_certificate: target.client_certificate.clone(),
        needs_tls: target.login == Login::X509,
        display: target.to_string(),
        url: Target::MongoDb(target.clone()).url(),
    }
}

impl MongoDb {
    /// How the primary is found and reached for what is not measured.
    fn default_access(&self, control: &Control<Self>) -> MongodbAccess {
        let addresses = control.ways.iter().map(|way| Address {
            host: way.host.clone(),
            port: way.port,
        });
        MongodbAccess {
            options: control.ways[0].clone(),
            seeds: match self.is_replica_set {
                true => addresses.collect(),
                false => Vec::new(),
            },
            routes: Vec::new(),
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            read_preference: ReadPreference::Primary,
        }
    }

    /// Where members of a private replica set are reached by measured connections, by what they call each other.
    fn routes(&self, measured: &[Endpoint]) -> Vec<(Address, Address)> {
        let measured = measured.iter().map(address);
        let routes = self.members.iter().cloned().zip(measured);
        routes.filter(|(member, reached)| member != reached).collect()
    }

    /// Who connects to it besides ciphertax.
    fn others(&self, is_private: bool) -> Others {
        match (is_private, self.is_replica_set) {
            (true, false) => Others::None,
            // Private servers offer TLS and do not use it among themselves.
            (true, true) => Others::InClear,
            (false, _) => Others::MayUseTls,
        }
    }
}

impl Database for MongoDb {
    const MADE: &'static str = "the database ciphertax";
    const TLS_VERSIONS_STUDY: &'static str = "mongodb-tls-versions";
    const DEMANDS_TLS: &'static str = "it demands TLS (net.tls.mode requireTLS)";
    const DENIAL_MAY_MEAN_TLS: bool = false;
    const PROGRAMS_READ: &'static str = "CIPHERTAX_URL";
    const OPTION_FILES: &'static [&'static str] = &[];

    type Login = Login;
    type Options = ConnectOptions;
    type Session = Session;
    type Access = MongodbAccess;

    fn of_private(server: &PrivateServer) -> Self {
        let addresses = server.addresses();
        let is_replica_set = server.replica_set().is_some();
        Self {
            is_replica_set,
            set_name: None,
            members: match is_replica_set {
                true => addresses
                    .into_iter()
                    .map(|member| address(&member.into()))
                    .collect(),
                false => Vec::new(),
            },
        }
    }

    fn login_of(account: &Account) -> Login {
        Login::by(account.method, &account.user, account.password.clone()).unwrap_or(Login::None)
    }

    fn user_and_password(login: &Login) -> (String, Secret) {
        match login {
            Login::Scram(account) => (account.user.clone(), account.password.clone()),
            Login::None | Login::X509 => Default::default(),
        }
    }

    fn options(endpoint: &Endpoint, login: &Login, tls: Option<Arc<TlsConnector>>) -> ConnectOptions {
        ConnectOptions {
            tls,
            scram_keys: ScramKeys::kept(),
            ..ConnectOptions::new(&endpoint.host, endpoint.port, login.clone())
        }
    }

    fn options_of_arm(&self, options: ConnectOptions, arm: &Arm) -> ConnectOptions {
        ConnectOptions {
            speculative: arm.authentication.speculative,
            scram_keys: match arm.authentication.password_cache {
                PasswordCache::Warm => ScramKeys::kept(),
                PasswordCache::Cold => ScramKeys::Derived,
            },
            ..options
        }
    }

    fn lacks_password(options: &ConnectOptions) -> bool {
        matches!(&options.login, Login::Scram(account) if account.password.expose().is_empty())
    }

    /// An arm that leaves the method open is held to that of the default account.
    fn expectation(arm: &Arm, login: &Login) -> Expectation {
        let mut expected = arm.clone();
        expected.authentication.method = Some(login.method());
        Expectation::of(&expected)
    }

    fn claim(control: &mut Control<Self>) -> Result<(), RunError> {
        control.claim()
    }

    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>, RunError> {
        Ok(control.limit()?.into_iter().collect())
    }

    fn members(&self, control: &mut Control<Self>) -> Result<Option<Vec<Endpoint>>, RunError> {
        match self.is_replica_set {
            true => control.members(self.set_name.as_deref()).map(Some),
            false => Ok(None),
        }
    }

    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>) -> Result<(), RunError> {
        control.refuse_what_cannot_be_removed(&self.default_access(control))
    }

    fn describe(
        &self,
        control: &mut Control<Self>,
        private: Option<&Entry>,
    ) -> Result<Description, RunError> {
        control.describe(private)
    }

    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &ConnectOptions,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved, RunError> {
        let routes = self.routes(conditions.measured);
        // A write without a login is tried too, which the primary alone takes.
        let primary = match self.is_replica_set {
            true => Some(control.primary(&self.default_access(control))?),
            false => None,
        };
        let at_primary = |options: ConnectOptions| match &primary {
            None => options,
            Some(primary) => {
                let route = routes.iter().find(|(member, _)| member == primary);
                let Address { host, port } = route.map_or(primary, |(_, reached)| reached).clone();
                ConnectOptions {
                    host,
                    port,
                    ..options
                }
            }
        };
        let unknown_client = conditions.unknown_client.map(at_primary);
        let conditions = lab::Conditions {
            others: self.others(conditions.is_private),
            unknown_client: unknown_client.as_ref(),
        };
        Ok(prove(arm, &at_primary(options.clone()), expectation, conditions)?)
    }

    fn canary(options: &ConnectOptions) -> Canary {
        Box::new(find_canary(options))
    }

    fn access(
        &self,
        _arm: &Arm,
        options: ConnectOptions,
        expectation: Expectation,
        measured: &[Endpoint],
    ) -> MongodbAccess {
        MongodbAccess {
            options,
            seeds: match self.is_replica_set {
                true => measured.iter().map(address).collect(),
                false => Vec::new(),
            },
            routes: self.routes(measured),
            expectation,
            connections: 1,
            read_preference: ReadPreference::Primary,
        }
    }

    fn options_of_access(access: &MongodbAccess) -> &ConnectOptions {
        &access.options
    }

    fn load(
        &mut self,
        control: &mut Control<Self>,
        study: &Study,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, RunError> {
        let Some(table) = Contents::of(study, MongodbAccess::VOCABULARIES).usertable else {
            return Ok(false);
        };
        let of = table.record_count.into();
        progress(0, of);
        control.prepare(&self.default_access(control), &table, |records| {
            progress(records, of)
        })?;
        Ok(true)
    }

    fn remove(&self, control: &Control<Self>) -> Result<bool, RunError> {
        control.remove(&self.default_access(control))
    }

    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>, RunError> {
        let mut counters = control.counters()?;
        if self.is_replica_set {
            // They are those of one member, and after a failover of another.
            counters.clear();
        }
        Ok(counters)
    }

    fn refuse(study: &Study, cell: &Cell, _private: Option<&Entry>) -> Vec<String> {
        environment::refuse(study, cell)
    }

    fn url(reached: &Reached<'_, Self>) -> String {
        environment::url(reached)
    }

    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
        environment::files(reached)
    }

    fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
        counted::counted(at_the_end, change)
    }

    /// At once.
    fn tls_begins_at(_answers: &[u8]) -> Option<usize> {
        Some(0)
    }
}

fn address(endpoint: &Endpoint) -> Address {
    Address {
        host: endpoint.host.clone(),
        port: endpoint.port,
    }
}
