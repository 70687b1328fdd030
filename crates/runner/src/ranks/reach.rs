//! How a follower reaches the arms that the conductor has proved.

use std::fmt;

use ciphertax_base::Secret;
use ciphertax_lab::{Account, PrivateServer};
use ciphertax_model::{Arm, AuthenticationMethod};
use ciphertax_records::ServerId;
use ciphertax_wire::Expectation;
use serde::{Deserialize, Serialize};

use crate::database::{Database, Endpoint, ReachedArm};
use crate::error::{Result, RunError};
use crate::server::TargetServers;
use crate::servers_to_play::entry;
use crate::trust::Trust;

/// How an arm is reached, and what each of its sessions must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ArmReach {
    pub(crate) arm: Arm,
    /// Arms of one server share its tables.
    pub(crate) server: ServerId,
    pub(crate) endpoint: Endpoint,
    /// All servers that form the database, as measured connections reach them.
    pub(crate) measured: Vec<Endpoint>,
    pub(crate) expectation: Expectation,
    /// True where so many connections are open that their buffers matter.
    pub(crate) releases_buffers: bool,
    /// Who logs in, and whom it trusts; `None` for the user's own server, of which every load generator has the URL and, from its own
    /// environment, the password: that travels with no message.
    pub(crate) private: Option<PrivateReach>,
}

/// How clients log in to a private server on this machine. Its account and its files go with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PrivateReach {
    user: String,
    password: Shown,
    method: AuthenticationMethod,
    scram_iterations: Option<u32>,
    trust: Trust,
    /// The server's name in the catalogue.
    entry: String,
    /// True for the members of a replica set.
    is_replica_set: bool,
}

/// A password on its way to another process on this machine.
#[derive(Clone, Serialize, Deserialize)]
struct Shown(String);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl PrivateReach {
    /// How an arm reaches a private server.
    pub(crate) fn of(server: &PrivateServer, trust: &Trust, arm: &Arm) -> Self {
        let account = account_of(server, arm);
        Self {
            user: account.user.clone(),
            password: Shown(account.password.expose().to_owned()),
            method: account.method,
            scram_iterations: account.scram_iterations,
            trust: trust.clone(),
            entry: server.entry().name.to_owned(),
            is_replica_set: server.replica_set.is_some(),
        }
    }

    fn account(&self) -> Account {
        Account {
            user: self.user.clone(),
            password: Secret::new(self.password.0.clone()),
            method: self.method,
            scram_iterations: self.scram_iterations,
            verifier: None,
        }
    }
}

/// The account by which an arm logs in to a private server.
pub(crate) fn account_of<'a>(server: &'a PrivateServer, arm: &Arm) -> &'a Account {
    let authentication = &arm.authentication;
    let own = authentication
        .method
        .and_then(|method| match authentication.scram_iterations {
            None => server.account(method),
            Some(iterations) => server.scram_account(method, iterations),
        });
    own.unwrap_or_else(|| server.default_account())
}

impl ArmReach {
    /// What its workloads are given; `own` is the user's own server as this process knows it.
    pub(super) fn access<D: Database>(&self, own: Option<TargetServers<D>>) -> Result<D::Access> {
        let arm = &self.arm;
        let (login, trust, database) = match (&self.private, own) {
            (Some(private), _) => {
                let members = private.is_replica_set.then_some(&self.measured[..]);
                let database = D::of_private(entry(&private.entry)?, None, members);
                (D::login_of(&private.account()), private.trust.clone(), database)
            }
            (None, Some(own)) => (own.login.clone(), own.trust(), own.database),
            (None, None) => return Err(RunError::Rank("it was given no server to measure".into())),
        };
        let trust = Trust {
            host: self.endpoint.host.clone(),
            releases_buffers: self.releases_buffers,
            ..trust
        };
        let policy = arm.transport.is_encrypted().then(|| trust.policy(arm));
        let reached = ReachedArm::<D> {
            endpoint: self.endpoint.clone(),
            login,
            policy: policy.transpose()?,
        };
        let options = reached.options(&database, arm)?;
        Ok(database.access(arm, options, self.expectation.clone(), &self.measured))
    }
}
