//! Whose RSA key may encrypt a password. Without TLS both SHA-256 logins send a password that the server does not remember
//! encrypted with the server's key, so whoever chooses that key learns the password.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use ciphertax_reactor::Reactor;
use mysql_common::packets::AuthPlugin;
use openssl::pkey::Public;
use openssl::rsa::Rsa;

use super::options::ConnectOptions;
use super::session::Session;
use crate::error::WireError;
use crate::tls::{TlsConnector, TlsPolicy};

/// Bytes of an RSA modulus that a password is trusted to, at least: anybody can break a key of 512 bits.
const SHORTEST: u32 = 1024 / 8;
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
    /// The one in this PEM file.
    File(PathBuf),
    /// The one that the server names over TLS in which its certificate is verified.
    OverTls(Arc<KeysOverTls>),
    /// None: the password goes over TLS alone.
    Nobody,
}

/// The keys of a server, asked for over verified TLS when a login first needs one.
pub struct KeysOverTls {
    policy: TlsPolicy,
    host: String,
    port: u16,
    known: Mutex<Vec<(&'static str, Vec<u8>)>>,
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

    /// The key, in PEM, which the server has in this status variable; empty where it has none.
    async fn key(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        variable: &'static str,
    ) -> Result<Vec<u8>, WireError> {
        let known = |(name, key): &(&str, Vec<u8>)| (*name == variable).then(|| key.clone());
        if let Some(key) = self.lock().iter().find_map(known) {
            return Ok(key);
        }
        let options = ConnectOptions {
            host: self.host.clone(),
            port: self.port,
            tls: Some(Arc::new(TlsConnector::new(&self.policy)?)),
            ..options.clone()
        };
        let (mut session, _) = Box::pin(Session::connect(reactor, &options)).await?;
        let rows = session.query(&format!("SHOW STATUS LIKE '{variable}'")).await?;
        session.close().await?;
        let key = rows.first().map(|row| row.text(1).as_bytes().to_vec());
        let key = key.unwrap_or_default();
        self.lock().push((variable, key.clone()));
        Ok(key)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, Vec<u8>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrustedKeys {
    /// True for a server to which a password may go that nobody verified; `is_local` of one on this machine.
    pub(super) fn is_anybody(&self, is_local: bool) -> bool {
        match self {
            Self::ThisMachine => is_local,
            Self::Anybody => true,
            Self::File(_) | Self::OverTls(_) | Self::Nobody => false,
        }
    }

    /// The key that was sent, if it is trusted. Over a Unix socket every key is.
    ///
    /// # Errors
    /// [`WireError::PasswordWithheld`] where it is not; and when it is no key, or a weak one.
    pub(super) async fn trusted(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        plugin: &AuthPlugin<'_>,
        sent: &[u8],
        is_local: bool,
    ) -> Result<Rsa<Public>, WireError> {
        let key = usable(sent)?;
        let name = String::from_utf8_lossy(plugin.as_bytes());
        let withheld = |why: String| {
            WireError::PasswordWithheld(format!(
                "the server wants it by {name}, encrypted with a key that {why}; {REMEDY}"
            ))
        };
        let is_same = |other: &[u8]| {
            let other = Rsa::public_key_from_pem(other).and_then(|other| other.public_key_to_der());
            matches!((other, key.public_key_to_der()), (Ok(other), Ok(key)) if other == key)
        };
        if options.socket.is_some() || self.is_anybody(is_local) {
            return Ok(key);
        }
        match self {
            Self::File(path) => match std::fs::read(path) {
                Ok(pem) if is_same(&pem) => Ok(key),
                Ok(_) => Err(withheld(format!("is not the one in {}", path.display()))),
                Err(error) => Err(withheld(format!(
                    "cannot be compared with {}: {error}",
                    path.display()
                ))),
            },
            Self::OverTls(keys) => {
                let variable = match plugin {
                    AuthPlugin::Sha256Password => "Rsa_public_key",
                    _ => "Caching_sha2_password_rsa_public_key",
                };
                match keys.key(reactor, options, variable).await {
                    Ok(pem) if is_same(&pem) => Ok(key),
                    Ok(pem) if pem.is_empty() => Err(withheld("it does not name over TLS".into())),
                    Ok(_) => Err(withheld("is not the one that it names over TLS".into())),
                    Err(error @ WireError::NotTrusted { .. }) => Err(error),
                    Err(error) => Err(withheld(format!("could not be asked for over TLS: {error}"))),
                }
            }
            _ => Err(withheld("anybody may have sent".into())),
        }
    }
}

/// `mysql_common` reads keys too, and panics where one is none or is too short.
fn usable(pem: &[u8]) -> Result<Rsa<Public>, WireError> {
    let unusable = |problem: String| {
        WireError::Authentication(format!("the server's public key cannot be used: {problem}"))
    };
    let key = Rsa::public_key_from_pem(pem).map_err(|error| unusable(error.to_string()))?;
    match key.size() < SHORTEST {
        true => Err(unusable(format!("it has only {} bits", 8 * key.size()))),
        false => Ok(key),
    }
}
