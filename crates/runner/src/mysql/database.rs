//! What ciphertax does on MySQL and servers that are compatible with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ciphertax_columns::MasterKey;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::mysql::{keys_are_wanted, prove};
use ciphertax_lab::pooler::RunningPooler;
use ciphertax_lab::{PrivateServer, Proved};
use ciphertax_model::{Arm, AuthenticationMethod};
use ciphertax_wire::mysql::{ColdAccounts, ConnectOptions, KeyFile, Session, TextRow, TrustedKeys};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::tls::{TlsPolicy, Verification};
use ciphertax_wire::{Expectation, MySqlTarget, PublicKey, Session as _, Target, WireError};
use ciphertax_workload::dataset::{self, CellsProof, Contents, DatasetError, SCHEMA};
use ciphertax_workload::mysql;

use super::clients::{Keys, Login, MySql, is_cold};
use super::control::remedy;
use super::counters;
use super::encdb::Encdb;
use super::members::{product, standing};
use super::variable::VARIABLES;
use crate::connections::{Limit, Limited};
use crate::database::{Conditions, Control, Database, Description, Endpoint, Member, Variables};
use crate::error::{Result, RunError};
use crate::footprint::{Footprint, TableSize};
use crate::meter::ServedBy;
use crate::server::TargetServers;
use crate::servers_to_play::EncdbAccount;
use crate::timeout::TIMEOUT;

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

/// Asks which view, by its name on this server, knows the files of tables: none before MariaDB 10.1 and MySQL 5.7.
const VIEW: &str = "SELECT table_name, '' FROM information_schema.columns WHERE table_schema = 'information_schema' \
     AND table_name IN ('INNODB_TABLESPACES', 'INNODB_SYS_TABLESPACES') AND column_name = 'ALLOCATED_SIZE'";

/// Logins of a slice at most. A full login costs the server some milliseconds (5,000 rounds of SHA-256), so this is more
/// than a second's work of several cores.
pub(crate) const COLD_LOGINS: usize = 1000;

/// The user's own server.
pub(crate) fn mysql_target(target: &MySqlTarget) -> TargetServers<MySql> {
    TargetServers {
        database: MySql::default(),
        endpoints: Endpoint::of_target(
            Endpoint {
                socket: target.socket.clone(),
                ..Endpoint::new(&target.host, target.port)
            },
            &target.others,
        ),
        login: Login {
            user: target.user.clone(),
            password: target.password.clone(),
            schema: target.schema.clone(),
            keys: match (&target.public_key, &target.verification) {
                (Some(PublicKey::Anybodys), _) => Keys::These(TrustedKeys::Anybody),
                (Some(PublicKey::File(file)), _) => {
                    Keys::These(TrustedKeys::File(KeyFile::read(file.clone()).into()))
                }
                (None, Verification::None) => Keys::ThisMachine,
                (None, verification) => {
                    let policy = TlsPolicy {
                        client_certificate: target.client_certificate.clone(),
                        ..TlsPolicy::new(None, verification.clone())
                    };
                    Keys::OverTls(policy.or_cipher(target.cipher.as_ref()).into())
                }
            },
        },
        verification: target.verification.clone(),
        client_certificate: target.client_certificate.clone(),
        cipher: target.cipher.clone(),
        patience: TIMEOUT,
        needs_tls: false,
        display: target.to_string(),
        url: Target::MySql(target.clone()).url(),
    }
}

/// The same, whose results are encrypted for an account by this master key.
pub(crate) fn encdb_target(
    target: &MySqlTarget,
    account: &EncdbAccount,
    key: MasterKey,
) -> TargetServers<MySql> {
    TargetServers {
        database: MySql {
            encdb: Some(Encdb::new(account, key)),
            ..MySql::default()
        },
        ..mysql_target(target)
    }
}

impl Database for MySql {
    const SERVED_BY: ServedBy = ServedBy::Threads;
    const COUNTERS_NEED: &'static str = "a user who may read the server's counters";
    const CELLS_PROOF: Option<CellsProof> = Some(CellsProof {
        hexadecimal: ["HEX(", ")"],
        log: [
            Some("SET GLOBAL general_log = ON"),
            Some("SET GLOBAL general_log = OFF"),
        ],
        flush: |table| {
            vec![
                format!("FLUSH TABLES {table} FOR EXPORT"),
                "UNLOCK TABLES".to_owned(),
            ]
        },
    });
    const VARIABLES: Option<Variables<Self>> = Some(VARIABLES);

    /// By a lock. A node of Galera has none: there those are seen that ask its schema.
    fn claim(control: &mut Control<Self>) -> Result<()> {
        let lock = "SELECT GET_LOCK('ciphertax', 0), IS_USED_LOCK('ciphertax')";
        let rows = control.ask(async |session| match session.query(lock).await {
            Err(error) if error.is_not_supported() && !SCHEMA.is_given() => {
                let others = format!(
                    "SELECT 0, ID FROM information_schema.PROCESSLIST WHERE DB = '{}' AND ID <> CONNECTION_ID()",
                    dataset::SCHEMA
                );
                session.query(&others).await
            }
            rows => rows,
        })?;
        match rows.first() {
            Some(row) if row.text(0) == "0" => Err(control.unusable(format!(
                "another ciphertax measures it, over the server's connection {}; wait for its end, or KILL that connection if it \
                 is left from a run that is gone",
                row.text(1)
            ))),
            _ => Ok(()),
        }
    }

    /// A compatible server that does not know one of the questions has no such limit.
    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>> {
        let numbers = |rows: BTreeMap<String, String>| rows.into_values().find_map(|text| text.parse().ok());
        let mut limit = |of, name, status| {
            let most = control.variables(&[name]).map(numbers).ok()??;
            let open = format!("SHOW GLOBAL STATUS LIKE '{status}'");
            let open = control.pairs(&open).map(numbers).ok()??;
            Some(Limit { name, of, most, open })
        };
        let connections = limit(Limited::Connections, "max_connections", "Threads_connected");
        let statements = limit(
            Limited::Statements,
            "max_prepared_stmt_count",
            "Prepared_stmt_count",
        );
        let of_user = control.limit_of_user().ok().flatten();
        Ok([connections, of_user, statements].into_iter().flatten().collect())
    }

    fn members(&mut self, control: &mut Control<Self>) -> Result<Option<Vec<Member>>> {
        control.members_by(standing)
    }

    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>, contents: &Contents) -> Result<()> {
        control.refuse_settings()?;
        let refused = control.ask_dataset(TIMEOUT, async |session| {
            dataset::refuse_foreign(session, contents).await?;
            match mysql::refuse_without_drop(session).await {
                Err(DatasetError::Wire(error)) if error.is_access_denied() => Ok(Some(error)),
                allowed => allowed.map(|()| None),
            }
        })?;
        let Some(error) = refused else { return Ok(()) };
        let account = control.account()?;
        Err(control.unusable(format!(
            "{error}; ciphertax could not remove what it makes there, so it makes nothing; {}",
            remedy(&account)
        )))
    }

    fn set_up(&mut self, control: &mut Control<Self>, server: &PrivateServer, arms: &[&Arm]) -> Result<bool> {
        if self.forget_passwords.is_some() && arms.iter().copied().any(is_cold) {
            self.cold_accounts = cold_accounts(control, server)?;
        }
        Ok(self.cold_accounts.is_some())
    }

    /// By its own words. The catalogue knows the TLS library of a server that does not say it.
    fn describe(&self, control: &mut Control<Self>, private: Option<&Entry>) -> Result<Description> {
        let identity = [VERSION, VERSION_COMMENT, TLS_LIBRARY];
        let names: Vec<&str> = identity.into_iter().chain(SETTINGS).collect();
        let mut variables = control.variables(&names)?;
        let mut taken = |name: &str| variables.remove(name).unwrap_or_default();
        let (version, comment) = (taken(VERSION), taken(VERSION_COMMENT));
        let tls_library = match (taken(TLS_LIBRARY), private) {
            (unsaid, Some(entry)) if unsaid.is_empty() => entry.tls_library.to_owned(),
            (said, _) => said,
        };
        let wants_keys = match Session::DIALECT.wanted_key {
            Some([question, _]) => control.ask(async |session| session.query_or_none(question).await)?,
            None => Vec::new(),
        };
        let said = |row: &TextRow| (row.text(0), keys_are_wanted(&row.text(1)));
        variables.extend(wants_keys.iter().map(said));
        Ok(Description {
            product: product(&version, &comment).to_owned(),
            version,
            tls_library,
            settings: variables,
        })
    }

    fn refuse_account_that_ends(control: &mut Control<Self>, wrong_logins: bool) -> Result<()> {
        let account = control.account_definition()?;
        let hourly = [
            "MAX_QUERIES_PER_HOUR",
            "MAX_UPDATES_PER_HOUR",
            "MAX_CONNECTIONS_PER_HOUR",
        ];
        let is_there = |name: &&str| account.contains(*name) && !account.contains(&format!("{name} 0 "));
        if let Some(limit) = hourly.into_iter().find(is_there) {
            return Err(control.unusable(format!(
                "the account has a limit {limit}, which a run uses up, and then nobody logs in to it until the hour is over: ALTER \
                 USER with its name WITH {limit} 0, or take another account"
            )));
        }
        if !wrong_logins {
            return Ok(());
        }
        let most = control.variables(&["max_password_errors"])?;
        let locks = if most.values().any(|most| most == "1") {
            "max_password_errors = 1"
        } else if account.contains("FAILED_LOGIN_ATTEMPTS 1 ") {
            "FAILED_LOGIN_ATTEMPTS 1"
        } else {
            return Ok(());
        };
        Err(control.unusable(format!(
            "the wrong password that proves the login would lock this account ({locks}): --no-wrong-logins goes without it"
        )))
    }

    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &ConnectOptions,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved> {
        let (pooler, wrong_logins) = (conditions.pooler, conditions.wrong_logins);
        let behind_pooler = pooler.map(RunningPooler::server_transport);
        let mut proved = prove(arm, options, expectation, wrong_logins, behind_pooler)?;
        if let Some(pooler) = pooler {
            proved.proofs.extend(pooler.prove::<Session>(arm, options)?);
        }
        if let (Some(relay), Some(direct)) = (conditions.column_relay, control.ways.first()) {
            proved.proofs.push(relay.prove(arm, options, direct)?);
        }
        if let Some(encdb) = &self.encdb {
            let proof = encdb.prove(control, arm, options, expectation, conditions.columns)?;
            proved.proofs.extend(proof);
        }
        Ok(proved)
    }

    /// By the files of tables, which hold pages as they are in memory; where the server does not tell these, by its own
    /// statistics.
    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint> {
        let view = control.pairs(VIEW)?.into_keys().next();
        let sizes = match view {
            Some(view) => format!(
                "SELECT SUBSTRING(name, {}), CONCAT(file_size, ' ', allocated_size) FROM information_schema.{view} \
                 WHERE name LIKE '{SCHEMA}/%'",
                SCHEMA.len() + 2
            ),
            None => format!(
                "SELECT table_name, CONCAT(data_length + index_length, ' ', data_length + index_length) \
                 FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND data_length IS NOT NULL"
            ),
        };
        let size = |(table, sizes): (String, String)| {
            let (file, allocated) = sizes.split_once(' ')?;
            let size = TableSize {
                data_bytes: file.parse().ok()?,
                disk_bytes: allocated.parse().ok()?,
            };
            Some((table, size))
        };
        let memory = control.variables(&["innodb_buffer_pool_size"])?;
        Ok(Footprint {
            tables: control.pairs(&sizes)?.into_iter().filter_map(size).collect(),
            memory_bytes: memory
                .into_values()
                .find_map(|bytes| bytes.parse().ok())
                .unwrap_or(0),
        })
    }

    fn remove_by(
        &self,
        control: &Control<Self>,
        patience: Duration,
        remove: impl AsyncFn(&mut Session) -> Result<bool, DatasetError>,
    ) -> Result<bool> {
        let removing = async {
            let (mut session, _) = Session::connect_with_settings(&control.reactor, &control.ways[0]).await?;
            mysql::end_sessions(&mut session, &control.given_up).await?;
            let removed = remove(&mut session).await?;
            session.close().await?;
            Ok(removed)
        };
        let removed = control.wait_for(patience, removing)?;
        removed.map_err(|error| control.of_removal(error))
    }

    fn of_missing_right(&self, control: &mut Control<Self>, error: WireError) -> RunError {
        match control.account() {
            Ok(account) => control.unusable(format!("{error}; {}", remedy(&account))),
            Err(unanswered) => unanswered,
        }
    }

    /// What is not a number is left out.
    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>> {
        Ok(counters::named(control.pairs(&counters::question())?))
    }
}

/// Copies of the account of `caching_sha2_password`: with its password, whose hash the server has, and with its rights. `None`
/// on a server without that account.
fn cold_accounts(control: &mut Control<MySql>, server: &PrivateServer) -> Result<Option<Arc<ColdAccounts>>> {
    let Some(account) = server.account(AuthenticationMethod::CachingSha2Password) else {
        return Ok(None);
    };
    let user = &account.user;
    // The hash is bytes that no text can hold.
    let hashes = control.pairs(&format!(
        "SELECT user, HEX(authentication_string) FROM mysql.user WHERE user = '{user}' AND host = '%'"
    ))?;
    let hash = hashes.get(user).cloned().unwrap_or_default();
    let users: Vec<String> = (0..COLD_LOGINS)
        .map(|number| format!("{user}_cold_{number}"))
        .collect();
    let each = |what: &str| {
        let all: Vec<String> = users.iter().map(|user| format!("'{user}'@'%'{what}")).collect();
        all.join(", ")
    };
    let identified = format!(" IDENTIFIED WITH caching_sha2_password AS 0x{hash}");
    control.run(&format!("CREATE USER {}", each(&identified)))?;
    control.run(&format!("GRANT ALL PRIVILEGES ON *.* TO {}", each("")))?;
    Ok(Some(Arc::new(ColdAccounts::new(users))))
}
