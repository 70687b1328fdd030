//! The server under test: private or the user's own.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use ciphertax_lab::{PrivateServer, ProofError, Proved, prove};
use ciphertax_model::record::{ServerPlacement, ServerRecord};
use ciphertax_model::{Arm, Placement, Secret, Site, Study};
use ciphertax_observe::{ProcessCpu, listening_process, placement};
use ciphertax_wire::Target;
use ciphertax_wire::mysql::{ConnectOptions, Expectation};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};

use crate::error::RunError;

/// The server under test.
pub(crate) struct Server {
    private: Option<PrivateServer>,
    host: String,
    port: u16,
    user: String,
    password: Secret,
    verification: Verification,
    display: String,
    name: String,
    /// The CPU clock of the server, where it runs on this machine and can be found.
    pub(crate) process: Option<ProcessCpu>,
    same_host: bool,
    /// The only CPU of a private server, where the load must run too.
    pub(crate) cpu: Option<usize>,
}

impl Server {
    /// Starts a private server for the cells of a site.
    pub(crate) fn private(study: &Study, site: &Site) -> Result<Self, RunError> {
        let mut builder = PrivateServer::builder();
        builder = if study.needs_tls() {
            builder.certificate(site.certificate.kind)
        } else {
            builder.without_tls()
        };
        let server = builder.start()?;
        let cpu = match study.placement {
            Placement::Free => None,
            Placement::Together => Some(confined(server.pid())?),
        };
        let host = server.address().ip().to_string();
        let verification = match server.ca_file() {
            Some(ca) => Verification::HostName(ca.to_owned(), host.clone()),
            None => Verification::None,
        };
        let address = server.address();
        Ok(Self {
            process: Some(ProcessCpu::open(server.pid())?),
            display: format!("the private server {site} at {address}"),
            name: site.to_string(),
            port: address.port(),
            user: server.user().to_owned(),
            password: server.password().clone(),
            verification,
            host,
            private: Some(server),
            same_host: true,
            cpu,
        })
    }

    /// Takes the user's own server.
    pub(crate) fn external(target: &Target) -> Self {
        let address = resolved(&target.host, target.port);
        let process = address
            .and_then(listening_process)
            .and_then(|pid| ProcessCpu::open(pid).ok());
        Self {
            private: None,
            cpu: None,
            host: target.host.clone(),
            port: target.port,
            user: target.user.clone(),
            password: target.password.clone(),
            verification: target.verification.clone(),
            display: target.to_string(),
            name: target.to_string(),
            same_host: process.is_some() || address.is_some_and(|address| address.ip().is_loopback()),
            process,
        }
    }

    /// How to reach it in clear, for the statements that are not measured.
    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions {
            host: self.host.clone(),
            port: self.port,
            user: self.user.clone(),
            password: self.password.clone(),
            database: None,
            tls: None,
        }
    }

    /// How the study's TLS arms reach it, as far as they can be prepared.
    pub(crate) fn encrypted(&self, study: &Study) -> Vec<ConnectOptions> {
        let arms = study.arms.iter().filter_map(|arm| self.arm(arm).ok());
        arms.map(|(options, _)| options)
            .filter(|options| options.tls.is_some())
            .collect()
    }

    /// How an arm reaches it, and what its sessions must be, before any proof.
    pub(crate) fn arm(&self, arm: &Arm) -> Result<(ConnectOptions, Expectation), RunError> {
        let version = arm.transport.tls_version();
        let tls = version
            .map(|version| {
                TlsConnector::new(&TlsPolicy {
                    version,
                    verification: self.verification.clone(),
                })
            })
            .transpose()?;
        let options = ConnectOptions {
            tls: tls.map(Arc::new),
            ..self.options()
        };
        Ok((
            options,
            Expectation {
                tls: version,
                cipher: None,
            },
        ))
    }

    /// Proves an arm.
    pub(crate) fn prove(
        &self,
        arm: &Arm,
        options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Proved, ProofError> {
        prove(&arm.name, options, expectation)
    }

    /// Why it is gone; `None` while it lives, or if that cannot be seen from here.
    pub(crate) fn death(&self) -> Option<String> {
        match (&self.private, &self.process) {
            (Some(server), _) if !server.is_alive() => Some(format!(
                "its process ended; the last lines of its log: {}",
                server.log_tail()
            )),
            (None, Some(process)) if process.read().is_err() => Some("its process ended".into()),
            _ => None,
        }
    }

    pub(crate) fn record(&self, variables: &BTreeMap<String, String>) -> ServerRecord {
        let variable = |name: &str| variables.get(name).cloned().unwrap_or_default();
        let version = variable("version");
        let product = if format!("{version} {}", variable("version_comment"))
            .to_lowercase()
            .contains("mariadb")
        {
            "MariaDB"
        } else {
            "MySQL"
        };
        let settings = match &self.private {
            Some(server) => server.settings().clone(),
            None => variables
                .iter()
                .filter(|(name, _)| SETTINGS.contains(&name.as_str()))
                .map(owned)
                .collect(),
        };
        ServerRecord {
            name: self.name.clone(),
            product: product.to_owned(),
            version,
            tls_library: variable("version_ssl_library"),
            placement: if self.private.is_some() {
                ServerPlacement::Private
            } else {
                ServerPlacement::External
            },
            address: format!("{}:{}", self.host, self.port),
            same_host: self.same_host,
            settings,
        }
    }

    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    /// Stops a private server and removes all it had.
    pub(crate) fn stop(self) -> Result<(), RunError> {
        Ok(self.private.map_or(Ok(()), PrivateServer::stop)?)
    }
}

/// Variables of a server whose value matters to what is measured.
pub(crate) const SETTINGS: [&str; 5] = [
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "max_connections",
    "thread_handling",
    "tls_version",
];

/// Variables that tell which server it is.
pub(crate) const IDENTITY: [&str; 3] = ["version", "version_comment", "version_ssl_library"];

fn owned((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), value.clone())
}

/// Keeps a private server on one CPU, and says on which.
fn confined(pid: u32) -> Result<usize, RunError> {
    let cpu = placement::last_allowed_cpu().map_err(RunError::Placement)?;
    placement::confine_process(pid, cpu).map_err(RunError::Placement)?;
    Ok(cpu)
}

fn resolved(host: &str, port: u16) -> Option<SocketAddr> {
    (host, port).to_socket_addrs().ok()?.next()
}
