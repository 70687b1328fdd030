//! How a follower reaches the arms that the conductor has proved.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ciphertax_base::Secret;
use ciphertax_lab::{Account, PrivateServer};
use ciphertax_model::{Arm, AuthenticationMethod, CertificateKind};
use ciphertax_records::ServerId;
use ciphertax_wire::Expectation;
use ciphertax_wire::tls::{ClientCertificate, Verification};
use serde::{Deserialize, Serialize};

use crate::database::{Database, Endpoint, ReachedArm};
use crate::error::RunError;
use crate::server::TargetServers;
use crate::trust::Trust;

/// How an arm is reached, and what each of its sessions must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ArmReach {
    pub(crate) arm: Arm,
    /// Arms of one server share its tables.
    pub(crate) server: ServerId,
    /// Where it connects to.
    pub(crate) endpoint: Endpoint,
    /// All servers that form the database, as measured connections reach them.
    pub(crate) measured: Vec<Endpoint>,
    pub(crate) expectation: Expectation,
    pub(crate) state: ServerState,
    /// True where so many connections are open that their buffers matter.
    pub(crate) releases_buffers: bool,
    /// Who logs in, and whom it trusts; `None` for the user's own server, of which every load generator has the URL and, from its own
    /// environment, the password: that travels with no message.
    pub(crate) private: Option<PrivateReach>,
}

/// What was found out of a server that its clients must know.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServerState {
    /// The members of its replica set, as these call each other.
    pub(crate) members: Option<Vec<Endpoint>>,
}

/// How clients log in to a private server on this machine. Its account and its files go with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PrivateReach {
    user: String,
    password: Shown,
    method: AuthenticationMethod,
    scram_iterations: Option<u32>,
    /// The file of its authority, and for whom its certificate is; `None` for a server without TLS.
    ca: Option<(PathBuf, String)>,
    /// Certificates and keys of its clients.
    clients: BTreeMap<CertificateKind, (PathBuf, PathBuf)>,
    legacy: bool,
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
        let client = |(kind, files): (&CertificateKind, &ClientCertificate)| {
            (*kind, (files.certificate.clone(), files.key.clone()))
        };
        Self {
            user: account.user.clone(),
            password: Shown(account.password.expose().to_owned()),
            method: account.method,
            scram_iterations: account.scram_iterations,
            ca: match &trust.verification {
                Verification::HostName(ca, name) => Some((ca.clone(), name.clone())),
                Verification::Ca(_) | Verification::None => None,
            },
            clients: trust.clients.iter().map(client).collect(),
            legacy: trust.legacy,
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

    fn trust(&self, arm: &Arm, host: &str) -> Trust {
        let client = |(kind, (certificate, key)): (&CertificateKind, &(PathBuf, PathBuf))| {
            let (certificate, key) = (certificate.clone(), key.clone());
            (*kind, ClientCertificate { certificate, key })
        };
        Trust {
            display: format!("the server of {}", arm.name),
            host: host.to_owned(),
            verification: match &self.ca {
                Some((ca, name)) => Verification::HostName(ca.clone(), name.clone()),
                None => Verification::None,
            },
            legacy: self.legacy,
            clients: self.clients.iter().map(client).collect(),
            unknown_clients: BTreeMap::new(),
            own_client: None,
            releases_buffers: false,
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
    ///
    /// # Errors
    /// When TLS cannot be prepared, or nothing is known of the server.
    pub(super) fn access<D: Database>(&self, own: Option<TargetServers<D>>) -> Result<D::Access, RunError> {
        let arm = &self.arm;
        let (login, trust, database) = match (&self.private, own) {
            (Some(private), _) => {
                let login = D::login_of(&private.account());
                (login, private.trust(arm, &self.endpoint.host), None)
            }
            (None, Some(own)) => (own.login.clone(), own.trust(), Some(own.database)),
            (None, None) => return Err(RunError::Rank("it was given no server to measure".into())),
        };
        let trust = Trust {
            host: self.endpoint.host.clone(),
            releases_buffers: self.releases_buffers,
            ..trust
        };
        let database = D::elsewhere(database, &self.state);
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
