//! What ciphertax does on a MongoDB, or on the servers of a replica set.

use std::collections::BTreeMap;
use std::rc::Rc;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mongodb::{self as lab, find_canary, prove};
use ciphertax_lab::{PrivateServer, Proved, ProvedAtRest};
use ciphertax_model::{Arm, Cell, CellEncoding, ReadPreference, Study, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mongodb::{ConnectOptions, Login, Others};
use ciphertax_wire::{Address, Expectation, MongoDbTarget, Target};
use ciphertax_workload::Driver;
use ciphertax_workload::dataset::{Contents, DatasetError};
use ciphertax_workload::mongodb::{MongodbAccess, dataset};
use ciphertax_workload::ycsb::FieldEncryption;

use super::clients::MongoDb;
use super::{cells_proof, counted, environment};
use crate::columns;
use crate::connections::Limit;
use crate::database::{
    Canary, Conditions, Control, Counted, Database, Description, Endpoint, Member, Reached,
};
use crate::error::RunError;
use crate::fields;
use crate::footprint::Footprint;
use crate::meter::ServedBy;
use crate::ranks::ServerState;
use crate::server::TargetServers;

/// Servers of the user's own.
pub(crate) fn mongodb_target(target: &MongoDbTarget) -> TargetServers<MongoDb> {
    let seeds = target.seeds.iter();
    TargetServers {
        database: MongoDb {
            is_replica_set: target.is_replica_set(),
            set_name: target.replica_set.clone(),
            members: Vec::new(),
        },
        endpoints: seeds.map(Endpoint::from).collect(),
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
        let reached: Vec<Address> = control
            .ways
            .iter()
            .map(|way| Address {
                host: way.host.clone(),
                port: way.port,
            })
            .collect();
        MongodbAccess {
            options: control.ways[0].clone(),
            routes: self.routes(&reached),
            seeds: match self.is_replica_set {
                true => reached,
                false => Vec::new(),
            },
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            read_preference: ReadPreference::Primary,
        }
    }

    /// Where measured connections reach the primary; `None` for a server of its own.
    fn primary(&self, control: &Control<Self>, measured: &[Endpoint]) -> Result<Option<Address>, RunError> {
        if !self.is_replica_set {
            return Ok(None);
        }
        let access = self.default_access(control);
        let primary = control.primary(&access)?;
        let index = access.seeds.iter().position(|seed| *seed == primary);
        let endpoint = index.and_then(|index| measured.get(index));
        Ok(Some(endpoint.map_or(primary, address)))
    }

    /// Where members of a private replica set are reached, by what they call each other; but for those that are reached by it.
    fn routes(&self, reached: &[Address]) -> Vec<(Address, Address)> {
        let routes = self.members.iter().cloned().zip(reached.iter().cloned());
        routes.filter(|(member, reached)| member != reached).collect()
    }

    /// Who connects to it besides ciphertax.
    fn others(&self, is_private: bool) -> Others {
        match (is_private, self.is_replica_set) {
            (true, false) => Others::None,
            // Private servers offer TLS and do not use it among themselves.
            (true, true) => Others::InPlaintext,
            (false, _) => Others::MayUseTls,
        }
    }
}

impl Database for MongoDb {
    const MADE: &'static str = "the database ciphertax";
    const PROGRAMS_READ: &'static str = "CIPHERTAX_URL";
    const COUNTERS_NEED: &'static str =
        "a user who may read the server's counters (one with the role clusterMonitor)";
    const SERVED_BY: ServedBy = ServedBy::Threads;

    type Access = MongodbAccess;

    fn of_private(server: &PrivateServer, among_themselves: &[Endpoint]) -> Self {
        let is_replica_set = server.replica_set().is_some();
        Self {
            is_replica_set,
            set_name: None,
            members: match is_replica_set {
                true => among_themselves.iter().map(address).collect(),
                false => Vec::new(),
            },
        }
    }

    fn state(&self) -> ServerState {
        let endpoint = |member: &Address| Endpoint::new(&member.host, member.port);
        ServerState {
            members: self
                .is_replica_set
                .then(|| self.members.iter().map(endpoint).collect()),
        }
    }

    fn elsewhere(own: Option<Self>, state: &ServerState) -> Self {
        let members = state.members.iter().flatten().map(address);
        Self {
            is_replica_set: state.members.is_some(),
            members: members.collect(),
            set_name: own.and_then(|own| own.set_name),
        }
    }

    fn claim(control: &mut Control<Self>) -> Result<(), RunError> {
        control.claim()
    }

    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>, RunError> {
        Ok(control.limit()?.into_iter().collect())
    }

    fn members(&self, control: &mut Control<Self>) -> Result<Option<Vec<Member>>, RunError> {
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
        // A write without a login is tried too, which the primary alone takes.
        let primary = self.primary(control, conditions.measured)?;
        let at_primary = |options: ConnectOptions| match primary.clone() {
            None => options,
            Some(Address { host, port }) => ConnectOptions {
                host,
                port,
                ..options
            },
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
        let measured: Vec<Address> = measured.iter().map(address).collect();
        MongodbAccess {
            options,
            routes: self.routes(&measured),
            seeds: match self.is_replica_set {
                true => measured,
                false => Vec::new(),
            },
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
        _key: Option<&MasterKey>,
        fields: Option<FieldEncryption>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, RunError> {
        let Some(table) = Contents::of(study, MongodbAccess::VOCABULARIES).usertable else {
            return Ok(false);
        };
        let of = table.record_count.into();
        progress(0, of);
        let access = self.default_access(control);
        control.prepare(&access, &table, fields.as_ref(), |records| progress(records, of))?;
        Ok(true)
    }

    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool, RunError> {
        match &contents.usertable {
            Some(table) => control.begin(&self.default_access(control), table),
            None => Ok(false),
        }
    }

    async fn load_part(
        reactor: &Rc<Reactor>,
        access: &MongodbAccess,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), DatasetError> {
        let Some(table) = &contents.usertable else {
            return Ok(());
        };
        let primary = access.primary(reactor).await?;
        dataset::load_part(reactor, &primary, table, part, progress).await
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

    fn prove_cells(
        &self,
        control: &Control<Self>,
        arm: &Arm,
        key: Option<&MasterKey>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>, RunError> {
        cells_proof::prove(control, &self.default_access(control), arm, key, server)
    }

    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint, RunError> {
        control.footprint()
    }

    fn refuse(study: &Study, cell: &Cell, _private: Option<&Entry>) -> Vec<String> {
        let mut refusals = environment::refuse(study, cell);
        refusals.extend(columns::refuse(study, cell, None));
        refusals.extend(fields::refuse(study, cell, |columns| {
            let is_text = columns.encoding == CellEncoding::Base64;
            is_text.then_some("cells are bytes here; take encoding = \"binary\"")
        }));
        refusals
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, ports: &[u16]) -> Vec<Address> {
        let address = |port: &u16| Address {
            host: host.to_owned(),
            port: *port,
        };
        ports.iter().map(address).collect()
    }

    #[test]
    fn members_are_routed_from_what_they_call_each_other_to_where_they_are_reached() {
        let set = |members: Vec<Address>| MongoDb {
            is_replica_set: true,
            set_name: None,
            members,
        };
        // Relays stand before members that call each other by where they listen.
        let (direct, relays) = (at("127.0.0.1", &[7000, 7001]), at("127.0.0.1", &[9000, 9001]));
        let by_relay = set(direct.clone());
        assert_eq!(by_relay.routes(&direct), []);
        assert_eq!(
            by_relay.routes(&relays),
            [
                (direct[0].clone(), relays[0].clone()),
                (direct[1].clone(), relays[1].clone())
            ]
        );
        // Inside a link they call each other by where it leads to them, and what is not measured goes past the distance.
        let delayed = at("10.0.0.2", &[7000, 7001]);
        let inside = set(delayed.clone());
        assert_eq!(inside.routes(&delayed), []);
        assert_eq!(
            inside.routes(&direct),
            [
                (delayed[0].clone(), direct[0].clone()),
                (delayed[1].clone(), direct[1].clone())
            ]
        );
        // Those of the user's own are reached by what they say.
        assert_eq!(set(Vec::new()).routes(&direct), []);
    }
}
