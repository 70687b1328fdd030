//! What benchmarks measure on: a private server with the data set in memory.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphertax_lab::catalogue::MARIADB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::{CertificateKind, Dataset, Distribution, Resumption, Secret, TlsLibrary, Transport};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::tls::{TlsConnector, TlsPolicy, Verification};
use ciphertax_workload::dataset::{self, SCHEMA};
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::Tables;
use serde::{Deserialize, Serialize};

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

const PATIENCE: Duration = Duration::from_secs(20);

/// A private server with the data set, and a session to ask it things.
pub struct Ground {
    reactor: Rc<Reactor>,
    control: Session,
    cpu: ServerCpu,
    dataset: Dataset,
    server: PrivateServer,
}

/// What a client needs to know, in a form that can be told to another process. It holds the password of a server that
/// lives as long as the benchmark, so it goes through pipes only.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    /// How bytes travel.
    pub transport: Transport,
    /// Address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Schema.
    pub database: String,
    /// The certificate authority to trust; `None` for a plain connection.
    pub ca_file: Option<PathBuf>,
}

impl Ground {
    /// Starts a server with a certificate of this kind and writes the data set.
    ///
    /// # Errors
    /// If there is no server, or it refuses.
    pub fn prepare(certificate: CertificateKind) -> Result<Self> {
        Self::prepare_on(
            PrivateServer::builder(&MARIADB).certificate(certificate),
            &TABLES.dataset,
        )
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
            ..login(&server, Transport::Plain).access()?.options
        };
        let task = async {
            dataset::prepare::<Session>(&reactor, &options, dataset, |_| ()).await?;
            let (session, _) = Session::connect(&reactor, &options).await?;
            Ok::<_, Box<dyn std::error::Error>>(session)
        };
        let control = reactor
            .run_one(task, Instant::now() + dataset::patience(dataset))?
            .ok_or("the server does not answer")??;
        Ok(Self {
            cpu: ServerCpu::of(server.pids()[0])?,
            dataset: *dataset,
            reactor,
            control,
            server,
        })
    }

    /// The server itself.
    pub fn server(&self) -> &PrivateServer {
        &self.server
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
        self.login(transport).access()
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
        let word = finish(&self.reactor, task)???;
        Ok(format!("{} {}", word.version, word.cipher).trim().to_owned())
    }

    /// Rows of a query, each value as text.
    ///
    /// # Errors
    /// The server's own.
    pub fn query(&mut self, sql: &str, columns: usize) -> Result<Vec<Vec<String>>> {
        let Self { reactor, control, .. } = self;
        let rows = finish(reactor, control.query(sql))??;
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

    /// The server's CPU time.
    pub fn cpu(&self) -> &ServerCpu {
        &self.cpu
    }
}

impl Login {
    /// How an arm reaches the server, and what its sessions must be.
    ///
    /// # Errors
    /// If TLS cannot be prepared.
    pub fn access(&self) -> Result<MysqlAccess> {
        self.access_by(TlsLibrary::default(), Resumption::Off)
    }

    /// As [`Login::access`], by this TLS library, with or without taking up earlier sessions.
    ///
    /// # Errors
    /// As [`Login::access`].
    pub fn access_by(&self, library: TlsLibrary, resumption: Resumption) -> Result<MysqlAccess> {
        self.access_as(|policy| TlsPolicy {
            library,
            resumption,
            ..policy
        })
    }

    /// As [`Login::access`], by this TLS library, for so many connections that idle ones had better keep no buffers.
    ///
    /// # Errors
    /// As [`Login::access`].
    pub fn access_by_many(&self, library: TlsLibrary) -> Result<MysqlAccess> {
        self.access_as(|policy| TlsPolicy {
            library,
            releases_buffers: true,
            ..policy
        })
    }

    fn access_as(&self, adapt: impl Fn(TlsPolicy) -> TlsPolicy) -> Result<MysqlAccess> {
        let mut resumed = false;
        let tls = match (self.transport.is_encrypted(), &self.ca_file) {
            (false, _) => None,
            (true, None) => return Err("the server has no certificate".into()),
            (true, Some(ca_file)) => {
                let verification = Verification::HostName(ca_file.clone(), self.host.clone());
                let policy = adapt(TlsPolicy::new(self.transport.tls_version(), verification));
                resumed = policy.resumption != Resumption::Off;
                Some(Arc::new(TlsConnector::new(&policy)?))
            }
        };
        let password = Secret::new(self.password.clone());
        Ok(MysqlAccess {
            options: ConnectOptions {
                database: Some(self.database.clone()),
                tls,
                ..ConnectOptions::new(&self.host, self.port, &self.user, password)
            },
            expectation: Expectation {
                resumed,
                ..Expectation::new(self.transport)
            },
            connections: 1,
            forget_passwords: None,
            columns: None,
            key_exchange: None,
        })
    }
}

fn finish<T>(reactor: &Reactor, task: impl Future<Output = T>) -> Result<T> {
    let outcome = reactor.run_one(task, Instant::now() + PATIENCE)?;
    outcome.ok_or_else(|| "the server does not answer".into())
}

fn login(server: &PrivateServer, transport: Transport) -> Login {
    let ca_file = server.ca_file().map(ToOwned::to_owned);
    let address = server.address();
    Login {
        transport,
        host: address.ip().to_string(),
        port: address.port(),
        user: server.user().to_owned(),
        password: server.password().expose().to_owned(),
        database: SCHEMA.to_owned(),
        ca_file: ca_file.filter(|_| transport.is_encrypted()),
    }
}
