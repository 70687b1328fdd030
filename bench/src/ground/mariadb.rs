//! A private MariaDB with the data set in memory, and its word on who was there.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use ciphertax_lab::catalogue::MARIADB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::{CertificateKind, Dataset, Distribution, Secret, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_workload::dataset::{self, SCHEMA};
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::Tables;
use serde::{Deserialize, Serialize};

use super::{PATIENCE, finish};
use crate::{Result, ServerCpu};

/// Rows of the table `sbtest1`, as `ciphertax quick` has them.
pub const ROWS: u32 = 100_000;
/// What is asked where nothing else is said: that table, with every row picked as often as any other.
pub const TABLES: Tables = Tables {
    dataset: Dataset {
        tables: 1,
        table_size: ROWS,
        distribution: Distribution::Uniform,
    },
    thinned: false,
};

/// A private server with the data set, and a session to ask it things.
pub struct Ground {
    reactor: Rc<Reactor>,
    control: Session,
    dataset: Dataset,
    /// The server's CPU time.
    pub cpu: ServerCpu,
    /// The server itself.
    pub server: PrivateServer,
}

/// What a client needs to know, in a form that can be told to another process. It holds the password of a server that
/// lives as long as the benchmark, so it goes through pipes only.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    transport: Transport,
    host: String,
    port: u16,
    user: String,
    password: String,
    /// The certificate authority to trust; `None` for a server without TLS.
    ca_file: Option<PathBuf>,
}

impl Ground {
    /// Starts a server with a certificate and writes the data set.
    ///
    /// # Errors
    /// If there is no server, or it refuses.
    pub fn prepare() -> Result<Self> {
        let server = PrivateServer::builder(&MARIADB).certificate(CertificateKind::EcdsaP256);
        Self::prepare_on(server, &TABLES.dataset)
    }

    /// Starts this server and writes this data set.
    ///
    /// # Errors
    /// As [`Ground::prepare`].
    pub fn prepare_on(server: PrivateServerBuilder, dataset: &Dataset) -> Result<Self> {
        eprintln!("starting a private MariaDB and writing {dataset} …");
        let server = server.start()?;
        let reactor = Reactor::new()?;
        let options = ConnectOptions {
            database: None,
            ..login(&server, Transport::Plain).access(|policy| policy)?.options
        };
        let task = async {
            dataset::prepare::<Session>(&reactor, &options, dataset, |_| ()).await?;
            let (session, _) = Session::connect(&reactor, &options).await?;
            Ok::<_, Box<dyn std::error::Error>>(session)
        };
        let control = finish(&reactor, dataset::patience(dataset), task)??;
        Ok(Self {
            cpu: ServerCpu::of(server.pids()[0])?,
            dataset: *dataset,
            reactor,
            control,
            server,
        })
    }

    /// What a client needs to know.
    pub fn login(&self, transport: Transport) -> Login {
        login(&self.server, transport)
    }

    /// How an arm reaches the server, and what its sessions must be.
    ///
    /// # Errors
    /// If TLS cannot be prepared.
    pub fn access(&self, transport: Transport) -> Result<MysqlAccess> {
        self.login(transport).access(|policy| policy)
    }

    /// Protocol version and cipher of the sessions that this transport gives, by the server's word; empty for a session in
    /// clear.
    ///
    /// # Errors
    /// If they are not what the transport says.
    pub fn servers_word(&self, transport: Transport) -> Result<String> {
        let access = self.access(transport)?;
        let task = async {
            let (mut session, _) = Session::connect(&self.reactor, &access.options).await?;
            access.expectation.check_status(&mut session).await
        };
        let word = finish(&self.reactor, PATIENCE, task)???;
        Ok(format!("{} {}", word.version, word.cipher).trim().to_owned())
    }

    /// Rows of a query, each value as text.
    ///
    /// # Errors
    /// The server's own.
    pub fn query(&mut self, sql: &str, columns: usize) -> Result<Vec<Vec<String>>> {
        let Self { reactor, control, .. } = self;
        let rows = finish(reactor, PATIENCE, control.query(sql))??;
        Ok(rows
            .iter()
            .map(|row| (0..columns).map(|column| row.text(column)).collect())
            .collect())
    }

    /// A counter of the server, all sessions together.
    ///
    /// # Errors
    /// If it is not a number.
    pub fn counter(&mut self, name: &str) -> Result<u64> {
        let rows = self.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"), 2)?;
        let value = rows
            .first()
            .ok_or_else(|| format!("the server has no counter {name}"))?;
        Ok(value[1].parse()?)
    }

    /// Which server it is.
    ///
    /// # Errors
    /// The server's own.
    pub fn identity(&mut self) -> Result<String> {
        let sql = "SELECT @@version, @@version_ssl_library, @@innodb_buffer_pool_size DIV 1048576";
        let rows = self.query(sql, 3)?;
        let row = rows.first().ok_or("the server does not say its version")?;
        Ok(format!(
            "MariaDB {}, {}, buffer pool {} MiB, {}",
            row[0], row[1], row[2], self.dataset
        ))
    }
}

impl Login {
    /// How an arm reaches the server, with what is adapted of its TLS, and what its sessions must be.
    ///
    /// # Errors
    /// If TLS cannot be prepared.
    pub fn access(&self, adapt: impl Fn(TlsPolicy) -> TlsPolicy) -> Result<MysqlAccess> {
        let tls = match (self.transport.is_encrypted(), &self.ca_file) {
            (false, _) => None,
            (true, None) => return Err("the server has no certificate".into()),
            (true, Some(ca_file)) => {
                let verification = Verification::HostName(ca_file.clone(), self.host.clone());
                let policy = adapt(TlsPolicy::new(self.transport.tls_version(), verification));
                Some(Arc::new(TlsConnector::new(&policy)?))
            }
        };
        let password = Secret::new(self.password.clone());
        Ok(MysqlAccess {
            options: ConnectOptions {
                database: Some(SCHEMA.to_owned()),
                tls,
                ..ConnectOptions::new(&self.host, self.port, &self.user, password)
            },
            expectation: Expectation::new(self.transport),
            connections: 1,
            forget_passwords: None,
            columns: None,
            key_exchange: None,
        })
    }
}

fn login(server: &PrivateServer, transport: Transport) -> Login {
    let address = server.address();
    Login {
        transport,
        host: address.ip().to_string(),
        port: address.port(),
        user: server.user().to_owned(),
        password: server.password().expose().to_owned(),
        ca_file: server.ca_file().map(ToOwned::to_owned),
    }
}
