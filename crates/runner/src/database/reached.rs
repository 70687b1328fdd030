//! How an arm reaches its server.

use std::sync::Arc;

use ciphertax_model::Arm;
use ciphertax_wire::tls::{TlsConnector, TlsPolicy};

use super::clients::Clients;
use super::endpoint::Endpoint;
use crate::error::RunError;

/// How an arm reaches its server, before any proof.
pub(crate) struct ReachedArm<D: Clients> {
    pub(crate) endpoint: Endpoint,
    pub(crate) login: D::Login,
    /// `None` for an arm in plaintext.
    pub(crate) policy: Option<TlsPolicy>,
}

impl<D: Clients> ReachedArm<D> {
    /// How ciphertax opens a session of it.
    ///
    /// # Errors
    /// When TLS cannot be prepared.
    pub(crate) fn options(&self, database: &D, arm: &Arm) -> Result<D::Options, RunError> {
        self.options_by(self.policy.as_ref(), database, arm)
    }

    /// The same by another policy than the arm's own.
    ///
    /// # Errors
    /// When TLS cannot be prepared.
    pub(crate) fn options_by(
        &self,
        policy: Option<&TlsPolicy>,
        database: &D,
        arm: &Arm,
    ) -> Result<D::Options, RunError> {
        let policy = policy.map(|policy| TlsPolicy {
            alpn: D::ALPN,
            ..policy.clone()
        });
        let tls = policy.as_ref().map(TlsConnector::new).transpose()?;
        let options = D::options(&self.endpoint, &self.login, tls.map(Arc::new));
        Ok(database.options_of_arm(options, arm))
    }
}
