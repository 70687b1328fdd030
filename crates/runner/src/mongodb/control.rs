//! What is asked of the servers over the control session.

use std::collections::BTreeMap;

use ciphertax_wire::Address;
use ciphertax_wire::mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use ciphertax_wire::mongodb::bson::rawdoc;
use ciphertax_wire::mongodb::{ConnectOptions, Login};
use ciphertax_workload::mongodb::{DATABASE, MongodbAccess};

use super::clients::MongoDb;
use crate::database::Control;
use crate::error::Result;
use crate::timeout::TIMEOUT;

impl Control<MongoDb> {
    /// True if another ciphertax has a session there.
    pub(super) fn is_used_by_another(&mut self) -> Result<bool> {
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

    /// How the server is reached that takes writes.
    pub(super) fn primary(&self, access: &MongodbAccess) -> Result<ConnectOptions> {
        let primary = self.wait_for(TIMEOUT, access.primary(&self.reactor))?;
        primary.map_err(|failure| self.unusable(failure.message()))
    }

    pub(super) fn settings(&mut self) -> Result<BTreeMap<String, String>> {
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
    pub(super) fn allowed(&mut self, command: &RawDocument) -> Result<Option<RawDocumentBuf>> {
        self.ask(async |session| match session.command(command).await {
            Err(error) if error.is_access_denied() => Ok(None),
            answer => answer.map(Some),
        })
    }
}

/// What gives a user the rights that a run needs.
pub(super) fn grant(login: &Login) -> String {
    match login {
        Login::Scram(account) => {
            let role = if DATABASE.is_given() {
                "readWrite"
            } else {
                "dbOwner"
            };
            let [source, user] =
                [&account.source, &account.user].map(|name| name.replace('\\', "\\\\").replace('"', "\\\""));
            format!(
                "have its administrator run: db.getSiblingDB(\"{source}\").grantRolesToUser(\"{user}\", [{{ role: \"{role}\", \
                 db: \"{DATABASE}\" }}])"
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

pub(super) fn address_of(options: &ConnectOptions) -> Address {
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
