//! What is asked of the servers over the control session.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ciphertax_lab::catalogue::Entry;
use ciphertax_model::YcsbTable;
use ciphertax_reactor::stop;
use ciphertax_wire::Address;
use ciphertax_wire::mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{ConnectOptions, Login, Role, Session, Topology};
use ciphertax_workload::dataset::{Contents, DatasetError};
use ciphertax_workload::mongodb::{DATABASE, MongodbAccess, dataset};
use ciphertax_workload::ycsb::FieldEncryption;

use super::clients::MongoDb;
use crate::connections::Limit;
use crate::database::{Control, Description, Endpoint, Member};
use crate::error::RunError;
use crate::patience::PATIENCE;

/// How long servers may take to remove a data set of any size.
const REMOVAL: Duration = Duration::from_secs(600);

/// How long the server may still count sessions that have been closed: those that found its primary.
const CLOSING: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Control<MongoDb> {
    /// Makes sure that no other ciphertax measures this server: the database is for one at a time, and so is the server's CPU.
    /// An account that may not see the sessions of other users is trusted to know of those.
    pub(super) fn claim(&mut self) -> Result<(), RunError> {
        let deadline = Instant::now() + CLOSING;
        while self.is_used_by_another()? {
            if stop::is_over(deadline) {
                return Err(self.unusable(
                    "another ciphertax measures it; wait for its end, or end the sessions that a run which is gone has left",
                ));
            }
            stop::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn is_used_by_another(&mut self) -> Result<bool, RunError> {
        let ask = |all_users: bool| {
            rawdoc! {
                "aggregate": 1_i32,
                "pipeline": [
                    { "$currentOp": { "allUsers": all_users, "idleConnections": true } },
                    { "$match": { "clientMetadata.driver.name": "ciphertax", "active": false } },
                    { "$limit": 1_i32 },
                ],
                "cursor": {},
                "$db": "admin",
            }
        };
        let mut answer = self.allowed(&ask(true))?;
        if answer.is_none() {
            // Its own user's sessions every account may see.
            answer = self.allowed(&ask(false))?;
        }
        let others = answer.as_ref().and_then(|answer| {
            let cursor = answer.get_document("cursor").ok()?;
            cursor.get_array("firstBatch").ok()
        });
        Ok(others.is_some_and(|batch| !batch.is_empty()))
    }

    /// Where the members of the replica set are, the primary first. The set must have this name if one is given.
    pub(super) fn members(&self, name: Option<&str>) -> Result<Vec<Member>, RunError> {
        let seeds: Vec<Address> = self.ways.iter().map(address).collect();
        let deadline = Instant::now() + PATIENCE / 2;
        let look = Topology::wait_for_primary(&self.reactor, &seeds, &self.ways[0], deadline);
        let topology = self.wait_for(PATIENCE, look)?.map_err(|error| {
            self.unusable(format!(
                "{error}; its members must be reached by the names they have in its configuration: for one server alone, add \
                 directConnection=true"
            ))
        })?;
        match (name, &topology.set_name) {
            (Some(name), Some(found)) if name != found => {
                return Err(self.unusable(format!(
                    "its replica set is named {found}; say replicaSet={found}"
                )));
            }
            (Some(_), None) => return Err(self.unusable("it is no replica set; leave replicaSet out")),
            _ => {}
        }
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
        Ok(members.collect())
    }

    /// Which server takes writes.
    pub(super) fn primary(&self, access: &MongodbAccess) -> Result<Address, RunError> {
        let primary = self.wait_for(PATIENCE, access.primary(&self.reactor))?;
        let primary = primary.map_err(|failure| self.unusable(failure.message()))?;
        Ok(address(&primary))
    }

    /// Makes sure that nobody else has a database of ciphertax's name, and that the account may remove one: before anything is
    /// written.
    pub(super) fn refuse_what_cannot_be_removed(&self, access: &MongodbAccess) -> Result<(), RunError> {
        let look = async {
            let primary = access.primary(&self.reactor).await?;
            let (mut session, _) = Session::connect(&self.reactor, &primary).await?;
            let mut found = dataset::refuse_foreign(&mut session).await;
            if found.is_ok() {
                found = dataset::refuse_without_drop(&mut session).await;
            }
            let _ = session.close().await;
            found
        };
        match self.wait_for(PATIENCE, look)? {
            Err(DatasetError::Wire(error)) if error.is_access_denied() => {
                Err(self.unusable(format!("{error}; {}", grant(&access.options.login))))
            }
            found => found.map_err(|error| self.of_dataset(error)),
        }
    }

    /// Removes the data set if there is one, and tells whether there was.
    pub(super) fn remove(&self, access: &MongodbAccess) -> Result<bool, RunError> {
        let remove = async {
            let primary = access.primary(&self.reactor).await?;
            let (mut session, _) = Session::connect(&self.reactor, &primary).await?;
            dataset::remove(&mut session).await
        };
        let removed = self.wait_for(REMOVAL, remove)?;
        removed.map_err(|error| self.of_removal(error))
    }

    /// Has YCSB's table there, and tells whether it holds nothing; false as well where something is wrong.
    pub(super) fn begin(&self, access: &MongodbAccess, table: &YcsbTable) -> Result<bool, RunError> {
        let begin = async {
            let primary = access.primary(&self.reactor).await?;
            dataset::begin(&self.reactor, &primary, table).await
        };
        Ok(self.wait_for(PATIENCE, begin)?.unwrap_or(false))
    }

    /// Makes YCSB's table, and waits until all members have it.
    pub(super) fn prepare(
        &self,
        access: &MongodbAccess,
        table: &YcsbTable,
        fields: Option<&FieldEncryption>,
        progress: impl FnMut(u64),
    ) -> Result<(), RunError> {
        let reactor = &self.reactor;
        let prepare = async {
            let primary = access.primary(reactor).await?;
            dataset::prepare(reactor, &primary, table, fields, progress).await?;
            let members = access.member_count(reactor).await?;
            let (mut session, _) = Session::connect(reactor, &primary).await?;
            dataset::wait_for_members(&mut session, members).await
        };
        let prepared = self.wait_for(Contents::from(*table).patience(), prepare)?;
        prepared.map_err(|error| match error {
            DatasetError::Wire(error) if error.is_missing_right() => {
                self.unusable(format!("{error}; {}", grant(&access.options.login)))
            }
            error => self.of_dataset(error),
        })
    }

    /// The limit on connections, as far as the account may see how many there are.
    pub(super) fn limit(&mut self) -> Result<Option<Limit>, RunError> {
        let Some(status) = self.allowed(&server_status())? else {
            return Ok(None);
        };
        let number = |name| number(&status, &["connections", name])?.try_into().ok();
        let (Some(open), Some(available)): (Option<u64>, Option<u64>) =
            (number("current"), number("available"))
        else {
            return Ok(None);
        };
        Ok(Some(Limit {
            name: "maxIncomingConnections",
            most: open + available,
            open,
        }))
    }

    /// Which server it is, and what matters of its settings by its own names, as far as the account may see them.
    pub(super) fn describe(&mut self, private: Option<&Entry>) -> Result<Description, RunError> {
        let build = rawdoc! { "buildInfo": 1_i32, "$db": "admin" };
        let build = self.ask(async |session| session.command(&build).await)?;
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
                None => self.settings()?,
            },
        })
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, RunError> {
        let mut settings = BTreeMap::new();
        let Some(status) = self.allowed(&server_status())? else {
            return Ok(settings);
        };
        let engine = status
            .get_document("storageEngine")
            .and_then(|engine| engine.get_str("name"));
        settings.extend(engine.map(|engine| ("storageEngine".to_owned(), engine.to_owned())));
        let cache = number(&status, &["wiredTiger", "cache", "maximum bytes configured"]);
        settings.extend(cache.map(|bytes| {
            let gib = bytes as f64 / f64::from(1 << 30);
            ("wiredTigerCacheSizeGB".to_owned(), gib.to_string())
        }));
        Ok(settings)
    }

    /// The answer to a command; `None` if the account may not ask it.
    pub(super) fn allowed(&mut self, command: &RawDocument) -> Result<Option<RawDocumentBuf>, RunError> {
        self.ask(async |session| match session.command(command).await {
            Err(error) if error.is_access_denied() => Ok(None),
            answer => answer.map(Some),
        })
    }
}

/// What gives a user the rights that a run needs.
fn grant(login: &Login) -> String {
    match login {
        Login::Scram(account) => {
            let [source, user] =
                [&account.source, &account.user].map(|name| name.replace('\\', "\\\\").replace('"', "\\\""));
            format!(
                "have its administrator run: db.getSiblingDB(\"{source}\").grantRolesToUser(\"{user}\", [{{ role: \"dbOwner\", \
                 db: \"{}\" }}])",
                DATABASE
            )
        }
        _ => "name a user in the URL, and give its password in CIPHERTAX_PASSWORD".into(),
    }
}

pub(super) fn server_status() -> RawDocumentBuf {
    rawdoc! {
        "serverStatus": 1_i32, "metrics": 0_i32, "repl": 0_i32, "tcmalloc": 0_i32, "$db": "admin",
    }
}

fn address(options: &ConnectOptions) -> Address {
    Address {
        host: options.host.clone(),
        port: options.port,
    }
}

pub(super) fn number(document: &RawDocument, path: &[&str]) -> Option<i64> {
    let (last, above) = path.split_last()?;
    let mut found = document;
    for name in above {
        found = found.get_document(name).ok()?;
    }
    match found.get(last).ok()?? {
        RawBsonRef::Int32(value) => Some(value.into()),
        RawBsonRef::Int64(value) => Some(value),
        RawBsonRef::Double(value) => Some(value as i64),
        _ => None,
    }
}
