//! RSA keys that may encrypt a password. Without TLS both SHA-256 logins send a password that the server does not remember
//! encrypted with the server's key, so whoever chooses that key learns the password.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ciphertax_reactor::Reactor;
use mysql_common::packets::AuthPlugin;
use openssl::pkey::Public;
use openssl::rsa::Rsa;

use super::handshake::{ConnectOptions, connect_offering};
use crate::client::Session as _;
use crate::error::{Result, WireError};
use crate::sql::{SqlSession as _, TextRow};
use crate::tls::{Offer, TlsConnector, TlsPolicy};

/// Bytes of an RSA modulus that a password is trusted to, at least: anybody can break a key of 512 bits.
const SHORTEST: u32 = 1024 / 8;
const IN_BETWEEN: &str =
    "somebody may be in between, or the server's key is new: get it from the server itself";
const REMEDY: &str = "name the server's CA in the URL (ssl-ca=FILE) or the file of its public key \
                      (server-public-key-path=FILE), or trust whoever answers (get-server-public-key=true)";

/// Whose RSA key may encrypt a password. MySQL's own clients ask for a key only where `get-server-public-key` says so
/// (for `sha256_password` always), and with `server-public-key-path` they take none but that of the file.
#[derive(Clone, Default)]
pub enum TrustedKeys {
    /// That of a server on this machine, reached over loopback or a Unix socket.
    #[default]
    ThisMachine,
    /// That of whoever answers.
    Anybody,
    /// The one in a PEM file.
    File(Arc<KeyFile>),
    /// The one that the server names over TLS in which its certificate is verified.
    OverTls(Arc<KeysOverTls>),
    /// None: the password goes over TLS alone.
    Nobody,
}

/// A file with a key in PEM, as it was when it was read.
pub struct KeyFile {
    path: PathBuf,
    pem: io::Result<Vec<u8>>,
}

impl KeyFile {
    /// Reads it; that it cannot be read matters where a login needs it.
    pub fn read(path: PathBuf) -> Self {
        Self {
            pem: std::fs::read(&path),
            path,
        }
    }
}

/// Keys in PEM by the status variables that have them; or why they could not be asked for.
type Known = Result<Vec<(String, Vec<u8>)>, String>;

/// The keys of a server, asked for over verified TLS before the first login without TLS.
pub struct KeysOverTls {
    policy: TlsPolicy,
    host: String,
    port: u16,
    /// `None` until somebody has asked.
    known: Mutex<Option<Known>>,
}

impl KeysOverTls {
    /// Those of the server at this place, whose certificate `policy` verifies.
    pub fn new(policy: TlsPolicy, host: impl Into<String>, port: u16) -> Self {
        Self {
            policy,
            host: host.into(),
            port,
            known: Mutex::default(),
        }
    }

    /// Asks for them as the account of `options`, if nobody has yet.
    ///
    /// # Errors
    /// When the server is not the one that is trusted, or lets the account in no way. For other reasons they are unknown.
    async fn ask(&self, reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<()> {
        if self.lock().is_some() {
            return Ok(());
        }
        let verified = ConnectOptions {
            host: self.host.clone(),
            port: self.port,
            tls: Some(Arc::new(TlsConnector::new(&self.policy)?)),
            ..options.clone()
        };
        let known = match Box::pin(connect_offering(reactor, &verified, Offer::WhatThereIs)).await {
            Err(error @ WireError::NotTrusted { .. }) => return Err(error),
            Err(error) if error.is_access_denied() => return Err(error),
            Err(error) => Err(error),
            Ok((mut session, _)) => {
                let rows = session.query("SHOW STATUS LIKE '%rsa_public_key'").await;
                session.close().await?;
                rows
            }
        };
        let key = |row: &TextRow| (row.text(0).to_ascii_lowercase(), row.text(1).as_bytes().to_vec());
        let known = known.map(|rows| rows.iter().map(key).collect());
        *self.lock() = Some(known.map_err(|error| error.to_string()));
        Ok(())
    }

    /// The key for a plugin.
    fn key(&self, plugin: &AuthPlugin<'_>) -> Result<Vec<u8>, String> {
        let variable = match plugin {
            AuthPlugin::Sha256Password => "rsa_public_key",
            _ => "caching_sha2_password_rsa_public_key",
        };
        let known = self.lock();
        let keys = known.as_ref().ok_or("nobody has asked")?.as_ref()?;
        let key = keys.iter().find(|(name, _)| name == variable);
        key.map(|(_, key)| key.clone())
            .ok_or_else(|| "it names none".to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrustedKeys {
    /// Makes sure that what is known of them is known, before a login without TLS begins: no part of it takes the time.
    pub(super) async fn prepare(&self, reactor: &Rc<Reactor>, options: &ConnectOptions) -> Result<()> {
        match self {
            Self::OverTls(keys) if options.tls.is_none() && options.socket.is_none() => {
                keys.ask(reactor, options).await
            }
            _ => Ok(()),
        }
    }

    /// The key that was sent, if it is trusted. Over a Unix socket every key is.
    ///
    /// # Errors
    /// [`WireError::PasswordWithheld`] where it is not; and when it is no key, or a weak one.
    pub(super) fn trusted(
        &self,
        options: &ConnectOptions,
        plugin: &AuthPlugin<'_>,
        sent: &[u8],
        is_local: bool,
    ) -> Result<Rsa<Public>> {
        let key = usable(sent)?;
        let is_same = |other: &[u8]| {
            let other = Rsa::public_key_from_pem(other).and_then(|other| other.public_key_to_der());
            matches!((other, key.public_key_to_der()), (Ok(other), Ok(key)) if other == key)
        };
        let is_known = |pem: &[u8]| pem == sent || is_same(pem);
        let (why, remedy) = match self {
            _ if options.socket.is_some() => return Ok(key),
            Self::Anybody => return Ok(key),
            Self::ThisMachine if is_local => return Ok(key),
            Self::File(file) => match &file.pem {
                Ok(pem) if is_known(pem) => return Ok(key),
                Ok(_) => (format!("is not the one in {}", file.path.display()), IN_BETWEEN),
                Err(error) => (
                    format!("cannot be compared with {}: {error}", file.path.display()),
                    REMEDY,
                ),
            },
            Self::OverTls(keys) => match keys.key(plugin) {
                Ok(pem) if is_known(&pem) => return Ok(key),
                Ok(_) => ("is not the one that it names over TLS".to_owned(), IN_BETWEEN),
                Err(why) => (format!("it does not name over TLS ({why})"), REMEDY),
            },
            Self::ThisMachine | Self::Nobody => ("anybody may have sent".to_owned(), REMEDY),
        };
        let name = String::from_utf8_lossy(plugin.as_bytes());
        Err(WireError::PasswordWithheld(format!(
            "the server wants it by {name}, encrypted with a key that {why}; {remedy}"
        )))
    }

    /// True where whoever answers on this machine is taken for the server.
    pub(super) fn are_anybodys_here(&self) -> bool {
        matches!(self, Self::ThisMachine | Self::Anybody)
    }
}

/// `mysql_common` reads keys too, and panics where one is none or is too short.
fn usable(pem: &[u8]) -> Result<Rsa<Public>> {
    let unusable = |problem: String| {
        WireError::Authentication(format!("the server's public key cannot be used: {problem}"))
    };
    let key = Rsa::public_key_from_pem(pem).map_err(|error| unusable(error.to_string()))?;
    match key.size() < SHORTEST {
        true => Err(unusable(format!("it has only {} bits", 8 * key.size()))),
        false => Ok(key),
    }
}
