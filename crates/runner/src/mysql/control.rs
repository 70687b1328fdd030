//! The session for everything that is not measured: data set, variables, counters.

use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_model::Study;
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::{Protocol, WireError};
use ciphertax_workload::dataset::{self, Contents, DatasetError};
use ciphertax_workload::mysql;

use crate::connections::{Limit, too_many};
use crate::error::RunError;
use crate::patience::{unusable, wait_for};

const PATIENCE: Duration = Duration::from_secs(20);

/// Counters of a slice; all are cheap to read on every relative of MySQL.
const COUNTERS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Connections', 'Handler_read_key', \
     'Innodb_buffer_pool_read_requests', 'Innodb_buffer_pool_reads', 'Innodb_os_log_written', \
     'Innodb_row_lock_waits', 'Questions', 'Ssl_accepts', 'Ssl_finished_accepts', 'Uptime')";

/// A session of the calling thread.
pub(crate) struct Control {
    reactor: Rc<Reactor>,
    session: Session,
    server: String,
    /// Sessions that loaded and were given up, for which the server may still work.
    given_up: Vec<u32>,
}

/// How a server is reached for what is not measured.
pub(crate) struct Ways {
    /// The way that is taken.
    pub(crate) everyday: ConnectOptions,
    /// Ways over TLS, tried only to tell a server that demands TLS from a wrong password: to both, MariaDB and accounts that
    /// require TLS answer that access is denied.
    pub(crate) encrypted: Vec<ConnectOptions>,
}

impl Control {
    /// Connects. `url` is that of a target.
    ///
    /// # Errors
    /// Names the server, what went wrong, and the remedy.
    pub(crate) fn connect(server: &str, ways: &Ways, url: Option<&str>) -> Result<Self, RunError> {
        let options = &ways.everyday;
        let broken = |problem: String| RunError::Server {
            server: server.to_owned(),
            problem,
        };
        let reactor = Reactor::new().map_err(|error| broken(error.to_string()))?;
        let log_in =
            |options| reactor.run_one(Session::connect(&reactor, options), Instant::now() + PATIENCE);
        let demands_tls = || {
            let mut encrypted = ways.encrypted.iter();
            options.tls.is_none() && encrypted.any(|options| matches!(log_in(options), Ok(Some(Ok(_)))))
        };
        match log_in(options).map_err(|error| broken(error.to_string()))? {
            None => Err(broken(format!(
                "no answer within {} s; is it reachable from here?",
                PATIENCE.as_secs()
            ))),
            Some(Err(error)) if error.is_tls_demanded() || (error.is_access_denied() && demands_tls()) => {
                Err(broken(format!(
                    "it demands TLS of this user (require_secure_transport, or REQUIRE SSL of the account), and the study has a \
                     plain arm; {}",
                    instead(url)
                )))
            }
            Some(Err(error)) if error.is_access_denied() && options.password.expose().is_empty() => {
                Err(broken(format!(
                    "{error}; give the password in the environment variable CIPHERTAX_PASSWORD"
                )))
            }
            Some(Err(error)) => Err(broken(format!("{error}{}", error.remedy(Protocol::MySql)))),
            Some(Ok((session, _))) => Ok(Self {
                reactor,
                session,
                server: server.to_owned(),
                given_up: Vec::new(),
            }),
        }
    }

    /// Makes sure that no other ciphertax measures this server: the schema is for one at a time, and so is the server's CPU.
    /// The claim ends with the session.
    pub(crate) fn claim(&mut self) -> Result<(), RunError> {
        let rows = self.pairs("SELECT GET_LOCK('ciphertax', 0), IS_USED_LOCK('ciphertax')")?;
        match rows.first_key_value() {
            Some((granted, holder)) if granted == "0" => Err(RunError::Server {
                server: self.server.clone(),
                problem: format!(
                    "another ciphertax measures it, over the server's connection {holder}; wait for its end, or KILL \
                     that connection if it is left from a run that is gone"
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Makes sure that the run leaves connections to other clients.
    ///
    /// # Errors
    /// Says how many it opens, how many there are, and how to take fewer.
    pub(crate) fn leave_connections_to_others(&mut self, study: &Study) -> Result<(), RunError> {
        let mut limits = Vec::new();
        let numbers = |rows: BTreeMap<String, String>| rows.into_values().find_map(|text| text.parse().ok());
        let most = self.variables(&["max_connections"]).map(numbers);
        let open = self
            .pairs("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            .map(numbers);
        // A relative of MySQL that does not know one of these has no such limit.
        if let (Ok(Some(most)), Ok(Some(open))) = (most, open) {
            limits.push(Limit {
                name: "max_connections",
                most,
                open,
            });
        }
        limits.extend(self.limit_of_user().ok().flatten());
        match too_many(study, &limits) {
            None => Ok(()),
            Some(problem) => Err(unusable(&self.server, problem)),
        }
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

    /// Opens a session and closes it again.
    pub(crate) fn visit(&self, options: &ConnectOptions) -> Result<(), RunError> {
        let visit = async {
            let session = Session::connect(&self.reactor, options).await;
            session.map(drop).map_err(DatasetError::from)
        };
        finish(&self.reactor, &self.server, PATIENCE, visit)
    }

    /// The server's variables of these names.
    pub(crate) fn variables(&mut self, names: &[&str]) -> Result<BTreeMap<String, String>, RunError> {
        let list = names
            .iter()
            .map(|name| format!("'{name}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({list})");
        self.pairs(&sql)
    }

    /// The server's counters now; what is not a number is left out.
    pub(crate) fn counters(&mut self) -> Result<BTreeMap<String, i64>, RunError> {
        let pairs = self.pairs(COUNTERS)?;
        Ok(pairs
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect())
    }

    /// Makes sure that the schema's name is free or the schema ciphertax's own, and that the account may remove it: before
    /// anything is written.
    ///
    /// # Errors
    /// Names what is missing, and the statement that gives it.
    pub(crate) fn refuse_what_cannot_be_removed(&mut self) -> Result<(), RunError> {
        let Self {
            reactor,
            session,
            server,
            ..
        } = self;
        let look = async {
            dataset::refuse_foreign(session).await?;
            match mysql::refuse_without_drop(session).await {
                Err(DatasetError::Wire(error)) if error.is_access_denied() => {
                    let rows = session.query("SELECT CURRENT_USER()").await?;
                    let account = rows.first().map(|row| row.text(0)).unwrap_or_default();
                    Ok(Some((error, account)))
                }
                allowed => allowed.map(|()| None),
            }
        };
        match finish(reactor, server, PATIENCE, look)? {
            None => Ok(()),
            Some((error, account)) => Err(unusable(
                server,
                format!(
                    "{error}; ciphertax could not remove what it makes there, so it makes nothing; have its administrator \
                     run: {}",
                    grant(&account)
                ),
            )),
        }
    }

    /// Makes the data set, over sessions opened by `options`.
    pub(crate) fn prepare(
        &mut self,
        options: &ConnectOptions,
        contents: &Contents,
        progress: impl FnMut(u64),
    ) -> Result<(), RunError> {
        let mut opened = Vec::new();
        let prepare =
            dataset::prepare_contents::<Session>(&self.reactor, options, contents, &mut opened, progress);
        let prepared = wait_for(&self.reactor, &self.server, contents.patience(), prepare);
        if !matches!(prepared, Ok(Ok(()))) {
            self.given_up = opened;
        }
        match prepared? {
            Err(DatasetError::Wire(error)) if error.is_missing_right() => {
                let account = self.account()?;
                Err(unusable(
                    &self.server,
                    format!("{error}; have its administrator run: {}", grant(&account)),
                ))
            }
            outcome => told(&self.server, outcome),
        }
    }

    /// The account that the server takes the user for, written `user@host`.
    fn account(&mut self) -> Result<String, RunError> {
        let account = "SELECT CURRENT_USER(), ''";
        Ok(self.pairs(account)?.into_keys().next().unwrap_or_default())
    }

    /// Removes the data set if there is one, and tells whether there was. That takes a session of its own: this one may have
    /// been cut off in the middle of an answer, or ended by the server meanwhile.
    pub(crate) fn remove(&self, options: &ConnectOptions, patience: Duration) -> Result<bool, RunError> {
        let remove = async {
            let (mut session, _) = Session::connect(&self.reactor, options).await?;
            mysql::end_sessions(&mut session, &self.given_up).await?;
            let removed = dataset::remove(&mut session).await?;
            session.close().await?;
            Ok(removed)
        };
        wait_for(&self.reactor, &self.server, patience, remove)?.map_err(|error| match error {
            DatasetError::Wire(error) => unusable(&self.server, error.to_string()),
            error => error.into(),
        })
    }

    /// Runs a statement that answers nothing.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), RunError> {
        self.pairs(sql).map(|_| ())
    }

    /// The rows of a query with two columns.
    pub(crate) fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>, RunError> {
        let Self {
            reactor,
            session,
            server,
            ..
        } = self;
        let query = async { session.query(sql).await.map_err(DatasetError::from) };
        let rows = finish(reactor, server, PATIENCE, query)?;
        Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
    }
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

/// What can be measured on a server that demands TLS.
fn instead(url: Option<&str>) -> String {
    let url = url.unwrap_or("TARGET");
    format!(
        "compare TLS versions with each other: ciphertax run mysql-tls-versions '{url}', or take a study of your own without \
         a plain arm"
    )
}

fn finish<T>(
    reactor: &Reactor,
    server: &str,
    patience: Duration,
    task: impl Future<Output = Result<T, DatasetError>>,
) -> Result<T, RunError> {
    told(server, wait_for(reactor, server, patience, task)?)
}

/// The outcome of a task, whose errors name the server.
fn told<T>(server: &str, outcome: Result<T, DatasetError>) -> Result<T, RunError> {
    outcome.map_err(|error| match error {
        DatasetError::Wire(WireError::Server { .. }) => error.into(),
        DatasetError::Wire(error) => unusable(server, error.to_string()),
        error => error.into(),
    })
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
