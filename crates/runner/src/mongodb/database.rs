//! What ciphertax does on a MongoDB, or on the servers of a replica set.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ciphertax_lab::Proved;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mongodb::{self as lab, prove};
use ciphertax_model::{ReadPreference, Transport};
use ciphertax_reactor::stop;
use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_wire::mongodb::{ConnectOptions, Identity, Login, Others, Role, Session, Topology};
use ciphertax_wire::{Address, Expectation, MongoDbTarget, Session as _, Target, WireError};
use ciphertax_workload::dataset::{Contents, DatasetError};
use ciphertax_workload::mongodb::{DATABASE, MongodbAccess, dataset};

use super::clients::MongoDb;
use super::control::{address_of, grant, number, server_status};
use super::counters;
use crate::connections::{Limit, Limited};
use crate::database::{Conditions, Control, Database, Description, Endpoint, Member};
use crate::error::{Result, RunError};
use crate::footprint::{Footprint, TableSize};
use crate::meter::ServedBy;
use crate::server::TargetServers;
use crate::timeout::TIMEOUT;

/// How long the server may still count sessions that have been closed: those that found its primary.
const CLOSING: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The only collection that workloads ask.
const COLLECTION: &str = "usertable";

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
        cipher: None,
        patience: TIMEOUT,
        needs_tls: target.login == Login::X509,
        display: target.to_string(),
        url: Target::MongoDb(target.clone()).url(),
    }
}

impl MongoDb {
    /// How the primary is found and reached for what is not measured.
    pub(super) fn default_access(&self, control: &Control<Self>) -> MongodbAccess {
        let reached: Vec<Address> = control.ways.iter().map(address_of).collect();
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

    /// Where measured connections reach the primary, and who answers there; `None` for a server of its own.
    fn primary(&self, control: &Control<Self>, measured: &[Endpoint]) -> Result<Option<(Address, Identity)>> {
        if !self.is_replica_set {
            return Ok(None);
        }
        let access = self.default_access(control);
        let options = control.primary(&access)?;
        let primary = address_of(&options);
        let index = access.seeds.iter().position(|seed| *seed == primary);
        let endpoint = index.and_then(|index| measured.get(index));
        Ok(Some((endpoint.map_or(primary, address), options.identity)))
    }

    /// Where members of a private replica set are reached, by what they call each other; but for those that are reached by it.
    pub(super) fn routes(&self, reached: &[Address]) -> Vec<(Address, Address)> {
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
    const SERVED_BY: ServedBy = ServedBy::Threads;
    const COUNTERS_NEED: &'static str =
        "a user who may read the server's counters (one with the role clusterMonitor)";

    /// An account that may not see the sessions of other users is trusted to know of those.
    fn claim(control: &mut Control<Self>) -> Result<()> {
        let deadline = Instant::now() + CLOSING;
        while control.is_used_by_another()? {
            if stop::is_over(deadline) {
                return Err(control.unusable(
                    "another ciphertax measures it; wait for its end, or end the sessions that a run which is gone has left",
                ));
            }
            stop::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// As far as the account may see how many connections there are.
    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>> {
        let Some(status) = control.allowed(&server_status())? else {
            return Ok(Vec::new());
        };
        let number = |name| number(&status, &["connections", name])?.try_into().ok();
        let (Some(open), Some(available)): (Option<u64>, Option<u64>) =
            (number("current"), number("available"))
        else {
            return Ok(Vec::new());
        };
        Ok(vec![Limit {
            name: "maxIncomingConnections",
            of: Limited::Connections,
            most: open + available,
            open,
        }])
    }

    /// The set must have the name that is given, and whoever answers by a member's name must be that member.
    fn members(&mut self, control: &mut Control<Self>) -> Result<Option<Vec<Member>>> {
        if !self.is_replica_set {
            return Ok(None);
        }
        let seeds: Vec<Address> = control.ways.iter().map(address_of).collect();
        let deadline = Instant::now() + TIMEOUT / 2;
        let look = Topology::wait_for_primary(&control.reactor, &seeds, &control.ways[0], deadline);
        let with_remedy = |error| {
            control.unusable(format!(
                "{error}; the members of a set must be reached by the names they have in its configuration: for one server alone, add \
                 directConnection=true"
            ))
        };
        let mut topology = control.wait_for(TIMEOUT, look)?.map_err(with_remedy)?;
        if let Some(stranger) = topology.strangers.pop() {
            return Err(with_remedy(stranger));
        }
        self.set_name = topology.set_name;
        self.members = topology
            .members
            .iter()
            .map(|member| member.address.clone())
            .collect();
        let mut members: Vec<_> = topology.members.iter().collect();
        members.sort_by_key(|member| member.role != Role::Primary);
        let members = members.into_iter().map(|member| Member {
            endpoint: Endpoint::from(&member.address),
            role: match member.role {
                Role::Primary => "PRIMARY",
                Role::Secondary => "SECONDARY",
                Role::Neither => "neither primary nor secondary",
            }
            .to_owned(),
            answers: true,
        });
        Ok(Some(members.collect()))
    }

    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>, _contents: &Contents) -> Result<()> {
        let access = self.default_access(control);
        let look = async {
            let primary = access.primary(&control.reactor).await?;
            let (mut session, _) = Session::connect(&control.reactor, &primary).await?;
            let mut found = dataset::refuse_foreign(&mut session).await;
            if found.is_ok() {
                found = dataset::refuse_without_drop(&mut session).await;
            }
            let _ = session.close().await;
            found
        };
        match control.wait_for(TIMEOUT, look)? {
            Err(DatasetError::Wire(error)) if error.is_access_denied() => {
                Err(self.of_missing_right(control, error))
            }
            found => found.map_err(|error| control.of_dataset(error)),
        }
    }

    /// As far as the account may see what matters.
    fn describe(&self, control: &mut Control<Self>, private: Option<&Entry>) -> Result<Description> {
        let build = rawdoc! { "buildInfo": 1_i32, "$db": "admin" };
        let build = control.ask(async |session| session.command(&build).await)?;
        let openssl = build
            .get_document("openssl")
            .and_then(|openssl| openssl.get_str("running"));
        let own = openssl.unwrap_or_default();
        Ok(Description {
            product: "MongoDB".into(),
            version: build.get_str("version").unwrap_or_default().to_owned(),
            tls_library: private.map_or(own, |entry| entry.tls_library).to_owned(),
            settings: match private {
                Some(_) => BTreeMap::new(),
                None => control.settings()?,
            },
        })
    }

    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &ConnectOptions,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved> {
        // A write without a login is tried too, which the primary alone takes.
        let primary = self.primary(control, conditions.measured)?;
        let at_primary = |options: ConnectOptions| match primary.clone() {
            None => options,
            Some((Address { host, port }, identity)) => ConnectOptions {
                host,
                port,
                identity,
                ..options
            },
        };
        let unknown_client = conditions.unknown_client.map(at_primary);
        let by = lab::Conditions {
            others: self.others(conditions.is_private),
            unknown_client: unknown_client.as_ref(),
        };
        let options = at_primary(options.clone());
        Ok(prove(arm, &options, expectation, conditions.wrong_logins, by)?)
    }

    /// In memory the collection is as it is, on the disk as the server has compressed it.
    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint> {
        // What is not on the disk yet has no size there.
        let flush = rawdoc! { "fsync": 1_i32, "$db": "admin" };
        let sizes = rawdoc! {
            "collStats": COLLECTION,
            "$db": &*DATABASE,
            "$readPreference": { "mode": "secondaryPreferred" },
        };
        let (sizes, status) = control.ask(async |session| {
            session.command(&flush).await?;
            let sizes = match session.command(&sizes).await {
                // There is no collection, since no cell asks it.
                Err(error) if error.is_refusal() => RawDocumentBuf::new(),
                sizes => sizes?,
            };
            Ok((sizes, session.command(&server_status()).await?))
        })?;
        let bytes = |name| {
            number(&sizes, &[name])
                .and_then(|bytes| u64::try_from(bytes).ok())
                .unwrap_or(0)
        };
        let size = TableSize {
            data_bytes: bytes("size") + bytes("totalIndexSize"),
            disk_bytes: bytes("storageSize") + bytes("totalIndexSize"),
        };
        let memory = number(&status, &["wiredTiger", "cache", "maximum bytes configured"]);
        Ok(Footprint {
            tables: [(COLLECTION.to_owned(), size)].into(),
            memory_bytes: memory.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
        })
    }

    /// Those that the account may not see are left out; of a replica set all are, since they are those of one member, and after
    /// a failover of another.
    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>> {
        let ask = server_status();
        let answer = match control.allowed(&ask) {
            Ok(answer) => answer,
            // A member that was killed, or hung up as primaries do that step down.
            Err(_) => {
                control.reconnect()?;
                control.allowed(&ask)?
            }
        };
        let Some(answer) = answer.filter(|_| !self.is_replica_set) else {
            return Ok(BTreeMap::new());
        };
        Ok(counters::named(&answer))
    }

    /// On the primary.
    fn remove_by(
        &self,
        control: &Control<Self>,
        patience: Duration,
        remove: impl AsyncFn(&mut Session) -> Result<bool, DatasetError>,
    ) -> Result<bool> {
        let access = self.default_access(control);
        let removing = async {
            let primary = access.primary(&control.reactor).await?;
            let (mut session, _) = Session::connect(&control.reactor, &primary).await?;
            remove(&mut session).await
        };
        let removed = control.wait_for(patience, removing)?;
        removed.map_err(|error| control.of_removal(error))
    }

    fn of_missing_right(&self, control: &mut Control<Self>, error: WireError) -> RunError {
        control.unusable(format!("{error}; {}", grant(&control.ways[0].login)))
    }
}

pub(super) fn address(endpoint: &Endpoint) -> Address {
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
        let direct = at("127.0.0.1", &[7000, 7001]);
        assert_eq!(set(direct.clone()).routes(&direct), []);
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
