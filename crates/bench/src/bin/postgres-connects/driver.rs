//! Rust's driver, in a process of its own.

use std::fs;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ciphertax_bench::{Login, Result, driver};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, SimpleQueryMessage, Socket};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The argument by which this program is that process.
pub(crate) const PART: &str = "tokio-postgres";
/// Which driver it is.
pub(crate) const VERSION: &str = "tokio-postgres 0.7, rustls 0.23 with aws-lc-rs";

/// What the process is told.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) login: Login,
    pub(crate) seconds: u32,
    pub(crate) at_a_time: u32,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) connects: u64,
    pub(crate) seconds: f64,
    /// Protocol version and cipher by the server's word; empty for a session in plaintext.
    pub(crate) word: String,
}

/// The process: connects until the time is up, and tells how often.
pub(crate) fn main() -> Result<()> {
    driver::main(connects)
}

async fn connects(task: &Task) -> Result<Answer> {
    let login = &task.login;
    let ca_file = login.ca_file.as_ref().ok_or("it is measured over TLS")?;
    let tls = MakeTls::trusting(&fs::read(ca_file)?)?;
    let mut config = Config::new();
    config
        .host(&login.host)
        .port(login.port)
        .user(&login.user)
        .password(&login.password)
        .dbname(&login.database)
        .ssl_mode(SslMode::Require);
    let config = Arc::new(config);
    let word = word(&config, tls.clone()).await?;
    let connect = move || {
        let (config, tls) = (Arc::clone(&config), tls.clone());
        async move {
            let (client, connection) = config.connect(tls).await?;
            drop(client);
            // Says goodbye.
            connection.await
        }
    };
    let (connects, seconds) = driver::connect_for(task.seconds, task.at_a_time, connect).await?;
    Ok(Answer {
        connects,
        seconds,
        word,
    })
}

/// The server's word for a session of this kind.
async fn word(config: &Config, tls: MakeTls) -> Result<String> {
    let (client, connection) = config.connect(tls).await?;
    let connection = tokio::spawn(connection);
    let question = "SELECT concat_ws(' ', version, cipher) FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let rows = client.simple_query(question).await?;
    let word = rows.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    drop(client);
    connection.await??;
    word.ok_or_else(|| "the server does not say what the session is".into())
}

/// TLS for the driver, by settings that are made once.
#[derive(Clone)]
struct MakeTls(Arc<ClientConfig>);

impl MakeTls {
    fn trusting(authority: &[u8]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority) {
            roots.add(certificate?)?;
        }
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl MakeTlsConnect<Socket> for MakeTls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> std::result::Result<Handshake, Self::Error> {
        Ok(Handshake {
            config: Arc::clone(&self.0),
            name: ServerName::try_from(domain)?.to_owned(),
        })
    }
}

/// One that is to be made.
struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let connector = TlsConnector::from(self.config);
            connector.connect(self.name, stream).await.map(Encrypted)
        })
    }
}

/// A stream whose login is not tied to it.
struct Encrypted(TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
