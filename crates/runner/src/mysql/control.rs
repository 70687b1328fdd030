//! What is asked of a server over its control session.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_lab::catalogue::Entry;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_workload::dataset::{self, Contents, DatasetError};
use ciphertax_workload::mysql;

use super::clients::MySql;
use super::product::product;
use crate::connections::Limit;
use crate::database::{Control, Description};
use crate::error::RunError;
use crate::patience::PATIENCE;

/// Variables of a server whose value matters to what is measured.
const SETTINGS: [&str; 5] = [
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "max_connections",
    "thread_handling",
    "tls_version",
];

/// Variables that tell which server it is.
const VERSION: &str = "version";
const VERSION_COMMENT: &str = "version_comment";
const TLS_LIBRARY: &str = "version_ssl_library";

impl Control<MySql> {
    /// Makes sure that no other ciphertax measures this server: the schema is for one at a time, and so is the server's CPU.
    /// The claim ends with the session. A node of Galera has no such locks: there those are seen that ask its schema.
    pub(super) fn claim(&mut self) -> Result<(), RunError> {
        let lock = "SELECT GET_LOCK('ciphertax', 0), IS_USED_LOCK('ciphertax')";
        let rows = self.ask(async |session| match session.query(lock).await {
            Err(error) if error.is_not_supported() => {
                let others = format!(
                    "SELECT 0, ID FROM information_schema.PROCESSLIST WHERE DB = '{}' AND ID <> CONNECTION_ID()",
                    dataset::SCHEMA
                );
                session.query(&others).await
            }
            rows => rows,
        })?;
        match rows.first() {
            Some(row) if row.text(0) == "0" => Err(self.unusable(format!(
                "another ciphertax measures it, over the server's connection {}; wait for its end, or KILL that connection if it \
                 is left from a run that is gone",
                row.text(1)
            ))),
            _ => Ok(()),
        }
    }

    /// The limits on connections. A compatible server that does not know one of the questions has no such limit.
    pub(super) fn limits(&mut self) -> Vec<Limit> {
        let numbers = |rows: BTreeMap<String, String>| rows.into_values().find_map(|text| text.parse().ok());
        let most = self.variables(&["max_connections"]).map(numbers);
        let open = self
            .pairs("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            .map(numbers);
        let mut limits = Vec::new();
        if let (Ok(Some(most)), Ok(Some(open))) = (most, open) {
            limits.push(Limit {
                name: "max_connections",
                most,
                open,
            });
        }
        limits.extend(self.limit_of_user().ok().flatten());
        limits
    }

    /// The limit that the server or the account sets to the connections of a user; `None` for none.
    fn limit_of_user(&mut self) -> Result<Option<Limit>, RunError> {
        let rows = self.pairs("SELECT @@SESSION.max_user_connections, SUBSTRING_INDEX(USER(), '@', 1)")?;
        let Some((most, user)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let most = most.parse().unwrap_or(0);
        // By number; whoever may not see those of others sees the user's own.
        let sessions = self.pairs("SHOW PROCESSLIST")?;
        let open = sessions.into_values().filter(|other| *other == user).count() as u64;
        Ok((most > 0).then_some(Limit {
            name: "max_user_connections",
            most,
            open,
        }))
    }

    /// Which server it is, by its own words. `private` is its entry in the catalogue, which knows the TLS library of a server
    /// that does not say it.
    pub(super) fn describe(&mut self, private: Option<&Entry>) -> Result<Description, RunError> {
        let identity = [VERSION, VERSION_COMMENT, TLS_LIBRARY];
        let names: Vec<&str> = identity.into_iter().chain(SETTINGS).collect();
        let mut variables = self.variables(&names)?;
        let mut taken = |name: &str| variables.remove(name).unwrap_or_default();
        let (version, comment) = (taken(VERSION), taken(VERSION_COMMENT));
        let tls_library = match (taken(TLS_LIBRARY), private) {
            (unsaid, Some(entry)) if unsaid.is_empty() => entry.tls_library.to_owned(),
            (said, _) => said,
        };
        Ok(Description {
            product: product(&version, &comment).to_owned(),
            version,
            tls_library,
            settings: variables,
        })
    }

    /// The server's variables of these names.
    pub(super) fn variables(&mut self, names: &[&str]) -> Result<BTreeMap<String, String>, RunError> {
        let list = names
            .iter()
            .map(|name| format!("'{name}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({list})");
        self.pairs(&sql)
    }

    /// Makes sure that the schema's name is free or the schema ciphertax's own, and that the account may remove it: before
    /// anything is written.
    ///
    /// # Errors
    /// Names what is missing, and the statement that gives it.
    pub(super) fn refuse_what_cannot_be_removed(&mut self) -> Result<(), RunError> {
        let refused = self.ask_dataset(PATIENCE, async |session| {
            dataset::refuse_foreign(session).await?;
            match mysql::refuse_without_drop(session).await {
                Err(DatasetError::Wire(error)) if error.is_access_denied() => Ok(Some(error)),
                allowed => allowed.map(|()| None),
            }
        })?;
        let Some(error) = refused else { return Ok(()) };
        let account = self.account()?;
        Err(self.unusable(format!(
            "{error}; ciphertax could not remove what it makes there, so it makes nothing; have its administrator run: {}",
            grant(&account)
        )))
    }

    /// Has the tables there, and tells whether they hold nothing; false as well where something is wrong.
    pub(super) fn begin(&mut self, contents: &Contents) -> Result<bool, RunError> {
        let begun = dataset::begin::<Session>(&self.reactor, &self.ways[0], contents);
        Ok(self.wait_for(contents.patience(), begun)?.unwrap_or(false))
    }

    /// Makes the data set, over sessions of its own. `given_up` gets the numbers of those for which the server may still work
    /// after a failure.
    pub(super) fn prepare(
        &mut self,
        contents: &Contents,
        given_up: &mut Vec<u32>,
        progress: impl FnMut(u64),
    ) -> Result<(), RunError> {
        let mut opened = Vec::new();
        let prepare = dataset::prepare_contents::<Session>(
            &self.reactor,
            &self.ways[0],
            contents,
            &mut opened,
            progress,
        );
        let prepared = self.wait_for(contents.patience(), prepare);
        if !matches!(prepared, Ok(Ok(()))) {
            *given_up = opened;
        }
        match prepared? {
            Err(DatasetError::Wire(error)) if error.is_missing_right() => {
                let account = self.account()?;
                Err(self.unusable(format!(
                    "{error}; have its administrator run: {}",
                    grant(&account)
                )))
            }
            outcome => outcome.map_err(|error| self.of_dataset(error)),
        }
    }

    /// The account that the server takes the user for, written `user@host`.
    fn account(&mut self) -> Result<String, RunError> {
        let account = "SELECT CURRENT_USER(), ''";
        Ok(self.pairs(account)?.into_keys().next().unwrap_or_default())
    }

    /// Removes the data set if there is one, and tells whether there was. That takes a session of its own: this one may have
    /// been cut off in the middle of an answer, or ended by the server meanwhile.
    pub(super) fn remove(&self, given_up: &[u32], patience: Duration) -> Result<bool, RunError> {
        let remove = async {
            let (mut session, _) = Session::connect(&self.reactor, &self.ways[0]).await?;
            mysql::end_sessions(&mut session, given_up).await?;
            let removed = dataset::remove(&mut session).await?;
            session.close().await?;
            Ok(removed)
        };
        let removed = self.wait_for(patience, remove)?;
        removed.map_err(|error| self.of_removal(error))
    }

    /// Runs a statement that answers nothing.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), RunError> {
        self.pairs(sql).map(|_| ())
    }

    /// The rows of a query with two columns.
    pub(super) fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>, RunError> {
        self.ask(async |session| pairs(session, sql).await)
    }
}

/// The rows of a query with two columns.
pub(super) async fn pairs(session: &mut Session, sql: &str) -> Result<BTreeMap<String, String>, WireError> {
    let rows = session.query(sql).await?;
    Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
}

/// The statement that gives an account, written `user@host`, all it needs.
fn grant(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    let quoted = |name: &str| format!("'{}'", name.replace('\'', "''"));
    format!(
        "GRANT ALL ON {}.* TO {}@{}",
        dataset::SCHEMA,
        quoted(user),
        quoted(host)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_an_account_as_servers_write_it() {
        assert_eq!(grant("app@%"), "GRANT ALL ON ciphertax.* TO 'app'@'%'");
        assert_eq!(
            grant("o'neil@home@db.example"),
            "GRANT ALL ON ciphertax.* TO 'o''neil@home'@'db.example'"
        );
    }
}
