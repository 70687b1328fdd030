//! The rustls back end, with aws-lc-rs for the cryptography.

mod config;
mod pem;
mod session;
mod suites;
mod tickets;
mod verifier;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ciphertax_records::Verified;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, Error};

use self::session::Session;
use self::tickets::{OneConnection, Resumable};
pub use self::verifier::any_certificate;
use super::policy::TlsPolicy;
use super::store::Stock;
use super::{Offer, TlsSession};
use crate::error::{Distrust, WireError};

/// Name and version of the library and of its cryptography, for reports. Neither says its version itself; a test holds
/// these to what is built in.
const LIBRARY: &str = "rustls 0.23.46 (aws-lc-rs 1.19.0)";

/// Makes sessions of one policy.
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    verification: Verified,
    /// `None` where every handshake is a full one.
    resumable: Option<Resumable>,
}

impl Connector {
    pub(crate) fn new(policy: &TlsPolicy) -> Result<Self, WireError> {
        let config = config::prepare(policy)?;
        let name = match policy.verification.name() {
            // Neither sent nor checked.
            None => ServerName::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            Some(Ok(address)) => ServerName::from(address),
            Some(Err(name)) => ServerName::try_from(name.to_owned())
                .map_err(|_| WireError::TlsSettings(format!("rustls verifies no host name like {name:?}")))?,
        };
        Ok(Self {
            config: Arc::new(config),
            name,
            verification: policy.verification.verified(),
            resumable: Resumable::new(policy.resumption),
        })
    }

    pub(crate) fn session(&self, offer: Offer) -> Result<Box<dyn TlsSession>, WireError> {
        let Some(resumable) = &self.resumable else {
            let connection = self.connection(Arc::clone(&self.config))?;
            return Ok(Box::new(Session::new(connection, self.verification, None)));
        };
        let one = Arc::new(OneConnection::new(resumable, offer));
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::store(one.clone()).tls12_resumption(resumable.of_tls12);
        let connection = self.connection(Arc::new(config))?;
        Ok(Box::new(Session::new(connection, self.verification, Some(one))))
    }

    pub(crate) fn stock(&self) -> Option<&dyn Stock> {
        self.resumable
            .as_ref()
            .map(|resumable| &*resumable.sessions as &dyn Stock)
    }

    fn connection(&self, config: Arc<ClientConfig>) -> Result<UnbufferedClientConnection, WireError> {
        UnbufferedClientConnection::new(config, self.name.clone()).map_err(failure)
    }
}

fn failure(error: Error) -> WireError {
    match error {
        Error::InvalidCertificate(reason) => WireError::NotTrusted {
            why: distrust(&reason),
            reason: reason.to_string(),
        },
        error => WireError::Tls(error.to_string()),
    }
}

fn distrust(reason: &CertificateError) -> Distrust {
    match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Distrust::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Distrust::NotYetValid,
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Distrust::OtherAuthority,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Distrust::OtherName
        }
        _ => Distrust::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_in_reports_are_those_that_are_built_in() {
        let lock = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));
        let version = |name: &str| {
            let (_, rest) = lock
                .split_once(&format!("name = \"{name}\"\nversion = \""))
                .unwrap();
            rest.split('"').next().unwrap()
        };
        let built_in = format!(
            "rustls {} (aws-lc-rs {})",
            version("rustls"),
            version("aws-lc-rs")
        );
        assert_eq!(LIBRARY, built_in);
    }
}
