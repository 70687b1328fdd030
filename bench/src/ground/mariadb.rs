//! A private MariaDB with the data set in memory, and its word on who was there.

use ciphertax_wire::Session as _;
use std::path::PathBuf;

use ciphertax_base::Secret;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_lab::{PrivateServer, PrivateServerBuilder};
use ciphertax_model::{CertificateKind, Dataset, Distribution, Transport};
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::tls::TlsPolicy;
use ciphertax_workload::dataset::{Contents, SCHEMA};
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::{SqlSession, Tables};
use serde::{Deserialize, Serialize};

use super::{Ground, PATIENCE, finish, tls};
use crate::Result;

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

/// A private MariaDB with the data set, and a session to ask it things.
pub type MariadbGround = Ground<Session>;

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

impl MariadbGround {
    /// Starts a server with a certificate and writes the data set.
    pub fn prepare() -> Result<Self> {
        let server = PrivateServer::builder(&MARIADB).certificate(CertificateKind::EcdsaP256);
        Self::prepare_on(server, &TABLES.dataset)
    }

    /// Starts this server and writes this data set.
    pub fn prepare_on(server: PrivateServerBuilder, dataset: &Dataset) -> Result<Self> {
        eprintln!("starting a private MariaDB and writing {dataset} …");
        let mut ground = Self::start(server, |server| {
            let access = Login::to(server, Transport::Plain).access(|policy| policy)?;
            Ok(Session::within(&access.options, None))
        })?;
        let mut contents = Contents::NONE;
        contents.sbtest = Some(*dataset);
        ground.load(&ground.access(Transport::Plain)?.options, &contents)?;
        let server = ground.ask(
            "SELECT CONCAT('MariaDB ', @@version, ', ', @@version_ssl_library, ', buffer pool ', \
             @@innodb_buffer_pool_size DIV 1048576, ' MiB')",
        )?;
        ground.identity = format!("{server}, {dataset}");
        Ok(ground)
    }

    /// How an arm reaches the server, and what its sessions must be.
    pub fn access(&self, transport: Transport) -> Result<MysqlAccess> {
        Login::to(&self.server, transport).access(|policy| policy)
    }

    /// Protocol version and cipher of the sessions that this transport gives, by the server's word; empty in
    /// plaintext.
    pub fn servers_word(&self, transport: Transport) -> Result<String> {
        let access = self.access(transport)?;
        let task = async {
            let (mut session, _) = Session::connect(&self.reactor, &access.options).await?;
            access.expectation.check_status(&mut session).await
        };
        let word = finish(&self.reactor, PATIENCE, task)???;
        Ok(format!("{} {}", word.version, word.cipher).trim().to_owned())
    }

    /// A counter of the server, all sessions together.
    pub fn counter(&mut self, name: &str) -> Result<u64> {
        let value = self.value(&format!("SHOW GLOBAL STATUS LIKE '{name}'"), 1)?;
        let count = value.parse();
        count.map_err(|_| format!("the server's counter {name} says {value:?}").into())
    }
}

impl Login {
    /// The way to this server.
    pub fn to(server: &PrivateServer, transport: Transport) -> Self {
        let address = server.address();
        Self {
            transport,
            host: address.ip().to_string(),
            port: address.port(),
            user: server.user().to_owned(),
            password: server.password().expose().to_owned(),
            ca_file: server.ca_file().map(ToOwned::to_owned),
        }
    }

    /// How an arm reaches the server, with what is adapted of its TLS, and what its sessions must be.
    pub fn access(&self, adapt: impl FnOnce(TlsPolicy) -> TlsPolicy) -> Result<MysqlAccess> {
        let tls = tls(self.transport, self.ca_file.as_deref(), &self.host, adapt)?;
        let password = Secret::new(self.password.clone());
        Ok(MysqlAccess {
            is_pooled: false,
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
